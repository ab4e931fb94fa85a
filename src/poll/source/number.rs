//! A number that a source gives as text: a fencing token, a count. Whole and not negative; nothing is rounded, because two
//! tokens that differ must stay different.

use crate::observe::node::FailReason;

/// From here on a double does not tell every whole number from the next.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number. The error does not quote the text, which may be anything.
pub fn parse(text: &[u8]) -> Result<u64, (FailReason, String)> {
    let wrong = |what: &str| Err((FailReason::Protocol, what.to_owned()));
    let Ok(text) = std::str::from_utf8(text) else { return wrong("not a number") };
    let text = text.trim();
    if let Ok(n) = text.parse::<u64>() {
        return Ok(n);
    }
    // Scores and samples are doubles, written as `1e3` or `17.0`.
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b));
    match text.parse::<f64>() {
        Ok(n) if is_plain && n >= 0.0 && n.fract() == 0.0 && n < EXACT => Ok(n as u64),
        Ok(n) if is_plain && n < 0.0 => {
            wrong("a negative number; tokens and counts are not negative")
        }
        Ok(n) if is_plain && n >= EXACT => wrong("too large a number to be exact"),
        Ok(_) if is_plain => wrong("a number with a fraction; tokens and counts are whole"),
        _ => wrong("not a number"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_numbers_and_nothing_else() {
        for (text, n) in [
            ("0", 0),
            (" 17\n", 17),
            ("18446744073709551615", u64::MAX),
            ("1e3", 1000),
            ("1.7e+01", 17),
            ("33.0", 33),
            ("-0", 0),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(n), "{text}");
        }
        for text in [
            "",
            "x",
            "1.5",
            "-1",
            "NaN",
            "inf",
            "1e400",
            "9007199254740993.0",
            "0x10",
            "1 2",
            "\u{661}",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"\xff").is_err());
    }

    proptest! {
        #[test]
        fn every_token_survives(n: u64) {
            prop_assert_eq!(parse(n.to_string().as_bytes()), Ok(n));
        }

        #[test]
        fn any_bytes_do_no_harm(text: Vec<u8>) {
            if let Err((_, why)) = parse(&text) {
                prop_assert!(why.len() < 80);
            }
        }
    }
}
