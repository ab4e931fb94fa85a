//! Keys that patterns find, and those that go: what the supervisor tells of them, and the list that all nodes read.

use tracing::warn;

use super::{Closed, Supervisor};
use crate::clock;
use crate::observe::{KeyId, Line, Observation};

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
            self.publish();
        }
        Ok(())
    }
}
