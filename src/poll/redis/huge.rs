//! Hashes, sets and sorted sets that are too large to be read. A server tells how many elements they have and not how
//! large those are, so one such key could make every reply too large, and with it every other key unreadable. It is found in the reply that
//! failed, and left alone from then on.

use tracing::info;

use super::batch::Form;
use super::codec::Walk;
use super::conn::Conn;
use super::failure::Failure;
use super::slot::MAX_COLLECTION;
use super::sweep::Sweeper;
use crate::observe::node::FailReason;
use crate::observe::{Span, label};

impl Sweeper {
    /// If an exchange failed, looks which values made its reply too large, or so slow that it was given up: they alone are
    /// left out next time. Hands on the outcome.
    pub(super) fn find_huge(
        &mut self,
        conn: &Conn,
        form: Form,
        members: &[u32],
        replies: usize,
        exchanged: Result<Span, Failure>,
    ) -> Result<Span, Failure> {
        let Err(failure) = &exchanged else { return exchanged };
        let (whole, part) = conn.partial();
        let found = match (form, self.groups.dialect().multi) {
            (form, true) if form.is_collection() && whole + 1 == replies => {
                sizes(part, members.len())
            }
            // Each value has a reply of its own, after that to TIME.
            (form, false) if form.is_collection() => (1..=members.len().min(whole))
                .map(|i| if i < whole { (conn.reply(i).len(), true) } else { (part.len(), false) })
                .collect(),
            _ => return exchanged,
        };
        for (place, (size, is_whole)) in members.iter().zip(found) {
            // What is announced as larger than any reply may be has not come at all.
            let refused = !is_whole && failure.reason == FailReason::Protocol;
            if (refused || size > MAX_COLLECTION)
                && let Some(slot) = self.slots.get_mut(*place)
            {
                slot.huge = true;
                info!(key = %label::text(&slot.watched.key), node = %self.node.addr,
                    "a value is too large to be read and is left alone until it is deleted");
            }
        }
        exchanged
    }
}

/// How many bytes of each value are in a reply to `EXEC` that did not come whole, and whether that is all of it; ends with
/// the one that was under way.
fn sizes(part: &[u8], count: usize) -> Vec<(usize, bool)> {
    let mut walk = Walk::new(part);
    let mut sizes = Vec::new();
    if walk.many().is_none() || walk.skip().is_none() {
        return sizes;
    }
    while sizes.len() < count {
        let rest = walk.rest();
        match walk.skip() {
            Some(()) => sizes.push((rest - walk.rest(), true)),
            None => {
                sizes.push((rest, false));
                break;
            }
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_reply_tells_its_large_values() {
        let head = "*9\r\n*2\r\n$1\r\n5\r\n$1\r\n7\r\n";
        let hash = "%1\r\n$1\r\nf\r\n$1\r\nv\r\n";
        let part = format!("{head}{hash}{hash}%2\r\n$1\r\nf\r\n$99\r\nvvv");
        let of = |count| sizes(part.as_bytes(), count);
        assert_eq!(of(5), [(18, true), (18, true), (19, false)]);
        assert_eq!(of(2), [(18, true), (18, true)]);
        assert_eq!(sizes(head.as_bytes(), 5), [(0, false)]);
        assert_eq!(sizes(b"*9\r\n*2", 5), []);
    }
}
