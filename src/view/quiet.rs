//! Locks of groups that are only counted: what is told of all of them together, without a view of each. Of those at rest one
//! stands for all that are like it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::holder::{Holder, holders};
use super::{BLIND, Signal, coverage};
use crate::derive::State;
use crate::derive::fresh::is_fresh;
use crate::derive::lock::{Lock, Phase};
use crate::derive::store::rest::Class;
use crate::observe::{Mono, ServerTime};

/// What is counted of several locks.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    /// Held, free, and not known.
    pub held: u64,
    /// See `held`.
    pub free: u64,
    /// See `held`.
    pub unknown: u64,
    /// Not read lately.
    pub stale: u64,
    /// Of lines that are read: held and free.
    pub read: (u64, u64),
    /// Read lately, by signal: how many it can be judged of.
    judged: [u64; Signal::ALL.len()],
    /// The least that is left of a lease.
    pub remaining_min_seconds: Option<f64>,
    /// The oldest tenure.
    pub held_max_seconds: Option<f64>,
    /// By place in [`BLIND`].
    pub blind: [u64; BLIND.len()],
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            held: 0,
            free: 0,
            unknown: 0,
            stale: 0,
            read: (0, 0),
            judged: [0; Signal::ALL.len()],
            remaining_min_seconds: None,
            held_max_seconds: None,
            blind: [0; BLIND.len()],
        }
    }
}

/// The lesser of what is known.
pub(super) fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().reduce(f64::min)
}

/// The greater of what is known.
pub(super) fn greatest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().reduce(f64::max)
}

impl Sum {
    /// How many.
    pub fn count(&self) -> u64 {
        self.held + self.free + self.unknown
    }

    /// By signal that any of them can be judged for: none has it up.
    pub fn flagged(&self) -> impl Iterator<Item = Signal> {
        Signal::ALL.iter().zip(self.judged).filter(|(_, n)| *n > 0).map(|(s, _)| *s)
    }

    fn add(&mut self, more: &Sum) {
        self.held += more.held;
        self.free += more.free;
        self.unknown += more.unknown;
        self.stale += more.stale;
        self.read = (self.read.0 + more.read.0, self.read.1 + more.read.1);
        self.judged.iter_mut().zip(more.judged).for_each(|(n, more)| *n += more);
        self.blind.iter_mut().zip(more.blind).for_each(|(n, more)| *n += more);
        self.remaining_min_seconds = least(self.remaining_min_seconds, more.remaining_min_seconds);
        self.held_max_seconds = greatest(self.held_max_seconds, more.held_max_seconds);
    }
}

/// What is counted, by group.
#[derive(Default)]
pub(super) struct Quiet(BTreeMap<Arc<str>, Sum>);

impl Quiet {
    /// Of one group.
    pub fn of(&self, group: &str) -> Option<&Sum> {
        self.0.get(group)
    }

    /// Of all of them.
    pub fn all(&self) -> Sum {
        let mut all = Sum::default();
        self.0.values().for_each(|sum| all.add(sum));
        all
    }

    /// Counts a lock.
    pub fn add(&mut self, state: &State, lock: &Lock, now: Mono, is_read: bool) {
        let Some(group) = &lock.rules.group else { return };
        let holders = holders(state, lock, now);
        let begin = holders.first().map(|h| h.tenure.first.span.done);
        let remaining = holders.iter().filter_map(|h| h.remaining(now)).reduce(f64::min);
        self.count(&group.name, (state, lock, &holders, now), (1, is_read), begin, remaining);
    }

    /// Counts all of a class, of which one is given.
    pub fn add_class(
        &mut self,
        state: &State,
        (class, one): &(&Class, Cow<'_, Lock>),
        now: Mono,
        is_read: bool,
    ) {
        let holders = holders(state, one, now);
        let left = |end: ServerTime| {
            let seen = one.seen.as_ref()?;
            Some((end.secs_since(seen.time) - now.secs_since(seen.span.done)).max(0.0))
        };
        let remaining = class.first_end().and_then(left);
        let times = (class.count(), is_read);
        self.count(
            &class.group,
            (state, one, &holders, now),
            times,
            class.first_begin(),
            remaining,
        );
    }

    fn count(
        &mut self,
        group: &Arc<str>,
        (state, lock, holders, now): (&State, &Lock, &[Holder<'_>], Mono),
        (times, is_read): (u64, bool),
        begin: Option<Mono>,
        remaining: Option<f64>,
    ) {
        let fresh = is_fresh(lock.seen.map(|s| s.span.done), now, state.rules.poll_interval);
        let mut sum = Sum::default();
        match lock.phase {
            Phase::Unseen => sum.unknown = times,
            Phase::Free { .. } => (sum.free, sum.read.1) = (times, times),
            Phase::Held(_) | Phase::Shared(_) => (sum.held, sum.read.0) = (times, times),
        }
        if !is_read {
            sum.read = (0, 0);
        }
        match fresh {
            true => {
                for (n, signal) in sum.judged.iter_mut().zip(Signal::ALL) {
                    *n = if lock.signals.get(*signal).is_some() { times } else { 0 };
                }
                sum.remaining_min_seconds = remaining;
                sum.held_max_seconds = begin.map(|at| now.secs_since(at).max(0.0));
            }
            false => sum.stale = times,
        }
        for cannot in coverage::judge(state, lock, holders, now) {
            if let Some(n) =
                BLIND.iter().position(|b| *b == cannot).and_then(|i| sum.blind.get_mut(i))
            {
                *n += times;
            }
        }
        match self.0.get_mut(group) {
            Some(known) => known.add(&sum),
            None => {
                self.0.insert(group.clone(), sum);
            }
        }
    }
}
