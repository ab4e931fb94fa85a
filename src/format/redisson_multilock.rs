//! Redisson's FasterMultiLock: one hash for a group of values that are locked one by one. A field per value says who has
//! it, two more say until when and how often. Its key stands for the whole group, so several may hold it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::observe::lock::{Endless, Holding, Mode, Shape, Sharing};
use crate::observe::{Decoded, ServerTime};

use super::holder::{Named, held_by, holding};
use super::value::{positive, until_ms, uuid_and_number};
use super::{Fit, Format, Kind, PLAIN, Raw, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redisson-multilock",
    libraries: "Redisson FasterMultiLock",
    kind: Kind::Hash,
    key: "`<name>`",
    value: "field `<value>`: owner, with fields for its expiry and hold count",
    default_lease: Some(Duration::from_secs(30)),
    renewal: "without a lease time of its own, at a third of the lease",
    sharing: Sharing::Permits(None),
    endless: Endless::Carried,
    decode,
    reuses_tokens: true,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Hash(fields) = sight.raw else { return None };
    let values: BTreeMap<&[u8], &[u8]> = fields.iter().copied().collect();
    let mut owners: BTreeMap<&[u8], (Option<ServerTime>, u64)> = BTreeMap::new();
    let mut explained = 0;
    for (field, owner) in &values {
        if uuid_and_number(owner).is_none() {
            continue;
        }
        let beside = |what: &[u8]| values.get([*field, b":", *owner, what].concat().as_slice());
        let ms = std::str::from_utf8(beside(b":expire_time")?).ok()?;
        let ms = ms.parse().ok().filter(|ms: &f64| !ms.is_nan())?;
        let until = until_ms(ms);
        let count = beside(b":lock_count");
        explained += 2 + usize::from(count.is_some());
        let count = count.map_or(Some(1), |c| positive(c))?;
        // An owner of several values is one holder, until its last one ends; for ever if one does not.
        let known = owners.entry(owner).or_insert((until, count));
        *known = (known.0.zip(until).map(|(a, b)| a.max(b)), known.1.max(count));
    }
    if explained != values.len() {
        return None;
    }
    let holders = owners.into_iter().map(|(owner, (until, count))| {
        let thread = uuid_and_number(owner).map(|(_, thread)| thread);
        let held = holding(owner, Named { thread, ..Named::default() }, sight.rules);
        Holding { count, until, mode: Mode::Permit, ..held }
    });
    let holders = holders.collect();
    Some((Fit::Certain, held_by(FORMAT.decoded(Shape::OwnerHash), holders)?))
}
