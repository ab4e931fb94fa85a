//! What was refused beside locks, and for how long it is left alone: each refusal raises the server's error counters and
//! fills its ACL log. Usually the ACL user may read the locks' own prefix and no other, so all companions of one kind fare
//! the same: after a few refusals in a row the whole kind is left alone. Pure.

use std::collections::HashMap;

use crate::observe::Mono;
use crate::observe::lock::Tells;
use crate::poll::redis::ability::RETRY_REFUSED;

/// Refusals in a row after which all companions of a kind are left alone.
const IN_A_ROW: u32 = 8;

/// Companions of one format that tell the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// The format's name.
    pub format: &'static str,
    bit: u8,
}

impl Kind {
    /// The kind of a companion.
    pub fn of(format: &'static str, tells: Tells) -> Self {
        let bit = match tells {
            Tells::FencingToken => 1,
            Tells::Waiters => 2,
            Tells::Worker => 4,
            Tells::HolderExpiry(_) => 8,
            Tells::Stalled => 16,
            Tells::Holders => 32,
        };
        Self { format, bit }
    }
}

/// What was refused of one lock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refused {
    bits: u8,
    since: Mono,
}

impl Refused {
    /// Whether companions of this kind are left alone.
    pub fn covers(self, kind: Kind, now: Mono) -> bool {
        self.bits & kind.bit != 0 && now.since(self.since) < RETRY_REFUSED
    }

    /// One was refused.
    pub fn add(&mut self, kind: Kind, now: Mono) {
        if self.bits == 0 || now.since(self.since) >= RETRY_REFUSED {
            *self = Self { bits: 0, since: now };
        }
        self.bits |= kind.bit;
    }
}

/// Kinds by how they fare. Bounded by the number of formats.
#[derive(Default)]
pub struct Refusals {
    kinds: HashMap<Kind, Row>,
}

#[derive(Default)]
struct Row {
    length: u32,
    since: Mono,
    is_told: bool,
}

impl Refusals {
    /// Whether a kind is left alone.
    pub fn covers(&self, kind: Kind, now: Mono) -> bool {
        let row = self.kinds.get(&kind);
        row.is_some_and(|r| r.length >= IN_A_ROW && now.since(r.since) < RETRY_REFUSED)
    }

    /// One of a kind was refused. True when the kind is left alone from now on and that was not told yet.
    pub fn refused(&mut self, kind: Kind, now: Mono) -> bool {
        let row = self.kinds.entry(kind).or_default();
        row.length = row.length.saturating_add(1);
        row.since = now;
        row.length >= IN_A_ROW && !std::mem::replace(&mut row.is_told, row.length >= IN_A_ROW)
    }

    /// One of a kind was answered.
    pub fn answered(&mut self, kind: Kind) {
        self.kinds.remove(&kind);
    }

    /// Rights may have been granted.
    pub fn forget(&mut self) {
        self.kinds.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { format: "a", bit: 2 };
    const OTHER: Kind = Kind { format: "a", bit: 4 };

    #[test]
    fn a_kind_that_is_always_refused_is_left_alone_and_told_once() {
        let (mut r, now) = (Refusals::default(), Mono::from_secs_f64(1000.0));
        let told = (0..20).filter(|_| r.refused(KIND, now)).count();
        assert_eq!(told, 1);
        assert!(r.covers(KIND, now) && !r.covers(OTHER, now));
        let later = now.plus(RETRY_REFUSED);
        assert!(!r.covers(KIND, later), "tried again");
        assert!(!r.refused(KIND, later) && r.covers(KIND, later), "one more is enough then");
        r.answered(KIND);
        assert!(!r.covers(KIND, later) && !r.refused(KIND, later));
    }

    #[test]
    fn a_lock_remembers_what_was_refused() {
        let (mut r, now) = (Refused::default(), Mono::from_secs_f64(1000.0));
        assert!(!r.covers(KIND, now));
        r.add(KIND, now);
        assert!(r.covers(KIND, now) && !r.covers(OTHER, now));
        r.add(OTHER, now.plus(RETRY_REFUSED));
        assert!(!r.covers(KIND, now.plus(RETRY_REFUSED)), "the first may be tried again");
    }
}
