//! What a lock with many holders has of each: signals, and looks at the workers that hold it.

use super::{Lock, Phase};
use crate::derive::tenure::Tenure;
use crate::derive::wanted::Effects;
use crate::derive::words::{LivenessSource, Signal};
use crate::derive::workers::Workers;
use crate::observe::{Mono, Span};

/// Signals that each holder has for itself; the lock has them if one of its holders has.
const OF_HOLDERS: [Signal; 9] = [
    Signal::HolderStale,
    Signal::RenewalAfterLostLiveness,
    Signal::RenewalOverdue,
    Signal::LeaseWithoutTtl,
    Signal::HeldTooLong,
    Signal::HolderUnexpected,
    Signal::LeaseShorterThanStall,
    Signal::LeaseAbsurd,
    Signal::HoldCountCreep,
];

impl Lock {
    /// After a look at a worker.
    pub fn looked(
        &mut self,
        worker: &str,
        source: LivenessSource,
        span: Span,
        workers: &Workers,
        fx: &mut Effects,
    ) {
        self.each_of(worker, span.done, fx, |lock, fx| {
            lock.judge_holder_at_look(source, span, workers, fx);
        });
    }

    /// After a look that says something of all its holders.
    pub fn looked_by_all(
        &mut self,
        source: LivenessSource,
        span: Span,
        workers: &Workers,
        fx: &mut Effects,
    ) {
        self.each(
            |_| true,
            span.done,
            fx,
            |lock, fx| {
                lock.judge_holder_at_look(source, span, workers, fx);
            },
        );
    }

    /// Runs for each tenure of a worker as if it were the only one.
    pub(in crate::derive) fn each_of(
        &mut self,
        worker: &str,
        at: Mono,
        fx: &mut Effects,
        judge: impl FnMut(&mut Lock, &mut Effects),
    ) {
        self.each(|t| t.worker().is_some_and(|w| **w == *worker), at, fx, judge);
    }

    fn each(
        &mut self,
        is_meant: impl Fn(&Tenure) -> bool,
        at: Mono,
        fx: &mut Effects,
        mut judge: impl FnMut(&mut Lock, &mut Effects),
    ) {
        if !matches!(self.phase, Phase::Shared(_)) {
            judge(self, fx);
            return;
        }
        let mut crowd = self.take_crowd();
        for member in &mut crowd.members {
            if member.tenure().is_some_and(&is_meant) {
                self.stand_in(member);
                judge(self, fx);
                self.stand_in(member);
            }
        }
        self.is_aligned = true;
        self.phase = Phase::Shared(Box::new(crowd));
        self.merge(at, fx);
    }

    /// The lock has what one of its holders has; it has not what none of them has; else it is not known.
    pub(super) fn merge(&mut self, at: Mono, fx: &mut Effects) {
        let mut raised = self.raised.take().unwrap_or_default();
        for signal in OF_HOLDERS {
            let Phase::Shared(crowd) = &self.phase else { return };
            let mut value = any(crowd.members.iter().map(|m| m.signals.get(signal)));
            if crowd.members.is_empty() {
                // Who they are is still to be read.
                value = self.signals.get(signal);
            }
            let is_shown = self.overdue_until.is_some_and(|until| at < until);
            if signal == Signal::RenewalOverdue && is_shown {
                value = Some(true);
            }
            let why = raised.iter().position(|(s, _)| *s == signal).map(|i| raised.swap_remove(i));
            self.signal(signal, value, at, || why.map(|(_, w)| w).unwrap_or_default(), fx);
        }
    }
}

fn any(each: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut all_known = true;
    for one in each {
        match one {
            Some(true) => return Some(true),
            Some(false) => {}
            None => all_known = false,
        }
    }
    all_known.then_some(false)
}
