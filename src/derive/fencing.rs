//! Fencing tokens of one lock: the last one issued, and the largest that each resource accepted. A token that goes down lets
//! an old holder pass for the new one. Knows nothing of who holds the lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::counter::Counter;
use crate::observe::Mono;
use crate::observe::node::FailReason;

/// All that is known of a lock's tokens.
#[derive(Clone, Debug, Default)]
pub struct Fencing {
    /// The counter that tokens are taken from.
    pub issued: Issued,
    /// What each resource accepted.
    pub accepted: BTreeMap<Arc<str>, Accepted>,
    /// What each resource refused.
    pub rejected: BTreeMap<Arc<str>, Rejected>,
}

/// The counter that tokens are taken from.
#[derive(Clone, Debug, Default)]
pub struct Issued {
    /// The last token; `None` if there is none.
    pub token: Option<u64>,
    /// How reading it goes.
    pub reads: Reads,
    /// How often it went down or vanished.
    pub regressions: u64,
    /// When that was seen last.
    pub fell: Option<Mono>,
}

/// The largest token that a resource accepted.
#[derive(Clone, Debug, Default)]
pub struct Accepted {
    /// As it was read last; `None` if the resource says that there is none.
    pub token: Option<u64>,
    /// How reading it goes.
    pub reads: Reads,
    /// How often it fell to a smaller token.
    pub regressions: u64,
    /// The last fall, with the read that confirmed it.
    pub fell: Option<Fall>,
    /// What it must not fall below; a zero or an absence is no token, and is passed over.
    high: Option<u64>,
    /// End of the last read that showed `high`.
    high_at: Mono,
    /// Every read since then succeeded and showed a token.
    is_whole: bool,
    /// The last good read was below `high`: the next one decides.
    is_below: bool,
}

/// A fall of an accepted token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// From this.
    pub from: u64,
    /// To this.
    pub to: u64,
    /// End of the last read that showed the larger one.
    pub since: Mono,
    /// End of the second read that showed it.
    pub at: Mono,
    /// Every read between succeeded and showed a token: what holds it does not seem to have begun anew.
    pub is_whole: bool,
}

/// Writes that a resource refused.
#[derive(Clone, Debug, Default)]
pub struct Rejected {
    /// How many.
    pub count: Counter,
    /// How reading it goes.
    pub reads: Reads,
}

/// How reading a source goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reads {
    /// End of the last good read.
    pub last: Option<Mono>,
    /// Why the last read failed, if it did.
    pub failure: Option<FailReason>,
    /// Some read showed a value: what is read there exists, or did.
    pub has_shown: bool,
    is_empty_told: bool,
}

/// What a good read is news of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// There is nothing, and never was.
    Empty,
    /// There is something for the first time, after it was told that there was nothing.
    Appeared,
    /// Reads failed before.
    Back,
}

impl Reads {
    /// A good read ended.
    pub fn succeeded(&mut self, at: Mono) {
        (self.last, self.failure) = (Some(at), None);
    }

    /// What the good read that just succeeded was like: it showed a value, or that there is none.
    pub fn looked(&mut self, is_there: bool, was_failing: bool) -> Option<Look> {
        self.has_shown |= is_there;
        if !self.has_shown {
            let is_known = std::mem::replace(&mut self.is_empty_told, true);
            return (!is_known || was_failing).then_some(Look::Empty);
        }
        let had_none = std::mem::take(&mut self.is_empty_told);
        match had_none {
            true => Some(Look::Appeared),
            false => was_failing.then_some(Look::Back),
        }
    }

    /// A read failed. Returns whether that is news.
    pub fn failed(&mut self, reason: FailReason) -> bool {
        self.failure.replace(reason) != Some(reason)
    }
}

impl Issued {
    /// Takes a good read. Returns in words what went wrong with the counter: it went down, or vanished. Its next holder gets
    /// a token that was given before.
    pub fn read(&mut self, token: Option<u64>, at: Mono) -> Option<String> {
        self.reads.succeeded(at);
        let wrong = match (self.token, token) {
            (Some(before), Some(now)) if now < before => {
                Some(format!("the last token issued went down from {before} to {now}"))
            }
            (Some(before), None) => Some(format!("the counter of tokens vanished at {before}")),
            _ => None,
        };
        self.token = token;
        if wrong.is_some() {
            self.regressions += 1;
            self.fell = Some(at);
        }
        wrong
    }
}

impl Accepted {
    /// Takes a good read. Returns in words that the token fell: two reads in a row show a smaller one. One read alone may
    /// have come from a copy that is behind.
    pub fn read(&mut self, token: Option<u64>, at: Mono) -> Option<String> {
        self.reads.succeeded(at);
        self.token = token;
        let was_below = std::mem::take(&mut self.is_below);
        let Some(now) = token.filter(|t| *t > 0) else {
            self.is_whole = false;
            return None;
        };
        match self.high {
            Some(high) if now < high && was_below => {
                self.regressions += 1;
                let (since, is_whole) = (self.high_at, self.is_whole);
                self.fell = Some(Fall { from: high, to: now, since, at, is_whole });
                (self.high, self.high_at, self.is_whole) = (Some(now), at, true);
                Some(format!("the accepted token fell from {high} to {now}"))
            }
            Some(high) if now < high => {
                self.is_below = true;
                None
            }
            _ => {
                (self.high, self.high_at, self.is_whole) = (Some(now), at, true);
                None
            }
        }
    }

    /// A read failed: what comes after it does not follow on what came before.
    pub fn failed(&mut self, reason: FailReason) -> bool {
        self.broken();
        self.reads.failed(reason)
    }

    /// What comes now does not follow on what came before, as after a time in which the exporter itself stood still.
    pub fn broken(&mut self) {
        (self.is_below, self.is_whole) = (false, false);
    }
}

#[cfg(test)]
#[path = "fencing_tests.rs"]
mod tests;
