//! What kind of bytes a value is: a number, a time, a UUID, hexadecimal, base64. Judges shapes only; what follows from a
//! shape is each format's own affair.

use crate::observe::ServerTime;
use crate::observe::lock::Shape;

use super::{Raw, Sight};

impl<'a> Sight<'a> {
    /// The string, if the whole of it was read.
    pub(super) fn whole(&self) -> Option<&'a [u8]> {
        match self.raw {
            Raw::String { bytes, full_len } if bytes.len() == full_len => Some(bytes),
            _ => None,
        }
    }

    /// What follows `prefix` in the key, at its beginning or after a colon: clients may put a name of their own before
    /// all keys.
    pub(super) fn key_after(&self, prefix: &[u8]) -> Option<&'a [u8]> {
        after(self.key, prefix)
    }
}

/// What follows `prefix` in `key`, at its beginning or after a colon.
pub(super) fn after<'a>(key: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    if let Some(rest) = key.strip_prefix(prefix) {
        return Some(rest);
    }
    key.iter()
        .enumerate()
        .filter(|(_, b)| **b == b':')
        .find_map(|(i, _)| key.get(i + 1..)?.strip_prefix(prefix))
}

/// Whether `needle` is somewhere in `text`.
pub(super) fn contains(text: &[u8], needle: &[u8]) -> bool {
    // Keys are short, and most places differ in the first byte.
    text.windows(needle.len().max(1)).any(|w| w.first() == needle.first() && w == needle)
}

/// Text before and after the last `mark`.
pub(super) fn split_last(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().rposition(|b| *b == mark)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Only decimal digits, and at least one.
pub(super) fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// `len` hexadecimal digits in lower case that are not a decimal number.
pub(super) fn is_hex(text: &[u8], len: usize) -> bool {
    text.len() == len && text.iter().all(is_lower_hex) && !is_digits(text)
}

fn is_lower_hex(b: &u8) -> bool {
    matches!(b, b'0'..=b'9' | b'a'..=b'f')
}

/// A UUID of any version, in lower case.
pub(super) fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => is_lower_hex(b),
        })
}

/// A random UUID, in lower case.
pub(super) fn is_uuid4(text: &[u8]) -> bool {
    is_uuid(text)
        && text.get(14) == Some(&b'4')
        && matches!(text.get(19), Some(b'8' | b'9' | b'a' | b'b'))
}

/// `<uuid>:<digits>`: the two parts.
pub(super) fn uuid_and_number(text: &[u8]) -> Option<(&[u8], &[u8])> {
    match text.split_at_checked(36)? {
        (uuid, [b':', number @ ..]) if is_uuid(uuid) && is_digits(number) => Some((uuid, number)),
        _ => None,
    }
}

/// `digits` characters of base64 and then `pad` equals signs.
pub(super) fn is_base64(text: &[u8], digits: usize, pad: usize) -> bool {
    text.len() == digits + pad
        && text.iter().enumerate().all(|(i, b)| match i < digits {
            true => b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'),
            false => *b == b'=',
        })
}

/// Whether letters of either case and digits are as mixed as chance mixes them; names that people make are not. Of a
/// thousand random tokens of 16 characters or more about two fail.
pub(super) fn looks_random(text: &[u8]) -> bool {
    let class = |b: &u8| match b {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let changes = text.iter().zip(text.iter().skip(1)).filter(|(a, b)| class(a) != class(b));
    changes.count() * 4 >= text.len()
        && text.iter().any(u8::is_ascii_lowercase)
        && text.iter().any(u8::is_ascii_uppercase)
}

/// A positive decimal number.
pub(super) fn positive(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|n| *n > 0)
}

/// A score or a field that is a time in milliseconds of the server's clock. `None` of none: one that never comes.
pub(super) fn until_ms(ms: f64) -> Option<ServerTime> {
    /// The year 30,000; Redisson writes 922337203685477 for a permit without a lease.
    const NEVER: f64 = 9e14;
    (ms < NEVER).then_some(ServerTime((ms * 1000.0) as i64))
}

/// What kind of bytes.
pub(super) fn shape_of(bytes: &[u8], full_len: usize) -> Shape {
    if full_len == 0 {
        return Shape::Empty;
    }
    let cut = full_len > bytes.len();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // A long value may be cut inside a character, which says nothing about it.
        Err(e) if cut && e.error_len().is_none() => {
            bytes.get(..e.valid_up_to()).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or("")
        }
        Err(_) => return Shape::Binary,
    };
    let trimmed = text.trim();
    if trimmed.is_empty() || text.contains('\0') {
        return Shape::Binary;
    }
    if is_number(trimmed) || is_time(trimmed) {
        return Shape::Number;
    }
    if trimmed.starts_with(['{', '['])
        && (cut || serde_json::from_str::<serde::de::IgnoredAny>(trimmed).is_ok())
    {
        return Shape::Json;
    }
    Shape::Text
}

/// Digits with a sign and a decimal part; no exponent, because `123e4567` is a likely piece of a hexadecimal token.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    digits.bytes().any(|b| b.is_ascii_digit()) && all(whole) && all(part)
}

/// `2026-11-29`, with a time of day, a fraction and a zone if it likes.
fn is_time(text: &str) -> bool {
    const DATE: &[u8] = b"0000-00-00";
    let like = |part: &[u8], form: &[u8]| {
        part.len() == form.len()
            && part.iter().zip(form).all(|(b, f)| match f {
                b'0' => b.is_ascii_digit(),
                f => b == f,
            })
    };
    let Some((date, rest)) = text.as_bytes().split_at_checked(DATE.len()) else {
        return false;
    };
    let plausible = |b: &u8| b.is_ascii_digit() || b":.,+-Zz ".contains(b);
    like(date, DATE)
        && match rest {
            [] => true,
            [b'T' | b't' | b' ', clock @ ..] => match clock.split_at_checked(5) {
                Some((hm, zone)) => like(hm, b"00:00") && zone.iter().all(plausible),
                None => false,
            },
            _ => false,
        }
}
