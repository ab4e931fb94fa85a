//! A lock server's clock that stands still, as a debugger, a snapshot or a shim makes it, and that runs again. Must not
//! take a step back for a standstill for longer than one reading.

use super::{NodeClock, micros};
use crate::observe::{Mono, ServerTime, Span};

/// Two readings closer than this do not tell whether a clock runs: Valkey 9 looks at its clock once in a turn of its event loop and
/// counts on from there by another one, so that `TIME` advances within a turn even while the clock stands.
const STANDSTILL_MICROS: i64 = 20_000;

impl NodeClock {
    /// Whether `TIME` has not advanced since the reading before, or since it was seen to stand. A step back by just the
    /// time between two readings looks the same in the first of them: what it is, the next one tells, by the offset
    /// from before it stood.
    pub(super) fn stands_still(&mut self, time: ServerTime, span: Span) -> bool {
        let since = self.stood.map(|(t, s, _)| (t, s)).or(self.last);
        let Some((t, s)) = since else { return false };
        let theirs = time.micros_since(t).saturating_abs();
        let least = micros(span.sent) - micros(s.done);
        let most = micros(span.done) - micros(s.sent);
        match self.stood {
            None if least > STANDSTILL_MICROS && theirs < least / 10 => {
                self.stood = Some((time, span, self.offset));
                true
            }
            None => false,
            Some((_, _, before)) if theirs < least / 10 => {
                self.stood = Some((time, span, before));
                true
            }
            Some(_) if theirs < STANDSTILL_MICROS.max(most / 2) => true,
            Some((_, _, before)) => {
                self.stood = None;
                self.running_since = Some(span.done);
                self.offset = before;
                false
            }
        }
    }

    /// Whether the last reading was of a clock that stood: nothing about leases can be judged by it.
    pub fn is_standing(&self) -> bool {
        self.stood.is_some() || self.frozen == Some(true)
    }

    /// Whether the clock stood at some time after `at`: a renewal then sets the same E again, so that nobody sees it.
    pub fn stood_after(&self, at: Mono) -> bool {
        self.running_since.is_some_and(|since| since > at)
    }

    /// Not before this instant could a write be seen, if the clock stood since `at`.
    pub fn blind_until(&self, at: Mono) -> Mono {
        self.running_since.map_or(at, |since| since.max(at))
    }
}
