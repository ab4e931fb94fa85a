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
    value: "a random UUID; for a trigger the scheduler's instance id, `<host><milliseconds>`",
    default_lease: Some(Duration::from_secs(30)),
    renewal: "none",
    decode,
    ..PLAIN
};

/// Of a trigger's lock.
const TRIGGER_LEASE: Duration = Duration::from_secs(600);

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    if sight.key_after(b"trigger_lock:").is_some_and(is_trigger) {
        let token = sight.whole()?;
        let is_id = is_instance_id(token);
        let is_text = value::shape_of(token, token.len()) == Shape::Text;
        let is_told = sight.is_declared && is_text;
        if !(is_id || is_told) {
            return None;
        }
        // Anything else may be a token that opens the lock, and is not to be printed as a name.
        let named = Named { worker: is_id.then_some(token), ..Named::default() };
        let decoded = Decoded {
            default_lease: Some(TRIGGER_LEASE),
            holders: vec![holding(token, named, sight.rules)],
            also_fits: vec![super::string::FORMAT.name],
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

/// `<group>:<name>`.
fn is_trigger(rest: &[u8]) -> bool {
    value::split_last(rest, b':').is_some_and(|(group, name)| !group.is_empty() && !name.is_empty())
}

/// What Quartz's own generator makes: the host's name and then the time in milliseconds. A host's name begins with a
/// letter, and is neither hexadecimal nor a mixture of chance.
fn is_instance_id(id: &[u8]) -> bool {
    const MILLISECONDS: usize = 13;
    let Some((host, time)) =
        id.len().checked_sub(MILLISECONDS).and_then(|at| id.split_at_checked(at))
    else {
        return false;
    };
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"-._".contains(b);
    value::is_digits(time)
        && time.first() == Some(&b'1')
        && host.len() <= 253
        && host.first().is_some_and(u8::is_ascii_alphabetic)
        && host.iter().all(is_name)
        && !host.iter().all(|b| b.is_ascii_hexdigit() || *b == b'-')
        && !value::looks_random(host)
}
