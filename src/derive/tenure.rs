//! One owner's continuous time with a lock: who, since when, and the writes of its expiry.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::lock::{Creep, Growth};
use super::loss::Loss;
use super::workers::Seat;
use crate::observe::lock::{Decoded, Mode};
use crate::observe::node::Flushes;
use crate::observe::{Expiry, Mono, Owner, ServerTime, Span};

/// Renewals remembered for the proof that they came after liveness was lost.
const RECENT: usize = 8;

/// A good read: when on both clocks, and what had happened around it until then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// On the observer's clock.
    pub span: Span,
    /// On the server's clock.
    pub time: ServerTime,
    /// Counters as of then.
    pub marks: Marks,
}

/// Counters that tell, compared between two reads, what happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Marks {
    /// Breaks in the record of the store's primary.
    pub breaks: u64,
    /// Failovers and restarts among them.
    pub failovers: u64,
    /// Steps of the server's clock, and their sum.
    pub steps: u64,
    /// See `steps`.
    pub stepped_micros: i64,
    /// Calls that empty databases, as of the last facts before the read.
    pub flushes: Option<Flushes>,
    /// When those facts were asked for.
    pub counted_at: Option<Mono>,
    /// Evictions, as of the last facts before the read.
    pub evicted: Option<u64>,
}

/// The last write of E: it happened after the read before and before the read that showed it.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// The read before; `None` if there was none without a break, so that nothing bounds the write from below.
    pub after: Option<(Mono, ServerTime)>,
    /// The read that showed it.
    pub shown: Seen,
    /// Counters as of the read before: the server's clock may have been stepped after the write and before it was shown.
    pub marks: Marks,
    /// The E it set.
    pub expiry: Expiry,
}

impl Write {
    /// When it was made, on our clock: at E - L, which the reads around it bound.
    pub fn made_at(&self, lease_micros: Option<i64>) -> Mono {
        let (shown, time) = (self.shown.span.done, self.shown.time);
        let made = match (self.expiry, lease_micros) {
            (Expiry::At(e), Some(l)) => e.plus_micros(-l),
            _ => time,
        };
        let after = self.after.map_or(ServerTime(i64::MIN), |(_, t)| t);
        let back = time.micros_since(made.max(after).min(time)).max(0);
        let made = shown.minus(Duration::from_micros(back.unsigned_abs()));
        self.after.map_or(made, |(m, _)| made.max(m))
    }
}

/// A renewal between two reads, kept until a look at the worker tells whether it came after a loss.
#[derive(Clone, Copy, Debug)]
pub struct RenewalMark {
    /// End of the read before it.
    pub earlier: Mono,
    /// End of the read that showed it.
    pub later: Mono,
    /// Already counted as one after lost liveness.
    pub is_counted: bool,
}

/// A missed renewal.
#[derive(Clone, Copy, Debug)]
pub struct Overdue {
    /// End of the read that showed it.
    pub since: Mono,
}

/// An owner's time with the lock.
#[derive(Clone, Debug)]
pub struct Tenure {
    /// The owner; `None` where the value of a lock configured by key names none.
    pub owner: Option<Arc<Owner>>,
    /// Its place among the workers.
    pub seat: Seat,
    /// In what way it holds.
    pub mode: Mode,
    /// When it was acquired as its token states it, on the holder's clock. For people.
    pub taken_at: Option<f64>,
    /// The last value.
    pub value: Arc<Decoded>,
    /// Hold count.
    pub count: u64,
    /// E is its own, not that of a key that several share.
    pub is_own: bool,
    /// The first read that showed it.
    pub first: Seen,
    /// The last read before, on the server's clock, if there was one without a break and it did not show this owner: then
    /// the begin was seen.
    pub begun_after: Option<ServerTime>,
    /// The server's clock stepped between that read and the first: it may be an old lease that is ahead again.
    pub is_revived: bool,
    /// The primary's offset in that read before.
    pub acquired_after: Option<u64>,
    /// The last read that showed it.
    pub last: Seen,
    /// E.
    pub expiry: Expiry,
    /// The last write of E.
    pub write: Write,
    /// Renewals seen.
    pub renewals: u64,
    /// Largest remaining time read right after its own writes, in microseconds.
    pub largest: Option<i64>,
    /// The holder let go early; until E rises again the lease is on its way out.
    pub shortened: bool,
    /// End of the first read without an expiry, on our clock: the server's may be stepped.
    pub endless_since: Option<Mono>,
    /// The renewal that is missing.
    pub overdue: Option<Overdue>,
    /// Renewals not yet proven to be before or after a loss.
    pub recent: VecDeque<RenewalMark>,
    /// With a new token for each acquire, a replaced holder stays replaced whatever is written later.
    pub replaced: Option<Loss>,
    /// A read after a loss showed it stale, and its holder has been lost ever since: a loss that another follows, as a
    /// death a replacement, needs no proof of its own.
    pub is_stale: bool,
    /// A renewal after lost liveness was proven by the process, and it has not come back.
    pub renewed_after_process: bool,
    /// The same by the heartbeat.
    pub renewed_after_beat: bool,
    /// End of the first look at its process that began after the tenure was first seen. An earlier loss does not
    /// concern this tenure: whoever acquired was alive.
    pub process_looked: Option<Mono>,
    /// The same for its heartbeat, which has to stand still for the whole threshold from then on.
    pub beat_looked: Option<Mono>,
    /// The E for which reads around the expiry were asked, and the steps of the server's clock until then: another step
    /// makes it come at another instant of ours.
    pub aligned: Option<(ServerTime, u64)>,
    /// The instant of an overdue renewal for which a read was asked.
    pub due_asked: Option<Mono>,
    /// How long its lease was after each of the last renewals.
    pub growth: Growth,
    /// Its lowest hold counts.
    pub creep: Creep,
}

impl Tenure {
    /// Its worker, unless there are too many.
    pub fn worker(&self) -> Option<&Arc<str>> {
        self.seat.worker.as_ref()
    }

    /// Whether its begin was seen.
    pub fn is_seen_begin(&self) -> bool {
        self.begun_after.is_some()
    }

    /// Whether this is the same owner. Two values without an owner are.
    pub fn is_owner(&self, owner: Option<&Owner>) -> bool {
        match (&self.owner, owner) {
            (Some(a), Some(b)) => a.token == b.token,
            (None, None) => true,
            _ => false,
        }
    }

    /// Remembers a renewal.
    pub fn remember(&mut self, earlier: Mono, later: Mono) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(RenewalMark { earlier, later, is_counted: false });
    }
}
