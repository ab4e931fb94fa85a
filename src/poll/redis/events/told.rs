//! What a message of a feed says: keys that changed, what was done to one, or that the server is there. Pure.

use super::deed::deed;
use super::link::CHANNEL;
use crate::observe::feed::Deed;
use crate::observe::node::FailReason;
use crate::poll::redis::failure::Failure;
use crate::poll::redis::subscription::frames::Part;

/// What a server tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// These keys changed.
    Changed(Vec<Vec<u8>>),
    /// This was done to a key, if it may have brought another owner or none.
    Event(Vec<u8>, Option<Deed>),
    /// Any key may have changed: the database was emptied, or there were too many to be named.
    Any,
    /// Which events of keys it sends: any, and all that matter; `None` if it does not tell any more.
    Sends(Option<(bool, bool)>),
    /// It is there: what was to be told before it was asked came before.
    Alive,
}

/// What a frame tells, if it is anything of ours.
pub fn told(frame: Vec<Part>, space: &[u8]) -> Result<Option<Told>, Failure> {
    let mut parts = frame.into_iter();
    Ok(match parts.next() {
        Some(Part::Error(error)) => return Err(Failure::server("SUBSCRIBE", &error)),
        Some(Part::Text(kind)) if kind == b"subscribe" => {
            matches!(parts.next(), Some(Part::Text(c)) if c == CHANNEL.as_bytes())
                .then_some(Told::Alive)
        }
        Some(Part::Text(kind)) if matches!(&*kind, b"message" | b"pmessage") => {
            let mut rest = parts.skip(usize::from(kind == b"pmessage"));
            match (rest.next(), rest.next()) {
                (Some(Part::Text(channel)), Some(Part::Text(event))) => {
                    channel.strip_prefix(space).map(|key| Told::Event(key.to_vec(), deed(&event)))
                }
                _ => None,
            }
        }
        Some(Part::Text(kind)) if kind == b"invalidate" => {
            let mut keys = Vec::with_capacity(parts.len());
            for part in parts {
                match part {
                    Part::Text(key) => keys.push(key),
                    Part::Other | Part::TooLong => return Ok(Some(Told::Any)),
                    Part::Error(_) => {}
                }
            }
            Some(Told::Changed(keys))
        }
        Some(_) => None,
        None => return Err(Failure::new(FailReason::Protocol, "an empty message")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(t: &str) -> Part {
        Part::Text(t.as_bytes().to_vec())
    }

    #[test]
    fn what_a_frame_tells() {
        let keys = vec![b"a".to_vec(), b"b".to_vec()];
        for (frame, expected) in [
            (vec![text("invalidate"), text("a"), text("b")], Some(Told::Changed(keys))),
            (vec![text("invalidate"), Part::Other], Some(Told::Any)),
            (vec![text("invalidate"), text("a"), Part::TooLong], Some(Told::Any)),
            (vec![text("subscribe"), text(CHANNEL), Part::Other], Some(Told::Alive)),
            (vec![text("message"), text(CHANNEL), text("subscribe")], None),
            (vec![text("subscribe"), text("__keyspace@0__:a"), Part::Other], None),
            (
                vec![text("message"), text("__keyspace@0__:a:b"), text("set")],
                Some(Told::Event(b"a:b".to_vec(), Some(Deed::Wrote))),
            ),
            (
                vec![text("pmessage"), text("x*"), text("__keyspace@0__:a"), text("expire")],
                Some(Told::Event(b"a".to_vec(), None)),
            ),
            (vec![text("pmessage"), text("x*"), text("__keyspace@1__:a"), text("set")], None),
        ] {
            assert_eq!(
                told(frame.clone(), b"__keyspace@0__:").expect("no failure"),
                expected,
                "{frame:?}"
            );
        }
        assert!(told(vec![Part::Error(b"NOPERM no".to_vec())], b"").is_err());
        assert!(told(Vec::new(), b"").is_err());
    }
}
