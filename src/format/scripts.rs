//! Scripts by which libraries acquire a lock, and where such a script is given the owner's token; known by their SHA-1, as
//! `EVALSHA` names them, or by their text. A script that renews as well is none of these. Reads no value: it says which
//! argument would become one.

/// A script that acquires.
struct Script {
    /// Its SHA-1.
    sha1: &'static str,
    /// Its text, where libraries send that too.
    text: Option<&'static str>,
    /// Which argument behind the keys is the owner's token, from 0.
    owner: usize,
}

const SCRIPTS: [Script; 4] = [
    // Redisson's lock; before 3.46 by its text.
    Script {
        sha1: "149c5a8bf18676fd99e9e6e24923bd64d9b62f94",
        text: Some(
            "if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then \
             redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; \
             return redis.call('pttl', KEYS[1]);",
        ),
        owner: 1,
    },
    // Redisson's spin lock, and its lock of old.
    Script {
        sha1: "dad0f8d619e548e04f21fb48d50be5034df3adae",
        text: Some(
            "if (redis.call('exists', KEYS[1]) == 0) then redis.call('hincrby', KEYS[1], ARGV[2], 1); \
             redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) \
             then redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; \
             return redis.call('pttl', KEYS[1]);",
        ),
        owner: 1,
    },
    // node-redlock 4 and 5.
    Script { sha1: "e5a322e2634ef59a516e8ea150cb085afafee684", text: None, owner: 0 },
    Script { sha1: "96da70f7716f27d278a5218544df37fd8b0a5e4c", text: None, owner: 0 },
];

/// Which argument behind the keys is the owner's token, of the script with this SHA-1.
pub fn owner_by_sha1(sha1: &[u8]) -> Option<usize> {
    SCRIPTS.iter().find(|s| s.sha1.as_bytes().eq_ignore_ascii_case(sha1)).map(|s| s.owner)
}

/// The same of a script whose text begins so and goes on for so many bytes.
pub fn owner_by_text(begin: &[u8], beyond: u64) -> Option<usize> {
    let is_it = |text: &str| {
        let rest = text.as_bytes().strip_prefix(begin).map(<[u8]>::len);
        rest.is_some_and(|rest| u64::try_from(rest) == Ok(beyond))
    };
    SCRIPTS.iter().find(|s| s.text.is_some_and(is_it)).map(|s| s.owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_its_sum_and_by_what_is_shown_of_its_text() {
        for script in &SCRIPTS {
            assert_eq!(owner_by_sha1(script.sha1.as_bytes()), Some(script.owner));
            let Some(text) = script.text else { continue };
            let (begin, rest) = text.split_at(128);
            assert_eq!(owner_by_text(text.as_bytes(), 0), Some(script.owner));
            assert_eq!(owner_by_text(begin.as_bytes(), rest.len() as u64), Some(script.owner));
            assert_eq!(owner_by_text(begin.as_bytes(), rest.len() as u64 + 1), None);
            assert_eq!(owner_by_text(begin.as_bytes(), 0), None);
        }
        assert_eq!(owner_by_sha1(b""), None);
        assert_eq!(owner_by_text(b"", 0), None);
    }
}
