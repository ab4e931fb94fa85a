//! Counters that only grow: what was added since the exporter first saw a worker, over restarts of its processes and
//! over cgroups that come and go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::cgroup::{Cgroup, Pressure, Waiting};
use crate::observe::{Mono, Span};

/// Cgroups of one worker whose totals are remembered: one for each process that is followed. What is beyond them is left
/// out, and told as such; were they let go in turn, no counter would ever move.
const MOST_CGROUPS: usize = super::MOST_PROCESSES;

/// Totals of cgroups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgroupTotals {
    /// Waiting for memory: some, full.
    pub memory: [Option<Duration>; 2],
    /// Waiting for CPUs.
    pub cpu: [Option<Duration>; 2],
    /// Waiting for I/O.
    pub io: [Option<Duration>; 2],
    /// Kills for want of memory.
    pub oom_kills: Option<u64>,
    /// Time throttled, summed over CPUs.
    pub throttled: Option<Duration>,
    /// Periods throttled.
    pub throttled_periods: Option<u64>,
}

/// The cgroups of a worker; processes may share one.
#[derive(Clone, Debug, Default)]
pub struct Cgroups {
    seen: BTreeMap<Arc<str>, (Span, Cgroup)>,
    totals: CgroupTotals,
    /// When one found no place.
    left_out: Option<Mono>,
}

impl Cgroups {
    /// Takes one look at one of them. Of one that was removed what it last said stays, so that another that is made under
    /// its name counts from zero.
    pub(super) fn take(&mut self, span: Span, cgroup: &Cgroup) {
        if cgroup.is_removed() {
            return;
        }
        if !self.seen.contains_key(&cgroup.path) && !self.has_room(span.done) {
            self.left_out = Some(span.done);
            return;
        }
        let before = self.seen.insert(cgroup.path.clone(), (span, cgroup.clone()));
        let before = before.as_ref().map(|(_, c)| c);
        let t = &mut self.totals;
        pressure(&mut t.memory, before.and_then(|c| c.memory.ok()), cgroup.memory.ok());
        pressure(&mut t.cpu, before.and_then(|c| c.cpu.ok()), cgroup.cpu.ok());
        pressure(&mut t.io, before.and_then(|c| c.io.ok()), cgroup.io.ok());
        count(&mut t.oom_kills, before.and_then(|c| c.oom_kills.ok()), cgroup.oom_kills.ok());
        let (was, is) = (before.and_then(|c| c.throttling.ok()), cgroup.throttling.ok());
        time(&mut t.throttled, was.map(|t| t.throttled), is.map(|t| t.throttled));
        count(&mut t.throttled_periods, was.map(|t| t.periods), is.map(|t| t.periods));
    }

    /// One that was not seen for long goes when another comes.
    fn has_room(&mut self, now: Mono) -> bool {
        if self.seen.len() >= MOST_CGROUPS {
            self.seen.retain(|_, (s, _)| now.since(s.done) < super::OUT_OF_SIGHT);
        }
        self.seen.len() < MOST_CGROUPS
    }

    /// When one was last left out, because there are too many.
    pub fn left_out(&self) -> Option<Mono> {
        self.left_out
    }

    /// Sums over all of them since each was first seen; what no cgroup ever told is not there.
    pub fn totals(&self) -> &CgroupTotals {
        &self.totals
    }

    /// The one looked at last.
    pub fn last(&self) -> Option<&Cgroup> {
        self.seen.values().max_by_key(|(s, _)| s.done).map(|(_, c)| c)
    }

    /// Those looked at since then, in the order of their paths.
    pub fn since(&self, from: Mono) -> impl Iterator<Item = &Cgroup> {
        self.seen.values().filter(move |(s, _)| s.done >= from).map(|(_, c)| c)
    }
}

fn pressure(sums: &mut [Option<Duration>; 2], was: Option<Pressure>, is: Option<Pressure>) {
    let total = |w: Waiting| w.total;
    let [some, full] = sums;
    #[cfg(feature = "sabotage")]
    let was = if crate::derive::sabotage::is_pressure_off() { is } else { was };
    time(some, was.map(|p| total(p.some)), is.map(|p| total(p.some)));
    time(full, was.and_then(|p| p.full).map(total), is.and_then(|p| p.full).map(total));
}

/// A total that fell began again at zero.
fn time(sum: &mut Option<Duration>, was: Option<Duration>, is: Option<Duration>) {
    let Some(is) = is else { return };
    let rise = was.map_or(Duration::ZERO, |was| is.checked_sub(was).unwrap_or(is));
    *sum = Some(sum.unwrap_or_default().saturating_add(rise));
}

/// The same for a count.
pub(super) fn count(sum: &mut Option<u64>, was: Option<u64>, is: Option<u64>) {
    let Some(is) = is else { return };
    let rise = was.map_or(0, |was| is.checked_sub(was).unwrap_or(is));
    *sum = Some(sum.unwrap_or_default().saturating_add(rise));
}
