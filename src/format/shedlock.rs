//! ShedLock: `ADDED:<time>@<host>:<uuid>`, the last part since 2025. After the work the key stays until it may be locked
//! again, so it ends by its expiry, and a key that is there does not mean that somebody works.

use crate::config::TokenKind;
use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding};
use super::{Fit, Format, PLAIN, Sight, value};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "shedlock",
    libraries: "ShedLock Redis providers",
    key: "`job-lock:<environment>:<name>`",
    value: "`ADDED:<time>@<host>:<uuid>`",
    tokens: TokenKind::PerAcquire,
    ends_by_expiry: true,
    renewal: "with KeepAliveLockProvider, at half of the lease",
    decode,
    ..PLAIN
};

/// `2026-11-29T13:14:01.090Z`.
const TIME: usize = 24;

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let token = sight.whole()?;
    let (time, rest) = token.strip_prefix(b"ADDED:")?.split_at_checked(TIME)?;
    let taken_at = seconds(time)?;
    let rest = rest.strip_prefix(b"@")?;
    let host = match value::split_last(rest, b':') {
        Some((host, uuid)) if value::is_uuid(uuid) => host,
        _ => rest,
    };
    if std::str::from_utf8(host).is_err() || host.contains(&b':') {
        return None;
    }
    let named = Named { host: Some(host), goes_by_host: true, ..Named::default() };
    let mut held = holding(token, named, sight.rules);
    held.taken_at = Some(taken_at);
    let mut decoded = FORMAT.decoded(Shape::Text);
    decoded.holders.push(held);
    let is_key = sight.key_after(b"job-lock:").is_some();
    Some((if is_key { Fit::Certain } else { Fit::Likely }, decoded))
}

/// Seconds since the epoch of `2026-11-29T13:14:01.090Z`.
fn seconds(text: &[u8]) -> Option<f64> {
    let form = b"0000-00-00T00:00:00.000Z";
    let is_like = text.len() == form.len()
        && text.iter().zip(form).all(|(b, f)| match f {
            b'0' => b.is_ascii_digit(),
            f => b == f,
        });
    if !is_like {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_real = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_real || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days of the proleptic Gregorian calendar, with years that begin in March so that the odd day comes last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day
            - 1
            - 719_468;
    let whole = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(whole as f64 + number(20, 23)? as f64 / 1e3)
}
