//! Verdicts that join the lock with its holder's liveness. Each rests on an order of reads: a loss proves a stale
//! holder only by a read of the key that began after the loss was shown, and a renewal came after the loss only if it
//! lies between two looks that both show it.

use super::{Lock, Phase, ReadContext};
use crate::config::TokenKind;
use crate::derive::fresh::is_fresh;
use crate::derive::loss::Loss;
use crate::derive::tenure::Tenure;
use crate::derive::wanted::Effects;
use crate::derive::words::{Liveness, LivenessSource, Signal};
use crate::derive::workers::Workers;
use crate::observe::{Expiry, Mono, Span};

/// A holder's liveness by all its sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The worst.
    pub liveness: Liveness,
    /// Loss by its process, and by its heartbeat.
    pub process: Option<Loss>,
    /// See `process`.
    pub heartbeat: Option<Loss>,
    /// By the list that should name it.
    pub list: Option<Loss>,
}

impl Judged {
    /// Nothing is known.
    pub const UNKNOWN: Judged =
        Judged { liveness: Liveness::Unknown, process: None, heartbeat: None, list: None };

    /// When liveness was lost first.
    pub fn lost_since(&self) -> Option<Mono> {
        self.losses().map(|l| l.since).min()
    }

    fn losses(&self) -> impl Iterator<Item = Loss> {
        [self.process, self.heartbeat, self.list].into_iter().flatten()
    }
}

impl Lock {
    /// Liveness of the present holder by all its sources.
    pub(super) fn holder(&self, workers: &Workers, now: Mono) -> Option<Judged> {
        self.tenure().map(|t| self.judged(t, workers, now))
    }

    /// Liveness of the holder of one of its tenures.
    pub fn judged(&self, tenure: &Tenure, workers: &Workers, now: Mono) -> Judged {
        let mut judged = self.judged_as_worker(tenure, workers, now);
        // A list names what the token names, which need not be a worker.
        let (liveness, loss) = workers.lists.verdict(self, tenure, now);
        judged.liveness = judged.liveness.min(liveness);
        judged.list = loss;
        // What another source says does not undo a loss that is only not read again in time: it is not judged until it is.
        if judged.losses().next().is_none() && self.has_unread_loss(tenure, workers) {
            judged.liveness = Liveness::Unknown;
        }
        judged
    }

    /// Its process or its heartbeat showed a loss when it was read last, whenever that was.
    fn has_unread_loss(&self, tenure: &Tenure, workers: &Workers) -> bool {
        let (Some(name), Some(owner)) = (tenure.worker(), &tenure.owner) else { return false };
        let Some((worker, group, _)) = workers.with_group(name) else { return false };
        let beat = worker.heartbeat.loss().filter(|_| group.heartbeat.is_some());
        let process = worker.processes_of(owner.pid, group).and_then(|p| p.loss());
        beat.and_then(|l| l.seen_again(tenure.beat_looked)).is_some()
            || process.and_then(|l| l.seen_again(tenure.process_looked)).is_some()
    }

    fn judged_as_worker(&self, tenure: &Tenure, workers: &Workers, now: Mono) -> Judged {
        let (Some(name), Some(owner)) = (tenure.worker(), &tenure.owner) else {
            return Judged::UNKNOWN;
        };
        let Some((worker, group, rules)) = workers.with_group(name) else { return Judged::UNKNOWN };
        let mut judged = Judged::UNKNOWN;
        // What was not read for three intervals says nothing any more, though it is kept for the next read.
        let is_recent = |done| is_fresh(done, now, rules.poll);
        let beat = Some(&worker.heartbeat)
            .filter(|h| group.heartbeat.is_some() && is_recent(h.last_read()));
        if let Some(beat) = beat {
            judged.heartbeat = beat.loss().and_then(|l| l.seen_again(tenure.beat_looked));
            if beat.loss().is_none() || judged.heartbeat.is_some() {
                judged.liveness = beat.liveness(rules);
            }
        }
        let processes = worker.processes_of(owner.pid, group);
        if let Some(processes) = processes.filter(|p| is_recent(p.last_span().map(|s| s.done))) {
            judged.process = processes.loss().and_then(|l| l.seen_again(tenure.process_looked));
            if processes.loss().is_none() || judged.process.is_some() {
                judged.liveness = judged.liveness.min(processes.liveness());
            }
            // Where the token names the pid, the process must be older than the tenure; where only the worker is
            // named, or the token may be used again, older than the last write that it can have made.
            let kind = self.kind_of(tenure);
            let is_pid_bound = owner.pid.is_some() && kind == TokenKind::PerAcquire;
            let bound =
                if is_pid_bound { tenure.first.span.done } else { tenure.write.shown.span.done };
            let replaced = tenure.replaced.or_else(|| {
                processes.all_started_after(bound).map(|at| Loss { since: at, shown: at })
            });
            if let Some(loss) = replaced.filter(|_| judged.process.is_none()) {
                judged.liveness = judged.liveness.min(Liveness::Replaced);
                judged.process = Some(loss);
            }
        }
        judged
    }

    /// After a read of the key.
    pub(super) fn judge_holder_at_read(
        &mut self,
        c: &ReadContext<'_>,
        workers: &Workers,
        fx: &mut Effects,
    ) {
        let now = c.seen.span.done;
        let Some(judged) = self.holder(workers, now) else {
            self.signal(Signal::HolderStale, Some(false), now, String::new, fx);
            self.signal(Signal::RenewalAfterLostLiveness, Some(false), now, String::new, fx);
            return;
        };
        self.latch_replacement(judged);
        let is_alive_key = match self.tenure().map(|t| t.expiry) {
            Some(Expiry::At(e)) => c.seen.time <= e,
            _ => true,
        };
        let was_stale = self.tenure().is_some_and(|t| t.is_stale);
        let is_shown = judged.losses().any(|l| was_stale || l.shown <= c.seen.span.sent);
        let is_stale = is_alive_key && is_shown;
        self.set_holder_signals(judged, is_stale, workers, now, fx);
    }

