//! Symfony's RedisStore: a sorted set of tokens, each with its own expiry by the server's clock, and beside them the mark
//! `__write__` while the one token is a writer's.

use std::time::Duration;

use crate::observe::Decoded;
use crate::observe::lock::{Endless, Holding, Mode, Shape, Sharing};

use super::holder::{Named, held_by, holding};
use super::value::{is_base64, until_ms};
use super::{Fit, Format, Kind, PLAIN, Raw, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "symfony",
    libraries: "Symfony Lock RedisStore (since 5.2)",
    kind: Kind::Zset,
    key: "`<resource>`",
    value: "members: 32 random bytes in base64 and `__write__`, score: the expiry in milliseconds",
    default_lease: Some(Duration::from_secs(300)),
    renewal: "by hand: `refresh()`",
    sharing: Sharing::ReadWrite,
    endless: Endless::Carried,
    companions: "`symfony_check_support_time`",
    decode,
    is_companion: |key| key == b"symfony_check_support_time",
    ..PLAIN
};

const WRITE: &[u8] = b"__write__";

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Zset(members) = sight.raw else { return None };
    let is_write = members.iter().any(|(m, _)| *m == WRITE);
    let mode = if is_write { Mode::Write } else { Mode::Read };
    let holders: Option<Vec<Holding>> = members
        .iter()
        .filter(|(m, _)| *m != WRITE)
        .map(|(token, score)| {
            is_base64(token, 43, 1).then(|| Holding {
                mode,
                until: until_ms(*score),
                ..holding(token, Named::default(), sight.rules)
            })
        })
        .collect();
    let decoded = held_by(FORMAT.decoded(Shape::Zset), holders?)?;
    Some((if is_write { Fit::Certain } else { Fit::Likely }, decoded))
}
