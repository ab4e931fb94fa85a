//! The hash slot of a key, as clients and servers of a cluster compute it; and of a pattern, where its hash tag leaves it
//! no other. Pure.

use crc16::{State, XMODEM};

/// Slots of a cluster.
pub const SLOTS: u16 = 16_384;

/// The slot of a key: of its hash tag, the text between the first `{` and the next `}`, if that is not empty.
pub fn slot_of(key: &[u8]) -> u16 {
    State::<XMODEM>::calculate(tag(key)) % SLOTS
}

fn tag(key: &[u8]) -> &[u8] {
    let inner = |key: &'_ [u8]| {
        let open = key.iter().position(|b| *b == b'{')? + 1;
        let len = key.get(open..)?.iter().position(|b| *b == b'}').filter(|len| *len > 0)?;
        Some(open..open + len)
    };
    inner(key).and_then(|range| key.get(range)).unwrap_or(key)
}

/// The slot of all keys that match a pattern, if there is only one: it has no wildcard up to the end of its hash tag.
pub fn pinned(pattern: &[u8]) -> Option<u16> {
    let mut literal = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter().copied();
    let mut is_open = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'*' | b'?' | b'[' => return None,
            b'\\' => literal.push(bytes.next().unwrap_or(b'\\')),
            byte => literal.push(byte),
        }
        match literal.last() {
            // An empty tag is none, and no later one counts: then the whole key does.
            Some(b'}') if is_open => match literal.ends_with(b"{}") && tag(&literal) == literal {
                true => is_open = false,
                false => return Some(slot_of(&literal)),
            },
            Some(b'{') if !literal.contains(&b'}') => is_open = true,
            _ => {}
        }
    }
    Some(slot_of(&literal))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::glob;
    use super::*;

    #[test]
    fn as_servers_compute_it() {
        // What `CLUSTER KEYSLOT` answers.
        for (key, slot) in [
            ("", 0),
            ("123456789", 12_739),
            ("foo", 12_182),
            ("{user}:1", 5_474),
            ("user", 5_474),
            ("a{user}b{x}", 5_474),
            ("{}foo", slot_of(b"{}foo")),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
        assert_ne!(slot_of(b"{}user"), slot_of(b"user"), "an empty tag is none");
        assert_eq!(tag(b"a{{b}c}"), b"{b");
        assert_eq!(tag(b"a}b{c"), b"a}b{c");
        assert_eq!(tag(b"a}{b}"), b"b");
    }

    #[test]
    fn a_tag_without_wildcards_pins_a_pattern() {
        let pins = |p: &str| pinned(p.as_bytes());
        assert_eq!(pins("{user}:*"), Some(5_474));
        assert_eq!(pins("lock:{user}:*"), Some(5_474));
        assert_eq!(pins("lock:{us\\er}*{x}"), Some(5_474));
        assert_eq!(pins("foo"), Some(12_182));
        for open in [
            "*",
            "*{user}:*",
            "lo?k{user}",
            "{us*er}",
            "{user",
            "{user*",
            "{}*",
            "a}*{user}",
            "[{]user}",
        ] {
            let expected = (open == "{user").then(|| slot_of(b"{user"));
            assert_eq!(pins(open), expected, "{open}");
        }
    }

    proptest! {
        /// Whatever matches a pinned pattern is in its slot.
        #[test]
        fn no_match_is_elsewhere(pattern in "[ab{}*?\\\\\\[\\]]{1,8}", key in "[ab{}*\\[\\]]{0,10}") {
            if let Some(slot) = pinned(pattern.as_bytes())
                && glob::matches(pattern.as_bytes(), key.as_bytes())
            {
                prop_assert_eq!(slot_of(key.as_bytes()), slot);
            }
        }
    }
}
