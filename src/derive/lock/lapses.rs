//! Whether a lock's leases run out again and again while it is in use: too short for the work, or not renewed.

use std::collections::VecDeque;

use super::{Lock, ReadContext};
use crate::derive::wanted::Effects;
use crate::derive::words::Signal;
use crate::observe::Mono;

/// Ends that count.
const ENDS: usize = 5;
/// So many of them have to be lapses in use.
const LAPSES: usize = 3;

/// The last ends of a lock.
#[derive(Clone, Debug, Default)]
pub struct Lapses {
    last: VecDeque<Ended>,
}

/// An end.
#[derive(Clone, Copy, Debug)]
struct Ended {
    at: Mono,
    is_lapse: bool,
    is_in_use: bool,
}

impl Lapses {
    /// Takes an end. A lapse is one in use if somebody wanted the lock: its holder, or who takes it next.
    pub fn ended(&mut self, at: Mono, is_lapse: bool, is_wanted: bool) {
        if self.last.len() == ENDS {
            self.last.pop_front();
        }
        self.last.push_back(Ended { at, is_lapse, is_in_use: is_lapse && is_wanted });
    }

    /// The lock was taken, having been free since `since` at the latest.
    pub fn taken(&mut self, since: Mono) {
        if let Some(last) = self.last.back_mut().filter(|e| e.is_lapse && e.at >= since) {
            last.is_in_use = true;
        }
    }

    fn is_up(&self) -> bool {
        self.last.iter().filter(|e| e.is_in_use).count() >= LAPSES
    }
}

impl Lock {
    pub(super) fn judge_lapses(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let value = (!self.ends_by_expiry()).then(|| self.lapses.is_up());
        let detail = || "its leases run out while it is in use".to_owned();
        self.signal(Signal::LeaseLapsesInUse, value, c.seen.span.done, detail, fx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_the_last_five_ends_have_to_be_lapses_in_use() {
        let at = |s: u64| Mono(s * 1_000_000_000);
        let mut l = Lapses::default();
        for k in 0..9 {
            l.ended(at(k), true, false);
        }
        assert!(!l.is_up(), "nobody wanted it");
        l.ended(at(10), true, true);
        l.ended(at(11), true, false);
        l.taken(at(11));
        l.ended(at(12), false, true);
        l.taken(at(12));
        assert!(!l.is_up());
        l.ended(at(13), true, false);
        l.taken(at(14));
        assert!(!l.is_up(), "taken long after");
        l.ended(at(15), true, true);
        assert!(l.is_up());
        l.ended(at(16), false, false);
        assert!(!l.is_up());
    }
}
