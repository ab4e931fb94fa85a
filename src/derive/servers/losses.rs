//! Votes that an owner lost, and whether its servers took them: what their facts tell, read after the loss. A vote that was let
//! go or overwritten is nobody's fault, and then the owner knows.

use crate::derive::flushed::{Calls, Flush};
use crate::derive::tenure::Seen;
use crate::derive::words::Evidence;
use crate::observe::{Expiry, Mono};

/// What one owner lost.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    list: Vec<Loss>,
    /// Whether some server still had a live vote of the owner in the first count after its end.
    remains: Option<bool>,
}

#[derive(Clone, Debug)]
struct Loss {
    line: usize,
    /// When it ended, by the server's clock.
    own: Expiry,
    last: Seen,
    gone: Seen,
    cause: Option<Cause>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The server took it.
    Server(Evidence),
    /// It ran out: an owner that renews only some of its votes has not let go.
    RanOut,
    /// Perhaps the server took it.
    Unclear,
    /// Nothing that the server tells.
    None,
}

/// What a server's facts say, read after a loss.
#[derive(Clone, Copy, Debug)]
pub struct After<'a> {
    /// Which server.
    pub line: usize,
    /// When they were asked for.
    pub sent: Mono,
    /// Its failovers and restarts.
    pub failovers: u64,
    /// Calls that empty databases.
    pub flushes: Calls<'a>,
    /// Evictions.
    pub evicted: Option<u64>,
}

/// Whether servers took a lock from its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Not all is known yet.
    Waits,
    /// All that it lost, and at least one vote, they took.
    Taken(Evidence),
    /// Perhaps they did.
    Unknown,
    /// Not as far as they tell.
    Not,
}

impl Losses {
    /// One more.
    pub fn add(&mut self, line: usize, own: Expiry, last: Seen, gone: Seen) {
        self.regained(line);
        self.list.push(Loss { line, own, last, gone, cause: None });
    }

    /// The owner has its token there again.
    pub fn regained(&mut self, line: usize) {
        self.list.retain(|loss| loss.line != line);
    }

    /// Takes a server's facts.
    pub fn learn(&mut self, after: &After<'_>) {
        for loss in &mut self.list {
            let is_meant = loss.line == after.line && loss.gone.span.done <= after.sent;
            if is_meant && loss.cause.is_none() {
                loss.cause = loss.cause(after);
            }
        }
    }

    /// Another count, after the end: whether a server still has a live vote of the owner.
    pub fn recounted(&mut self, remains: bool) {
        self.remains.get_or_insert(remains);
    }

    /// Whether its servers took the lock from the owner.
    pub fn settled(&self) -> Settled {
        let causes = || self.list.iter().map(|l| l.cause);
        if causes().any(|c| c == Some(Cause::None)) {
            return Settled::Not;
        }
        if causes().any(|c| c.is_none()) {
            return Settled::Waits;
        }
        if causes().any(|c| c == Some(Cause::Unclear)) {
            return Settled::Unknown;
        }
        let taken = causes().filter_map(|c| match c {
            Some(Cause::Server(evidence)) => Some(evidence),
            _ => None,
        });
        // A server that evicts may do so while the owner lets go everywhere: then nothing of it remains.
        let (evicted, other): (Vec<_>, Vec<_>) = taken.partition(|e| *e == Evidence::Evicted);
        match (other.first(), evicted.first(), self.remains) {
            (Some(evidence), None, _) | (Some(evidence), Some(_), Some(true)) => {
                Settled::Taken(*evidence)
            }
            (None, Some(evidence), Some(true)) => Settled::Taken(*evidence),
            (_, Some(_), None) => Settled::Waits,
            _ => Settled::Not,
        }
    }
}

impl Loss {
    /// What took it; `None` while only the next reads can tell.
    fn cause(&self, after: &After<'_>) -> Option<Cause> {
        if after.failovers != self.last.marks.failovers {
            return Some(Cause::Server(Evidence::Failover));
        }
        let is_whole = match after.flushes.between(&self.last, &self.gone) {
            Some(Flush::Ours) => return Some(Cause::Server(Evidence::Flushed)),
            Some(Flush::NotYet) => return None,
            Some(Flush::Perhaps) => false,
            Some(Flush::None) | None => true,
        };
        let stepped = self.gone.marks.stepped_micros.saturating_sub(self.last.marks.stepped_micros);
        if let Expiry::At(e) = self.own
            && self.gone.time >= e
        {
            let is_step = stepped > 0 && e > self.gone.time.plus_micros(-stepped);
            return Some(match is_step {
                true => Cause::Server(Evidence::ClockStep),
                false => Cause::RanOut,
            });
        }
        let rose = |before: Option<u64>, after: Option<u64>| Some(after? > before?);
        Some(match rose(self.last.marks.evicted, after.evicted) {
            Some(true) => Cause::Server(Evidence::Evicted),
            _ if is_whole => Cause::None,
            _ => Cause::Unclear,
        })
    }
}
