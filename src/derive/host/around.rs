//! What lies around a worker's processes: their cgroups and JVMs. Whose waiting it was, a cgroup does not tell, so that
//! its pressure can only lengthen an upper bound; a stop of a JVM's world is its threads' own.

use std::sync::Arc;
use std::time::Duration;

use super::followed::Followed;
use super::totals::Cgroups;
use super::window::{Bound, Window, longer};
use super::{Host, StallRules};
use crate::derive::fresh::is_fresh;
use crate::derive::jvm::JvmHistory;
use crate::derive::words::StallSource;
use crate::observe::cgroup::{Cgroup, Pressure, Reading};
use crate::observe::stall::HostUnknown;
use crate::observe::{CgroupRead, JvmRead, Mono};

/// The JVMs of a worker.
#[derive(Clone, Debug, Default)]
pub struct Jvms {
    /// What their counters said.
    pub history: JvmHistory,
    pauses: Window,
    pauses_at_most: Window,
    /// The last version told.
    pub version: Arc<str>,
    read: Option<Mono>,
}

impl Jvms {
    /// The longest pause of the window: at least so long, and whether exactly.
    pub fn longest_pause(&self, now: Mono, window: Duration) -> Option<(Duration, bool)> {
        let (least, _) = self.pauses.largest(now, window)?;
        let most = self.pauses_at_most.largest(now, window).map(|(most, _)| most.length);
        Some((least.length, most == Some(least.length)))
    }

    /// End of the last good read.
    pub fn last_read(&self) -> Option<Mono> {
        self.read
    }
}

impl Host {
    /// Takes one look at the cgroup of one of its processes.
    pub fn cgroup(&mut self, read: &CgroupRead, rules: StallRules) {
        self.window = rules.window;
        let done = read.span.done;
        if let Ok(cgroup) = &read.seen {
            self.cgroups.take(read.span, cgroup);
        }
        let process = self.process(read.process, done);
        process.cgroup_read = done;
        let seen = read.seen.as_ref();
        // Where nothing can freeze it, nothing is missed.
        let freeze = |c: &Cgroup| c.frozen.err().filter(|why| *why != HostUnknown::Unsupported);
        process.cgroup_failure = seen.map_or_else(|why| Some(*why), freeze);
        process.pressure_failure = seen.ok().and_then(|c| {
            let failure = |r: &Reading<Pressure>| r.as_ref().err().copied();
            failure(&c.memory).or_else(|| failure(&c.cpu)).or_else(|| failure(&c.io))
        });
        let total = |r: &Reading<Pressure>| r.ok().map(|p| p.some.total);
        let (memory, io) = seen.map_or((None, None), |c| (total(&c.memory), total(&c.io)));
        let before = process.memory.read().or(process.io.read());
        let is_still = process
            .track
            .as_ref()
            .is_some_and(|t| before.is_some_and(|before| t.unmoved_since() <= before));
        process.memory.take(read.span, memory, is_still);
        process.io.take(read.span, io, is_still);
        if let Some(bound) = process.with_other() {
            self.upper.record(done, bound, rules.window);
        }
    }

    /// Takes one look at one of its JVMs. Returns whether the worst stall is worse now.
    pub fn jvm(&mut self, read: &JvmRead, rules: StallRules) -> bool {
        self.window = rules.window;
        let done = read.span.done;
        let step = match &read.seen {
            Ok(jvm) => {
                self.jvms.read = Some(done);
                self.jvms.version = jvm.version.clone();
                Some(self.jvms.history.read(read.process, read.span, jvm))
            }
            Err(_) => None,
        };
        let process = self.process(read.process, done);
        process.jvm_read = done;
        process.jvm_failure = read.seen.as_ref().err().copied();
        let Some(step) = step else { return false };
        process.world.book(read.span, step.stopped.unwrap_or_default(), false);
        process.stopping = step.stopping.map_or(Duration::ZERO, |s| s.upper);
        let source = StallSource::Safepoint;
        let at_least = |length: Duration| Bound { length, source };
        let ended = step.stop.map(|s| at_least(s.lower));
        let goes_on = step.stopping.map(|s| at_least(s.lower));
        let lower = longer(ended, goes_on).filter(|b| !b.length.is_zero());
        let upper = longer(process.with_other(), lower);
        if let Some(pause) = step.pause {
            self.jvms.pauses.record(done, at_least(pause.lower), rules.window);
            self.jvms.pauses_at_most.record(done, at_least(pause.upper), rules.window);
        }
        if let Some(bound) = upper {
            self.upper.record(done, bound, rules.window);
        }
        lower.is_some_and(|bound| self.lower.record(done, bound, rules.window))
    }

    /// Whether what a look at a cgroup could not read, and why, is another text than before.
    pub fn is_cgroup_news(&mut self, read: &CgroupRead) -> bool {
        let said = &mut self.process(read.process, read.span.done).cgroup_detail;
        is_news(said, &read.detail)
    }

    /// The same of a look at a JVM.
    pub fn is_jvm_news(&mut self, read: &JvmRead) -> bool {
        let said = &mut self.process(read.process, read.span.done).jvm_detail;
        is_news(said, &read.detail)
    }

    /// Its cgroups.
    pub fn cgroups(&self) -> &Cgroups {
        &self.cgroups
    }

    /// Its JVMs.
    pub fn jvms(&self) -> &Jvms {
        &self.jvms
    }

    /// Why the cgroup of a process, its pressure or its JVM cannot be read now.
    pub fn failures(&self, now: Mono, poll: Duration) -> Failures {
        let worst = |read: fn(&Followed) -> Mono, why: fn(&Followed) -> Option<HostUnknown>| {
            let recent = self.processes.values().filter(|p| is_fresh(Some(read(p)), now, poll));
            recent.filter_map(why).filter(|why| *why != HostUnknown::Gone).max()
        };
        let is_capped = is_fresh(self.cgroups.left_out(), now, poll);
        let capped = is_capped.then_some(HostUnknown::Unsupported);
        Failures {
            cgroup: worst(|p| p.cgroup_read, |p| p.cgroup_failure).or(capped),
            pressure: worst(|p| p.cgroup_read, |p| p.pressure_failure),
            jvm: worst(|p| p.jvm_read, |p| p.jvm_failure),
        }
    }

    /// Whether looks at its processes came, and come no more: what hangs for one of a host's processes holds up all.
    pub fn is_overdue(&self, now: Mono, poll: Duration) -> bool {
        let all = self.processes.values();
        let interval = all.clone().filter_map(|p| p.track.as_ref()?.interval()).max();
        let last = all.map(Followed::last).max();
        last.is_some() && !is_fresh(last, now, poll.max(interval.unwrap_or_default()))
    }
}

fn is_news(said: &mut String, detail: &str) -> bool {
    let is_news = said != detail;
    if is_news {
        detail.clone_into(said);
    }
    is_news
}

/// What cannot be read of a worker's processes now, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// Its cgroup, or whether that is frozen.
    pub cgroup: Option<HostUnknown>,
    /// The pressure in it.
    pub pressure: Option<HostUnknown>,
    /// Its JVM's counters.
    pub jvm: Option<HostUnknown>,
}
