//! Whether the hold count of a re-entrant owner only ever grows: it will never let go.

use std::time::Duration;

use super::{Lock, Phase, ReadContext};
use crate::derive::wanted::Effects;
use crate::derive::words::Signal;
use crate::observe::Mono;

/// A window has this many polls at least: the lowest of one or two reads is not the lowest there was.
const POLLS: u32 = 3;

/// The lowest hold counts of successive lease lengths.
#[derive(Clone, Debug, Default)]
pub struct Creep {
    /// When the present window began and when it was last read, with its lowest count.
    now: Option<(Mono, Mono, u64)>,
    /// The lowest counts of the last three windows that ended.
    past: [Option<u64>; 3],
}

impl Creep {
    /// Takes a hold count.
    fn read(&mut self, count: u64, at: Mono, window: Duration) {
        let Some((begun, last, lowest)) = self.now else {
            self.now = Some((at, at, count));
            return;
        };
        if at.since(last) >= window {
            // A whole window was not looked at.
            *self = Self { now: Some((at, at, count)), past: [None; 3] };
        } else if at.since(begun) >= window {
            self.past = [self.past[1], self.past[2], Some(lowest)];
            self.now = Some((at, at, count));
        } else {
            self.now = Some((begun, at, lowest.min(count)));
        }
    }

    /// The same count again, within the window.
    pub(super) fn goes_on(&mut self, at: Mono) {
        if let Some((_, last, _)) = &mut self.now {
            *last = at;
        }
    }

    /// When the present window began.
    pub(super) fn begun(&self) -> Option<Mono> {
        self.now.map(|(begun, ..)| begun)
    }

    fn is_up(&self) -> bool {
        matches!(self.past, [Some(a), Some(b), Some(c)] if a < b && b < c)
    }
}

/// In what time the lowest hold count is looked for.
pub(super) fn window(lease: Duration, poll: Duration) -> Duration {
    lease.max(poll * POLLS)
}

impl Lock {
    /// Whether the window does not end with a read at that instant.
    pub(super) fn creep_goes_on(&self, at: Mono, window: Duration) -> bool {
        let begun = self.tenure().and_then(|t| Some(t.creep.now?.0));
        begun.is_some_and(|begun| at.since(begun) < window)
    }

    pub(super) fn judge_creep(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let now = c.seen.span.done;
        let lease = self.lease().map(|(l, _)| Duration::from_micros(l.max(0).unsigned_abs()));
        let value = match (&mut self.phase, lease) {
            (Phase::Held(tenure), Some(lease)) => {
                tenure.creep.read(tenure.count, now, window(lease, c.poll));
                Some(tenure.creep.is_up())
            }
            (Phase::Held(tenure), None) => (tenure.count <= 1).then_some(false),
            _ => Some(false),
        };
        let count = self.tenure().map_or(0, |t| t.count);
        let detail = || format!("its hold count rises and rises, {count} now");
        self.signal(Signal::HoldCountCreep, value, now, detail, fx);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(30);

    fn run(counts: impl Iterator<Item = u64>) -> Vec<bool> {
        let mut creep = Creep::default();
        counts
            .enumerate()
            .map(|(k, count)| {
                creep.read(count, Mono(k as u64 * 2_000_000_000), WINDOW);
                creep.is_up()
            })
            .collect()
    }

    #[test]
    fn a_count_that_grows_through_three_leases_creeps() {
        let up = run((0..100).map(|k| 1 + k / 10));
        assert_eq!(up.iter().position(|u| *u), Some(45));
        assert!(!run((0..200).map(|k| 1 + (k % 10))).iter().any(|u| *u), "it comes down each time");
        assert!(!run((0..200).map(|k| 1 + u64::from(k > 20) + u64::from(k > 40))).last().unwrap());
    }

    #[test]
    fn a_window_that_nobody_looked_at_starts_afresh() {
        let mut creep = Creep::default();
        let at = |s: u64| Mono(s * 1_000_000_000);
        for k in 0..3 {
            creep.read(k + 1, at(40 * k), WINDOW);
            creep.read(k + 1, at(40 * k + 20), WINDOW);
        }
        creep.read(9, at(200), WINDOW);
        assert_eq!(creep.past, [None; 3]);
    }

    proptest! {
        #[test]
        fn an_owner_that_lets_go_to_one_within_each_lease_never_creeps(seed: u64) {
            let mut x = seed | 1;
            let counts = (0..300u64).map(|k| {
                x ^= x << 13; x ^= x >> 7; x ^= x << 17;
                if k.is_multiple_of(7) { 1 } else { 1 + x % 50 }
            });
            prop_assert!(run(counts).iter().all(|up| !up));
        }
    }
}
