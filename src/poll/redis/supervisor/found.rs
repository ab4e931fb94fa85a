//! Keys that patterns find, and those that go: what the supervisor tells of them, and the list that all nodes read.

use std::time::Duration;

use tracing::warn;

use super::{Closed, Supervisor};
use crate::clock;
use crate::observe::{KeyId, Line, Mono, Observation};

/// When the list of keys is handed out. Each time costs as much as there are keys, and SCAN brings a few hundred at a time.
#[derive(Default)]
pub(super) struct Listing {
    is_due: bool,
    /// When that was last done.
    at: Mono,
}

/// Between two lists, for each key: a small part of the time goes into them.
const PAUSE_NANOS: u64 = 1000;

impl Listing {
    /// How long it has to wait, if it is due.
    pub(super) fn until(&self, now: Mono, keys: usize) -> Option<Duration> {
        let keys = u64::try_from(keys).unwrap_or(u64::MAX);
        let pause = Duration::from_nanos(PAUSE_NANOS.saturating_mul(keys));
        self.is_due.then(|| pause.saturating_sub(now.since(self.at)))
    }
}

impl Supervisor {
    /// SCAN saw these keys in a line; `is_last` if they are the last of a round there.
    pub(super) async fn found(
        &mut self,
        line: Line,
        found: Vec<Vec<u8>>,
        is_last: bool,
    ) -> Result<(), Closed> {
        let found = self.own(line, found);
        let mut told: Vec<Observation> =
            found.iter().filter_map(|key| self.keys.offer(key)).collect();
        if std::mem::take(&mut self.keys.has_turned_away) {
            // Only SCAN will meet them again.
            self.context.silence(line).missed(clock::mono());
        }
        told.extend(self.keys.take_gave_way());
        self.tell_of_keys(told).await?;
        if is_last && self.rounds.end(line, self.primaries.keys().copied()) {
            let is_whole = self.rounds.turn(&self.lines());
            let told = self.keys.cycle_done(is_whole);
            self.tell_of_keys(told).await?;
            for full in self.keys.full.take() {
                warn!(store = %self.context.store.name, pattern = %full.pattern,
                    max_locks = full.max_locks, left_out = full.left_out,
                    "more keys match this pattern than `max_locks` lets be watched; the others are only counted, in dlock_locks_dropped");
            }
        }
        Ok(())
    }

    /// These were away from a line for as long as they may be. A key may lie in any line that has a primary.
    pub(super) async fn gone(&mut self, line: Line, ids: Vec<KeyId>) -> Result<(), Closed> {
        let (keys, settings) = (&mut self.keys, &self.context.settings);
        let now = clock::mono();
        // In a cluster only one line has it: the one that is asked for it.
        let is_alone = self.cluster.is_some();
        let holders = || self.primaries.keys().copied().filter(|l| !is_alone || *l == line);
        let told = ids
            .into_iter()
            .filter_map(|id| keys.gone(id, line, holders(), settings, now))
            .collect();
        self.tell_of_keys(told).await
    }

    /// Tells, and hands the nodes another list if it is another.
    async fn tell_of_keys(&mut self, told: Vec<Observation>) -> Result<(), Closed> {
        let is_list = |o: &Observation| {
            matches!(o, Observation::KeyWatched(_) | Observation::KeyForgotten { .. })
        };
        let is_changed = told.iter().any(is_list);
        for observation in told {
            self.send(observation).await?;
        }
        if is_changed {
            self.listing.is_due = true;
            self.list_in_time();
        }
        Ok(())
    }

    /// Hands out a list that is due, unless the last one was only just.
    pub(super) fn list_in_time(&mut self) {
        let now = clock::mono();
        if self.listing.until(now, self.keys.len()).is_some_and(|left| left.is_zero()) {
            self.listing = Listing { is_due: false, at: now };
            self.publish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_keys_there_are_the_longer_a_list_waits() {
        let now = Mono(5_000_000_000);
        let mut listing = Listing::default();
        assert_eq!(listing.until(now, 1_000_000), None, "nothing has changed");
        listing.is_due = true;
        assert_eq!(listing.until(now, 1_000_000), Some(Duration::ZERO));
        listing.at = now.minus(Duration::from_millis(1));
        assert_eq!(listing.until(now, 1000), Some(Duration::ZERO));
        assert_eq!(listing.until(now, 1_000_000), Some(Duration::from_millis(999)));
    }
}
