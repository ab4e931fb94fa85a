//! A lock whose key went to another line of its store: a slot was moved to another shard of a cluster. The record breaks
//! there, and nothing more. Its holder goes on holding, and no counter of one server is compared with another server's.

use super::{Lock, Phase};
use crate::derive::tenure::{Marks, Tenure};
use crate::derive::wanted::{Effects, Weight};
use crate::observe::Found;
use crate::observe::lock::{BatchRead, KeyRead};

impl Lock {
    /// Takes it that another line's primary shows the key; `now` are that one's counters. False if what it showed is to be
    /// passed over: it is not about now, or says nothing of the key.
    pub(in crate::derive) fn moves(
        &mut self,
        batch: &BatchRead,
        read: &KeyRead,
        now: Marks,
        fx: &mut Effects,
    ) -> bool {
        let Some(seen) = &mut self.seen else {
            self.line = batch.node.line;
            return true;
        };
        // Both lines may answer while the slot moves: the last one that was asked knows better.
        if matches!(read.found, Found::Unreadable(_)) || batch.span.sent < seen.span.done {
            return false;
        }
        self.line = batch.node.line;
        seen.marks = of_line(seen.marks, now);
        match &mut self.phase {
            Phase::Held(tenure) => rebase(tenure, now),
            Phase::Shared(crowd) => crowd.tenures_mut().for_each(|t| rebase(t, now)),
            _ => {}
        }
        for end in self.pending.iter_mut().filter(|end| !end.is_failover()) {
            // The server that could tell how it came is not asked any more.
            end.is_broken = true;
            (end.last.marks, end.gone.marks) = (of_line(end.last.marks, now), now);
        }
        // Offsets and clocks of one line say nothing of another's.
        self.sights = [None, None];
        self.unreplicated = None;
        self.replicas.clear();
        self.rivals.clear();
        self.let_go = Default::default();
        // Of several keys some may go before the others.
        if self.spread.is_none() {
            let detail = format!("its key is in another shard now, read from {}", batch.node.addr);
            self.note(batch.span.done, "moved", &detail, Weight::Routine, fx);
        }
        true
    }
}

/// The counters of a read before the move, as if the new line had been read then: nothing happened there that concerns this
/// lock. Only the number of breaks stays, which no two lines share.
fn of_line(before: Marks, now: Marks) -> Marks {
    Marks { breaks: before.breaks, ..now }
}

fn rebase(tenure: &mut Tenure, now: Marks) {
    tenure.last.marks = of_line(tenure.last.marks, now);
    tenure.first.marks = of_line(tenure.first.marks, now);
    tenure.write.marks = of_line(tenure.write.marks, now);
    tenure.write.shown.marks = of_line(tenure.write.shown.marks, now);
    // The time left is what moves; on another clock its end is another, and reads around it are asked for anew.
    tenure.acquired_after = None;
    tenure.aligned = None;
    tenure.due_asked = None;
    tenure.growth.forget();
}
