//! jlinn's Redis job store for Quartz: one lock for the whole scheduler, and one per trigger that says which scheduler
//! has it. Its locks are let go by a read and a delete that are not one step.

use std::time::Duration;

use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding};
use super::redlock::bare_uuid4;
use super::{Fit, Format, PLAIN, Sight, value};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "quartz",
    libraries: "quartz-redis-jobstore",
    key: "`<prefix>lock`, `<prefix>trigger_lock:<group>:<name>`",
    value: "a random UUID; for a trigger the scheduler's instance id",
    default_lease: Some(Duration::from_secs(30)),
    renewal: "none",
    decode,
    ..PLAIN
};

/// Of a trigger's lock.
const TRIGGER_LEASE: Duration = Duration::from_secs(600);

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    if value::contains(sight.key, b"trigger_lock:") {
        let token = sight.whole()?;
        if value::shape_of(token, token.len()) != Shape::Text {
            return None;
        }
        let named = Named { worker: Some(token), ..Named::default() };
        let decoded = Decoded {
            default_lease: Some(TRIGGER_LEASE),
            holders: vec![holding(token, named, sight.rules)],
            ..FORMAT.decoded(Shape::Text)
        };
        return Some((Fit::Likely, decoded));
    }
    if sight.is_declared || sight.key == b"lock" || sight.key.ends_with(b":lock") {
        bare_uuid4(&FORMAT, sight, false)
    } else {
        None
    }
}
