//! A hint: a holder whose lease ran out while it was stopped or frozen comes back while another one holds the lock. It may go
//! on with its work, believing in a lease that is over; whether it does, nobody can see from outside.

use std::sync::Arc;

use super::proof::{Basis, Party, Proof};
use super::{Lock, Phase, ReadContext};
use crate::derive::ends::PendingEnd;
use crate::derive::fresh::is_fresh;
use crate::derive::wanted::Effects;
use crate::derive::words::{ContentionKind, Evidence, Liveness};
use crate::derive::workers::Workers;
use crate::observe::Mono;

/// Holders that are remembered.
const MOST: usize = 4;

/// A holder that stood still when its lease ran out.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    party: Party,
    worker: Arc<str>,
    pid: Option<i32>,
    was: Liveness,
    since: Mono,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nothing yet, as far as is known.
    Stands,
    /// It is no more, or another process has its name.
    Gone,
    /// It is back.
    Back,
}

impl Standing {
    fn fate(&self, workers: &Workers, now: Mono) -> Fate {
        let Some((worker, group, rules)) = workers.with_group(&self.worker) else {
            return Fate::Gone;
        };
        let is_recent = |done| is_fresh(done, now, rules.poll);
        let processes = worker.processes_of(self.pid, group);
        let processes = processes.filter(|p| is_recent(p.last_span().map(|s| s.done)));
        let process = processes.map(|p| p.liveness());
        if process == Some(Liveness::Dead)
            || processes.is_some_and(|p| p.all_started_after(self.since).is_some())
        {
            return Fate::Gone;
        }
        let beats = Some(&worker.heartbeat).filter(|h| is_recent(h.last_read()));
        let is_back = match self.was {
            Liveness::Stopped => process == Some(Liveness::Alive),
            _ => {
                process != Some(Liveness::Stopped)
                    && beats.is_some_and(|h| {
                        h.loss().is_none() && h.last_advance().is_some_and(|at| at > self.since)
                    })
            }
        };
        if is_back { Fate::Back } else { Fate::Stands }
    }
}

impl Lock {
    /// An end has its evidence.
    pub(super) fn note_standing(&mut self, end: &PendingEnd, evidence: Evidence) {
        let stood = matches!(end.liveness, Liveness::Stopped | Liveness::Frozen);
        let is_lapse = evidence == Evidence::Lapsed && !end.shortened && !end.ends_by_expiry;
        if !stood || !is_lapse || end.is_shared || !self.is_exclusive() {
            return;
        }
        let Some(worker) = end.claim.worker.clone() else { return };
        let list = &mut self.contested.standing;
        list.retain(|s| s.worker != worker);
        if list.len() >= MOST {
            list.remove(0);
        }
        list.push(Standing {
            party: end.party(),
            worker,
            pid: end.claim.pid,
            was: end.liveness,
            since: end.gone.span.done,
        });
    }

    /// After a read of the key.
    pub(super) fn judge_resumed(
        &mut self,
        c: &ReadContext<'_>,
        workers: &Workers,
        fx: &mut Effects,
    ) {
        let now = c.seen.span.done;
        let mut back = Vec::new();
        self.contested.standing.retain(|s| {
            let fate = s.fate(workers, now);
            if fate == Fate::Back {
                back.push(s.clone());
            }
            fate == Fate::Stands
        });
        for s in back {
            // Who got it in the same moment may have come before or after it.
            let Phase::Held(tenure) = &self.phase else { continue };
            let is_other =
                !tenure.owner.as_ref().is_some_and(|o| Some(&o.token) == s.party.token.as_ref())
                    && tenure.seat.named.as_ref() != Some(&s.worker);
            if !is_other || tenure.first.span.done >= now {
                continue;
            }
            let (kind, basis) = (ContentionKind::Resumed, Basis::Stood(s.was));
            let owners = vec![s.party, Party::of(tenure)];
            self.prove_standing(Proof { kind, at: now, owners, basis }, fx);
        }
    }
}
