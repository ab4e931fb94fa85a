//! Spring Integration's RedisLockRegistry: the UUID of the registry, the same for all its locks and all threads of the
//! JVM, under `<registry key>:<path>`. Nothing but the declaration tells it from another UUID.

use std::time::Duration;

use crate::observe::Decoded;

use super::redlock::bare_uuid4;
use super::{Fit, Format, PLAIN, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "spring-integration",
    libraries: "Spring Integration RedisLockRegistry",
    key: "`<registry key>:<path>`",
    value: "a random UUID, one per registry",
    default_lease: Some(Duration::from_secs(60)),
    renewal: "with `renewalTaskScheduler`, at a third of the lease",
    decode,
    reuses_tokens: true,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    if sight.is_declared || sight.key.contains(&b':') {
        bare_uuid4(&FORMAT, sight, false)
    } else {
        None
    }
}
