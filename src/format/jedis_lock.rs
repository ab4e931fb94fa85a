//! jedis-lock, as redis-quartz uses it: the value is the time at which the lock ends, in milliseconds since the epoch,
//! and the key never expires. It names nobody: a time is not an owner, so the lock has no holder that could be shown.

use crate::observe::lock::{Endless, Shape};
use crate::observe::{Decoded, ServerTime};

use super::{Fit, Format, PLAIN, Sight, value};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "jedis-lock",
    libraries: "jedis-lock, redis-quartz",
    key: "`JobLock`",
    value: "the time of its end in milliseconds, which names no owner",
    renewal: "none",
    endless: Endless::Carried,
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let digits = sight.whole().filter(|v| v.len() == 13 && value::is_digits(v))?;
    if !sight.is_declared && !sight.key.ends_with(b"JobLock") {
        return None;
    }
    let ms: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let decoded =
        Decoded { expiry_inside: Some(ServerTime::from_ms(ms)), ..FORMAT.decoded(Shape::Number) };
    Some((Fit::Likely, decoded))
}
