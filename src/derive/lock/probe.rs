//! One read that stands for those of all locks at rest in a line, and what it leaves of a lock when that is brought up to date. That
//! nothing else of the lock changes is known before; a test holds it against the reads one by one.

use std::time::Duration;

use super::{Lock, Phase};
use crate::derive::tenure::Seen;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// When.
    pub seen: Seen,
    /// The primary's replication offset.
    pub offset: Option<u64>,
    /// Whether it is known that there is no replica.
    pub is_alone: bool,
}

impl Probe {
    /// Whether what is known at one of them holds at the other.
    pub(in crate::derive) fn is_followed_by(&self, next: &Self, poll: Duration) -> bool {
        is_next(&self.seen, &next.seen, poll)
            && self.is_alone == next.is_alone
            && match (self.offset, next.offset) {
                (None, None) => true,
                (Some(before), Some(now)) => now >= before,
                _ => false,
            }
    }
}

/// Whether no poll is missing between two reads, and nothing broke or was stepped.
pub(super) fn is_next(seen: &Seen, next: &Seen, poll: Duration) -> bool {
    let (before, now) = (seen.marks, next.marks);
    let span = next.span;
    span.sent >= seen.span.done
        && span.sent.since(seen.span.done) <= poll * 4
        && next.time >= seen.time
        && (before.breaks, before.failovers) == (now.breaks, now.failovers)
        && (before.steps, before.stepped_micros) == (now.steps, now.stepped_micros)
}

impl Lock {
    /// Takes so many reads that change nothing else, of a lock that is held and that no replica has or could have. Only the last
    /// two of them leave a trace.
    pub(in crate::derive) fn seen_so_often(&mut self, times: u64, before: Probe, last: Probe) {
        if times == 0 {
            return;
        }
        if let [Some(newest), Some(older)] = &mut self.sights {
            (older.span, older.time, older.offset) = match times {
                1 => (newest.span, newest.time, newest.offset),
                _ => (before.seen.span, before.seen.time, before.offset),
            };
            (newest.span, newest.time, newest.offset) =
                (last.seen.span, last.seen.time, last.offset);
        }
        self.seen = Some(last.seen);
        if let Phase::Held(tenure) = &mut self.phase {
            self.shapes.last = Some(last.seen.span.done);
            tenure.last = last.seen;
            tenure.creep.goes_on(last.seen.span.done);
        }
    }
}
