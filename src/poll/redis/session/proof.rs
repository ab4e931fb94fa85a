//! What a sweep may leave unread: asks the line's event feed to prove that it was whole, and falls back to reading all at once
//! when it was not. The first sweep of a connection, and any of a replica, reads all.
//!
//! What a feed proves is of the instant of a read without keys, the probe. No other read is told between the two, or one
//! would be told after another that is younger.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Session;
use crate::clock;
use crate::observe::{Mono, Observation};
use crate::poll::redis::messages::End;
use crate::poll::redis::pace::Stage;
use crate::poll::redis::silence::Proof;
use crate::poll::redis::task::NodeTask;
use crate::poll::redis::unchanged::Proven;

/// An answer usually takes a millisecond: so long it is worth more than any other read.
const HOLD: Duration = Duration::from_millis(10);
/// Questions of one sweep at most, if other reads come between each and its answer.
const MOST_TRIES: u32 = 5;

impl Session<'_> {
    fn is_primary(&self) -> bool {
        self.task.scans.load(Ordering::Relaxed)
    }

    /// Since when the feed of this node is whole.
    fn feed(&self) -> Option<Mono> {
        let server = self.task.sweeper.run_id.as_ref()?;
        self.task.silence.since(server).filter(|_| self.is_primary())
    }

    fn proof_until(&self, until: Mono) -> Proof {
        let server = self.task.sweeper.run_id.as_deref();
        server.map_or(Proof::Lost, |server| self.task.silence.proof(server, until))
    }

    /// Whether the feed is another than when the last sweep began: it was lost, came back, or could not name what changed.
    /// All is read at once then. One that comes and goes costs no more than one that is away.
    pub(super) fn is_feed_another(&self, now: Mono) -> bool {
        let interval = self.task.context.settings.poll_interval;
        self.whole_since != self.feed()
            && self.read_all_at.is_none_or(|at| now.since(at) >= interval)
    }

    /// A sweep begins: what the feed is by now, and how soon new keys have to be looked for.
    pub(super) fn note_feed(&mut self) {
        self.whole_since = self.feed();
        if !self.is_primary() {
            return;
        }
        let NodeTask { sweeper, silence, scan, context, .. } = &mut *self.task;
        let server = sweeper.run_id.clone().unwrap_or_default();
        sweeper.note_changes(silence.take_changed(&server));
        scan.pace(silence.since_for_new(&server), context.settings.sweep_interval);
    }

    /// Whether an answer is so near that no other read comes before it.
    pub(super) fn holds(&self, now: Mono) -> bool {
        let stage = self.sweep.as_ref().map(|s| &s.stage);
        matches!(stage, Some(Stage::Asked { at, .. }) if now.since(*at) < HOLD)
    }

    /// Something was read: what was asked before proves nothing that could still be told.
    pub(super) fn ask_anew(&mut self) {
        if let Some(sweep) = &mut self.sweep
            && matches!(sweep.stage, Stage::Asked { .. })
        {
            sweep.tries += 1;
            (sweep.stage, sweep.server) = (Stage::New, None);
            if sweep.tries >= MOST_TRIES {
                sweep.stage = Stage::Settled;
                self.read_all_at = Some(sweep.begun);
            }
        }
    }

    /// Whether the sweep under way waits for a proof that has come, or will not.
    pub(super) fn is_answered(&self) -> bool {
        match self.sweep.as_ref().map(|s| &s.stage) {
            Some(Stage::Asked { probe, .. }) => self.proof_until(probe.span.done) != Proof::Waits,
            _ => false,
        }
    }

    /// Finds out what the sweep under way has to read; false while that is waited for.
    pub(super) async fn settle_what_to_read(&mut self) -> Result<bool, End> {
        let stage = self.sweep.as_mut().map(|s| std::mem::replace(&mut s.stage, Stage::Settled));
        match stage {
            Some(Stage::New) => self.ask_for_proof().await.map(|asked| !asked),
            Some(Stage::Asked { probe, at, until }) => {
                let proof = self.proof_until(probe.span.done);
                let Some(sweep) = &mut self.sweep else { return Ok(true) };
                if proof == Proof::Waits && clock::mono() < until {
                    sweep.stage = Stage::Asked { probe, at, until };
                    return Ok(false);
                }
                let NodeTask { sweeper, silence, context, .. } = &mut *self.task;
                let mut sparse = None;
                if let Proof::Since(since, last) = proof {
                    let server = sweeper.run_id.clone().unwrap_or_default();
                    sweeper.note_changes(silence.take_changed(&server));
                    sparse = sweeper.divide(*probe, Proven { since, last });
                }
                sweep.server =
                    sweep.server.filter(|_| sparse.as_ref().is_some_and(|s| s.is_idle()));
                if sparse.is_none() {
                    self.read_all_at = Some(sweep.begun);
                }
                while let Some(told) = sparse.as_mut().and_then(|s| sweeper.tell_some(s)) {
                    context.out.send(told).await.map_err(|_| End::Stop)?;
                }
                sweep.sparse = sparse;
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// Asks, if there is a feed; whether it did. The facts are read in between: a count in them tells of what feeds do not.
    async fn ask_for_proof(&mut self) -> Result<bool, End> {
        let begun = clock::mono();
        let probe = match self.feed() {
            Some(_) => self.task.sweeper.probe(&mut self.conn).await?,
            None => None,
        };
        let Some(probe) = probe else {
            self.read_all_at = Some(begun);
            return Ok(false);
        };
        self.task.send(Observation::Batch(probe.clone())).await?;
        let server = self.read_facts().await?;
        self.task.silence.ask();
        let at = clock::mono();
        let until = at.plus(self.task.context.store.response_timeout);
        if let Some(sweep) = &mut self.sweep {
            sweep.server = server;
            sweep.busy += at.since(begun);
            sweep.stage = Stage::Asked { probe: Box::new(probe), at, until };
        }
        Ok(true)
    }
}
