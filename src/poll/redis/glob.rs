//! Redis's glob patterns as `SCAN ... MATCH` reads them, so that it can be told without asking the server which of several
//! patterns a key belongs to first. Linear in the key for each star: a hostile key cannot make it slow.

/// Whether `pattern` matches the whole of `text`.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (pattern, text);
    // Where to go on when what follows the last star does not fit here: one byte further.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', rest @ ..] = p {
            retry = Some((rest, t));
            p = rest;
            continue;
        }
        let step = match (p, t.split_first()) {
            ([], None) => return true,
            (_, Some((first, rest))) => one(p, *first).map(|p| (p, rest)),
            (_, None) => None,
        };
        match (step, retry) {
            (Some(next), _) => (p, t) = next,
            (None, Some((after, [_, rest @ ..]))) => {
                retry = Some((after, rest));
                (p, t) = (after, rest);
            }
            (None, _) => return false,
        }
    }
}

/// Matches one byte against the head of a pattern that does not begin with a star; gives the rest of the pattern.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'[', rest @ ..] => {
            let (hit, rest) = class(rest, byte);
            hit.then_some(rest)
        }
        [b'\\', literal, rest @ ..] => (*literal == byte).then_some(rest),
        [literal, rest @ ..] => (*literal == byte).then_some(rest),
    }
}

/// A class behind its bracket; without a closing one it ends with the pattern.
fn class(mut p: &[u8], byte: u8) -> (bool, &[u8]) {
    let mut negate = false;
    if let [b'^', rest @ ..] = p {
        (negate, p) = (true, rest);
    }
    let mut hit = false;
    loop {
        p = match p {
            [] => return (hit != negate, p),
            [b']', rest @ ..] => return (hit != negate, rest),
            [b'\\', literal, rest @ ..] => {
                hit |= *literal == byte;
                rest
            }
            [from, b'-', to, rest @ ..] => {
                hit |= (*from.min(to)..=*from.max(to)).contains(&byte);
                rest
            }
            [literal, rest @ ..] => {
                hit |= *literal == byte;
                rest
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn as_redis_documents() {
        let yes = [
            ("*", ""),
            ("lock:*", "lock:a:b"),
            ("h?llo", "hello"),
            ("h[ae]llo", "hallo"),
            ("h[^e]llo", "hallo"),
            ("h[a-c]llo", "hbllo"),
            ("h[c-a]llo", "hbllo"),
            ("a\\*", "a*"),
            ("[\\]]", "]"),
            ("*a*b", "xaxxabb"),
            ("**", "x"),
            ("a\\", "a\\"),
        ];
        for (p, t) in yes {
            assert!(matches(p.as_bytes(), t.as_bytes()), "{p} {t}");
        }
        let no = [
            ("", "a"),
            ("a", ""),
            ("lock:*", "lock"),
            ("h[^e]llo", "hello"),
            ("a\\*", "ab"),
            ("*a", "ab"),
            ("?", ""),
        ];
        for (p, t) in no {
            assert!(!matches(p.as_bytes(), t.as_bytes()), "{p} {t}");
        }
    }

    #[test]
    fn many_stars_stay_fast() {
        let pattern = b"*a".repeat(200);
        assert!(!matches(
            &pattern,
            &b"a".repeat(4096).into_iter().chain([b'b']).collect::<Vec<_>>()
        ));
    }

    proptest! {
        #[test]
        fn a_text_matches_itself_escaped_and_any_star_in_it(text in proptest::collection::vec(any::<u8>(), 0..20), at: prop::sample::Index) {
            let escaped: Vec<u8> = text.iter().flat_map(|b| [b'\\', *b]).collect();
            prop_assert!(matches(&escaped, &text));
            let cut = at.index(text.len() + 1) * 2;
            let starred = [&escaped[..cut.min(escaped.len())], b"*"].concat();
            prop_assert!(matches(&starred, &text));
        }

        #[test]
        fn any_pattern_is_harmless(p in proptest::collection::vec(proptest::sample::select(b"*?[]^-\\ab".to_vec()), 0..30), t in "[ab]{0,30}") {
            matches(&p, t.as_bytes());
        }
    }
}
