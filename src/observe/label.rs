//! The one place where bytes from outside become text that may be printed, logged or used as a label.

/// Longest text that is kept, in characters; a label of a megabyte helps nobody.
pub const MAX_CHARS: usize = 256;

/// Hexadecimal digits of the hash of what was cut.
pub const HASH: usize = 12;

/// Bytes as text: invalid UTF-8, control characters and the replacement character itself become `\xNN` escapes, and what
/// is longer than [`MAX_CHARS`] is cut and marked by an ellipsis and a hash of all bytes: two long names that only end
/// differently are two names. Everything else stays as it is, so that a key can be copied from where it is shown. Only a
/// backslash before what would read as such an escape is written out as `\x5c`: each `\xNN` of the result is one byte,
/// every other backslash is itself, and two different names stay different.
pub fn text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().min(MAX_CHARS));
    let mut chars = 0;
    for chunk in bytes.utf8_chunks() {
        for (at, c) in chunk.valid().char_indices() {
            if chars >= MAX_CHARS {
                return cut(out, bytes);
            }
            match c {
                '\\' if looks_escaped(chunk.valid().get(at + 1..)) => out.push_str("\\x5c"),
                c if c.is_control() || is_invisible(c) => {
                    let mut buf = [0; 4];
                    for b in c.encode_utf8(&mut buf).bytes() {
                        out.push_str(&format!("\\x{b:02x}"));
                    }
                }
                c => out.push(c),
            }
            chars += 1;
        }
        for b in chunk.invalid() {
            if chars >= MAX_CHARS {
                return cut(out, bytes);
            }
            out.push_str(&format!("\\x{b:02x}"));
            chars += 1;
        }
    }
    out
}

/// Whether what follows a backslash makes it look like an escape. Bytes that become one begin with a backslash of their own
/// and never complete another.
fn looks_escaped(rest: Option<&str>) -> bool {
    match rest.map(str::as_bytes) {
        Some([b'x', a, b, ..]) => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        _ => false,
    }
}

/// Text that is too long, with what tells it from others that begin like it.
fn cut(mut out: String, whole: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    out.push('…');
    out.extend(Sha256::digest(whole).iter().take(HASH / 2).map(|b| format!("{b:02x}")));
    out
}

/// Characters that change how their neighbours are shown, or that cannot be seen at all.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_names_stay_as_they_are() {
        assert_eq!(text("lock:{orders} \"1\" ü".as_bytes()), "lock:{orders} \"1\" ü");
        for key in ["laravel_unique_job:App\\Jobs\\X:1", "a\\", "\\\\host\\share", "a\\x", "a\\xg0"]
        {
            assert_eq!(text(key.as_bytes()), key);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(text(b"a\0b\nc\xffd"), "a\\x00b\\x0ac\\xffd");
        assert_eq!(text("a\u{202e}b".as_bytes()), "a\\xe2\\x80\\xaeb");
        assert_eq!(text(b"a\\x00"), "a\\x5cx00");
        assert_eq!(text(b"a\\\0"), "a\\\\x00");
        assert_eq!(text(b"\\\\xFF"), "\\\\x5cxFF");
    }

    /// The bytes that a text of [`text`] stands for.
    fn bytes_of(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((first, after)) = rest.split_first() {
            let escape = (*first == b'\\' && looks_escaped(std::str::from_utf8(after).ok()))
                .then(|| std::str::from_utf8(&after[1..3]).unwrap());
            match escape {
                Some(digits) => {
                    out.push(u8::from_str_radix(digits, 16).unwrap());
                    rest = &after[3..];
                }
                None => {
                    out.push(*first);
                    rest = after;
                }
            }
        }
        out
    }

    /// A list of live workers is searched by such texts.
    #[test]
    fn long_names_that_end_differently_stay_different() {
        let long = |end: &str| text(format!("{}{end}", "L".repeat(300)).as_bytes());
        assert_eq!(long("A"), long("A"));
        assert_ne!(long("A"), long("B"));
        assert_ne!(text(long("A").as_bytes()), long("A"), "nobody is called like a cut one");
        assert_eq!(long("A").chars().count(), MAX_CHARS + 1 + HASH);
        assert_eq!(text("L".repeat(MAX_CHARS).as_bytes()).len(), MAX_CHARS);
    }

    proptest! {
        /// Bytes that escapes are made of, and such as are escaped, in any order.
        #[test]
        fn a_text_says_which_bytes_it_was(
            bytes in proptest::collection::vec(
                proptest::sample::select(b"\\\\\\x05cFg\0\xff\xc3\xbc".to_vec()), 0..40),
        ) {
            prop_assert_eq!(bytes_of(&text(&bytes)), bytes);
        }

        #[test]
        fn any_short_text_says_which_bytes_it_was(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(bytes_of(&text(&bytes)), bytes);
        }

        #[test]
        fn any_bytes_become_short_printable_text(bytes: Vec<u8>) {
            let t = text(&bytes);
            prop_assert!(!t.chars().any(char::is_control));
            prop_assert!(t.chars().count() <= MAX_CHARS * 16 + 1 + HASH);
        }

        #[test]
        fn different_short_names_stay_different(a in proptest::collection::vec(any::<u8>(), 0..40), b in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(text(&a) == text(&b), a == b);
        }
    }
}
