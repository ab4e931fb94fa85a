//! Names of documents: `20261130T111500.123Z-main-orders-holder_stale-1f2e3d4c`, so that they sort by time and a person sees
//! what they are of. What a lock is called is foreign: only a closed set of characters of it gets into a name, so that no
//! key can lead out of the directory. The exact names are inside the document.

use sha2::{Digest, Sha256};

/// What a document's file ends with.
pub const SUFFIX: &str = ".json";
/// What it ends with while it is written.
pub const UNFINISHED: &str = ".json.tmp";
/// Characters of a store's or lock's name that are taken over.
const MOST: usize = 60;
/// Length of `20261130T111500.123Z`.
const TIME: usize = 20;
/// Hexadecimal digits that tell documents of the same instant apart.
const DIGITS: usize = 8;

/// The id of a document, and its file's name without [`SUFFIX`]. `at` is RFC 3339 with milliseconds; `salt` is of one run.
pub fn make(at: &str, store: &str, lock: &str, signal: &str, salt: &str) -> String {
    let time: String = at.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let mut hash = Sha256::new();
    for part in [at, store, lock, signal, salt] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash: String =
        hash.finalize().iter().take(DIGITS / 2).map(|b| format!("{b:02x}")).collect();
    format!("{time}-{}-{}-{signal}-{hash}", plain(store), plain(lock))
}

fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    text.chars().take(MOST).map(|c| if fits(c) { c } else { '_' }).collect()
}

/// Whether this is a name as [`make`] makes them: of its characters only, so that it names a file of the directory and
/// nothing else.
pub fn is_ours(id: &str) -> bool {
    let Some((time, rest)) = id.split_at_checked(TIME) else { return false };
    let digits = |range: std::ops::Range<usize>| {
        time.get(range).is_some_and(|t| t.bytes().all(|b| b.is_ascii_digit()))
    };
    let is_time = digits(0..8)
        && time.get(8..9) == Some("T")
        && digits(9..15)
        && time.get(15..16) == Some(".")
        && digits(16..19)
        && time.ends_with('Z');
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    let hash = rest.rsplit('-').next().unwrap_or_default();
    let is_hash = hash.len() == DIGITS && hash.bytes().all(|b| b.is_ascii_hexdigit());
    let is_whole = rest.starts_with('-') && rest.matches('-').count() >= 4;
    is_time && is_hash && is_whole && id.len() <= 220 && id.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "2026-11-30T11:15:00.123Z";

    #[test]
    fn names_sort_by_time_and_tell_what_they_are_of() {
        let name = make(AT, "main", "orders", "holder_stale", "x");
        assert!(name.starts_with("20261130T111500.123Z-main-orders-holder_stale-"), "{name}");
        assert!(
            is_ours(&name)
                && name.len() == "20261130T111500.123Z-main-orders-holder_stale-".len() + 8
        );
        assert!(name < make("2026-11-30T11:15:00.124Z", "a", "a", "contested", "x"));
        assert_ne!(name, make(AT, "main", "orders", "holder_stale", "y"));
        assert_ne!(make(AT, "main", "a/b", "x", ""), make(AT, "main", "a:b", "x", ""));
    }

    #[test]
    fn no_lock_leads_out_of_the_directory() {
        for lock in
            ["../../etc/passwd", "/abs", "a/../b", "\0", "-", "", "..", "ä\n\u{202e}x", "%2e%2e%2f"]
        {
            let name = make(AT, "main", lock, "holder_stale", "x");
            assert!(is_ours(&name), "{name}");
            assert!(!name.contains('/') && !name.starts_with('.') && name.is_ascii(), "{name}");
        }
        let long =
            make(AT, &"s".repeat(64), &"é/".repeat(9_000), "renewal_after_lost_liveness", "x");
        assert!(is_ours(&long) && long.len() + UNFINISHED.len() < 255, "{}", long.len());
    }

    #[test]
    fn other_names_are_not_ours() {
        let ours = make(AT, "main", "orders", "holder_stale", "x");
        for wrong in [
            String::new(),
            "notes".into(),
            "../".to_owned() + &ours,
            ours.clone() + "/..",
            ours.clone() + "/",
            ours.replace("orders", "or/ders"),
            ours.replace("orders", "or%2fders"),
            ours.replace("orders", "or\0ders"),
            ours.replace('Z', "z"),
            format!("x{ours}"),
            format!("{ours}.json"),
            "20261130T111500.123Z-12345678".into(),
            "２0261130T111500.123Z-a-b-c-12345678".into(),
        ] {
            assert!(!is_ours(&wrong), "{wrong}");
        }
    }
}