    /// After a look at the holder. `span` is that look's.
    pub fn judge_holder_at_look(
        &mut self,
        source: LivenessSource,
        span: Span,
        workers: &Workers,
        fx: &mut Effects,
    ) {
        self.remember_look(source, span, workers);
        let Some(judged) = self.holder(workers, span.done) else { return };
        self.latch_replacement(judged);
        self.close_renewals(judged, source, span, workers);
        // A look cannot make a holder stale, only a read of the key after it; but it can end it. Nor can it say of a
        // loss that was not judged for a while that all is well.
        let is_judged = self.signals.get(Signal::HolderStale).is_some();
        if !is_judged && judged.losses().next().is_some() && !self.ends_by_expiry() {
            self.want_read(Mono(0), fx);
            return;
        }
        let is_stale = self.signals.is_up(Signal::HolderStale) && judged.losses().next().is_some();
        self.set_holder_signals(judged, is_stale, workers, span.done, fx);
        if judged.losses().any(|l| l.shown == span.done) {
            self.want_read(Mono(0), fx);
        }
    }

    fn set_holder_signals(
        &mut self,
        judged: Judged,
        is_stale: bool,
        workers: &Workers,
        now: Mono,
        fx: &mut Effects,
    ) {
        let is_token_ambiguous = self.is_token_ambiguous(workers);
        let can_judge = judged.liveness != Liveness::Unknown && !self.ends_by_expiry();
        let Phase::Held(tenure) = &mut self.phase else { return };
        tenure.is_stale = is_stale;
        if judged.process.is_none() {
            tenure.renewed_after_process = false;
        }
        if judged.heartbeat.is_none() && workers.has_returned(tenure.worker()) {
            tenure.renewed_after_beat = false;
        }
        let is_after = tenure.renewed_after_process || tenure.renewed_after_beat;
        // Who let go early need not live until the lease is over.
        let (is_stale, is_after) =
            if tenure.shortened { (false, false) } else { (is_stale, is_after) };
        let liveness = judged.liveness.as_str();
        // renewal_after implies stale: while a heartbeat's return is not confirmed, both stay.
        let stale = can_judge.then_some(is_stale || is_after);
        let after =
            can_judge.then_some(is_after).filter(|is_after| *is_after || !is_token_ambiguous);
        let detail = || format!("its holder is {liveness}");
        self.signal(Signal::HolderStale, stale, now, detail, fx);
        let detail = || format!("the lease was renewed although its holder is {liveness}");
        self.signal(Signal::RenewalAfterLostLiveness, after, now, detail, fx);
    }

    /// The first look that can show a loss which concerns this tenure.
    fn remember_look(&mut self, source: LivenessSource, span: Span, workers: &Workers) {
        let Phase::Held(tenure) = &mut self.phase else { return };
        let first = tenure.first.span.done;
        match source {
            LivenessSource::Process if span.sent >= first => {
                tenure.process_looked.get_or_insert(span.done);
            }
            LivenessSource::Heartbeat => {
                let wait = tenure.worker().map_or(0.0, |w| workers.frozen_after(w));
                if span.sent.secs_since(first) > wait {
                    tenure.beat_looked.get_or_insert(span.done);
                }
            }
            // A list has its own way to tell one tenure from another.
            LivenessSource::Process | LivenessSource::List => {}
        }
    }

    /// Counts the renewals that this look proves to have come after the loss.
    fn close_renewals(
        &mut self,
        judged: Judged,
        source: LivenessSource,
        span: Span,
        workers: &Workers,
    ) {
        if self.is_token_ambiguous(workers) || self.ends_by_expiry() {
            return;
        }
        let (loss, wait) = match source {
            LivenessSource::Process => (judged.process, std::time::Duration::ZERO),
            LivenessSource::Heartbeat => (judged.heartbeat, self.usual_beat(workers)),
            // That nobody lists it does not say since when it cannot have renewed.
            LivenessSource::List => return,
        };
        let Some(loss) = loss else { return };
        let Phase::Held(tenure) = &mut self.phase else { return };
        let mut proven = 0;
        for mark in &mut tenure.recent {
            let is_between = mark.earlier >= loss.since && span.sent >= mark.later.plus(wait);
            if is_between && !mark.is_counted {
                mark.is_counted = true;
                proven += 1;
            }
            if is_between && source == LivenessSource::Process {
                tenure.renewed_after_process = true;
            } else if is_between {
                tenure.renewed_after_beat = true;
            }
        }
        self.counts.renewals_after_loss += proven;
    }

    fn usual_beat(&self, workers: &Workers) -> std::time::Duration {
        self.tenure()
            .and_then(|t| t.worker())
            .map_or_else(Default::default, |w| workers.usual_beat(w))
    }

    /// With a reusable token another live process of that name may be the one that renews, lawfully.
    fn is_token_ambiguous(&self, workers: &Workers) -> bool {
        let Some(tenure) = self.tenure() else { return false };
        let kind = self.kind_of(tenure);
        let pid = tenure.owner.as_ref().and_then(|o| o.pid);
        kind == TokenKind::Reusable
            && tenure.worker().is_some_and(|w| workers.has_other_live(w, pid))
    }

    fn latch_replacement(&mut self, judged: Judged) {
        let kind = self.token_kind();
        if let Phase::Held(tenure) = &mut self.phase
            && judged.liveness == Liveness::Replaced
            && kind == TokenKind::PerAcquire
        {
            tenure.replaced = judged.process;
        }
    }
}
