//! Strings: the value is the owner's token. Says which libraries' tokens are new for each acquire, and which values are
//! no owner at all: numbers, times, JSON, nothing. A declared `format: string` or a matching `holder` pattern overrules that.

use crate::config::TokenKind;
use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::{Fit, Format, Raw, Sight, holding, no_companion};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "string",
    libraries: "anything that does `SET key token NX PX`",
    decode,
    is_companion: no_companion,
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::String { bytes, full_len } = sight.raw else { return None };
    let rules = sight.rules;
    let shape = shape_of(bytes, full_len);
    let is_named = rules.holder.as_ref().is_some_and(|p| p.0.is_match(bytes));
    let is_owner = match shape {
        Shape::Empty => false,
        Shape::Text | Shape::Binary => true,
        _ => sight.is_declared || is_named,
    };
    let decoded = Decoded::nobody(FORMAT.name, shape);
    if !is_owner {
        return Some((Fit::Possible, decoded));
    }
    let decoded = Decoded {
        tokens: token_kind(bytes, full_len),
        holders: vec![holding(bytes, 1, rules.holder.as_ref())],
        ..decoded
    };
    Some((Fit::Possible, decoded))
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

/// Whether the token is of a library that makes a new one for each acquire. A plain random identifier may belong to a
/// process that uses it for every lock it takes, so it counts as reusable.
fn token_kind(bytes: &[u8], full_len: usize) -> TokenKind {
    let fresh = full_len == bytes.len()
        && (is_uuid1_hex(bytes) || is_base64(bytes, 24, 0) || is_base64(bytes, 22, 2));
    if fresh { TokenKind::PerAcquire } else { TokenKind::Reusable }
}

/// redis-py: `uuid1().hex`. A random 128-bit number looks like one in 1 of 64 cases, so the time inside has to be a
/// plausible one too (2009 to 2100).
fn is_uuid1_hex(bytes: &[u8]) -> bool {
    let lower_hex = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    if bytes.len() != 32 || !bytes.iter().all(lower_hex) {
        return false;
    }
    let Some(number) =
        std::str::from_utf8(bytes).ok().and_then(|t| u128::from_str_radix(t, 16).ok())
    else {
        return false;
    };
    let (low, mid, high) = (number >> 96, (number >> 80) & 0xffff, (number >> 64) & 0xffff);
    let (version, variant) = (high >> 12, (number >> 62) & 0b11);
    // Units of 100 ns since 1582-10-15.
    let time = ((high & 0xfff) << 48) | (mid << 32) | low;
    const YEAR: u128 = 31_556_952 * 10_000_000;
    let plausible = (2009 - 1582) * YEAR..(2100 - 1582) * YEAR;
    version == 1 && variant == 0b10 && plausible.contains(&time)
}

/// `digits` characters of base64 and then `pad` equals signs: python-redis-lock (24, 0) and redsync (22, 2).
fn is_base64(bytes: &[u8], digits: usize, pad: usize) -> bool {
    bytes.len() == digits + pad
        && bytes.iter().enumerate().all(|(i, b)| match i < digits {
            true => b.is_ascii_alphanumeric() || *b == b'+' || *b == b'/',
            false => *b == b'=',
        })
}
