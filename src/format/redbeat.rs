//! celery-redbeat: a redis-py lock that the one active beat holds and extends at each tick. Known by its key.

use std::time::Duration;

use crate::config::TokenKind;
use crate::observe::Decoded;

use super::{Fit, Format, PLAIN, Sight, redis_py};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redbeat",
    libraries: "celery-redbeat",
    key: "`redbeat::lock`",
    value: "a redis-py token",
    tokens: TokenKind::PerAcquire,
    default_lease: Some(Duration::from_secs(1500)),
    renewal: "at each tick, by default at a fifth of the lease",
    companions: "`redbeat::schedule`, `redbeat::statics`",
    decode,
    is_companion,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    if sight.is_declared || sight.key.ends_with(b"redbeat::lock") {
        redis_py::decode_as(&FORMAT, Fit::Certain, sight)
    } else {
        None
    }
}

fn is_companion(key: &[u8]) -> bool {
    key.ends_with(b"redbeat::schedule") || key.ends_with(b"redbeat::statics")
}
