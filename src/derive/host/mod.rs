//! What is known of a worker's processes on this host beyond whether they live: how long they were kept from running,
//! what their cgroups and JVMs say. Pure; bounds of stalls follow from counters only, never from hope.
//!
//! From the bottom: a [`window`] of the largest bounds; [`beats`] of a heart; one [`track`] per process with when it may
//! have been stopped ([`standing`]) and what the [`past`] left open; [`other`] waiting that a more rarely read source
//! shows; [`totals`]. A bound counts from when its read ended: if the exporter itself stood still, its intervals are long,
//! so that upper bounds grow and lower bounds stay true.

mod around;
pub mod beats;
mod followed;
mod other;
mod past;
mod standing;
pub mod totals;
mod track;
pub mod window;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use self::around::Jvms;
use self::beats::Gap;
use self::followed::Followed;
use self::totals::Cgroups;
use self::track::Track;
use self::window::{Bound, Window};
use super::fresh::is_fresh;
use super::words::StallSource;
use crate::observe::stall::{HostUnknown, Scheduling, StallSample};
use crate::observe::{Mono, ProcessId, Span};

/// Processes of one worker that are followed.
const MOST_PROCESSES: usize = 512;
/// One that was not seen for so long is let go when another comes.
const OUT_OF_SIGHT: Duration = Duration::from_secs(600);

/// What the config says about stalls.
#[derive(Clone, Copy, Debug)]
pub struct StallRules {
    /// Time between two samples.
    pub stall_poll: Duration,
    /// Time between two looks at cgroups.
    pub poll: Duration,
    /// How far back the worst stall is looked for.
    pub window: Duration,
}

/// The worst stall of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorstStall {
    /// It was at least so long.
    pub lower: Bound,
    /// When that was seen.
    pub lower_at: Mono,
    /// No stall was longer. `None` while nothing is sampled: then there may have been any.
    pub upper: Option<Bound>,
}

/// One worker's stalls, cgroups and JVMs.
#[derive(Clone, Debug, Default)]
pub struct Host {
    processes: BTreeMap<ProcessId, Followed>,
    lower: Window,
    upper: Window,
    /// Upper bounds by the heartbeat, which count where nothing is sampled.
    silence: Window,
    /// End of the last good read of the heartbeat.
    heard: Option<Mono>,
    /// The gap that goes on does not count, because for a part of it nobody was expected to beat.
    is_gap_void: bool,
    window: Duration,
    run_delay: Option<Duration>,
    involuntary: Option<u64>,
    cgroups: Cgroups,
    jvms: Jvms,
}

impl Host {
    /// Takes one sample of one of its processes. Returns whether the worst stall is worse now.
    pub fn stall(&mut self, sample: &StallSample, rules: StallRules) -> bool {
        self.window = rules.window;
        let done = sample.span.done;
        let seen = match &sample.seen {
            Ok(seen) => seen,
            Err(HostUnknown::Gone) => {
                // What else is read of it may come a little later.
                let process = self.process(sample.process, done);
                (process.track, process.failure, process.looked) = (None, None, done);
                return false;
            }
            Err(why) => {
                let process = self.process(sample.process, done);
                (process.failure, process.looked) = (Some(*why), done);
                return false;
            }
        };
        let process = self.process(sample.process, done);
        (process.failure, process.looked) = (None, done);
        let step = match &mut process.track {
            Some(track) => track.take(sample.span, seen),
            None => {
                process.track = Some(Track::new(sample.span, seen));
                None
            }
        };
        self.run_delay.get_or_insert_default();
        if self.involuntary.is_none() && seen.involuntary.is_some() {
            self.involuntary = Some(0);
        }
        let Some(step) = step else { return false };
        self.run_delay = self.run_delay.map(|sum| sum.saturating_add(step.waited));
        self.involuntary =
            self.involuntary.map(|sum| sum.saturating_add(step.involuntary.unwrap_or(0)));
        self.upper.record(done, step.upper, rules.window);
        step.lower.is_some_and(|bound| self.lower.record(done, bound, rules.window))
    }

    /// Takes what a good read of its heartbeat showed: a gap between beats, the usual beat if it is known, and whether
    /// somebody is expected to beat. A gap counts without the beat that was due. Returns whether the worst stall is
    /// worse now.
    pub fn beat_gap(
        &mut self,
        gap: Option<Gap>,
        usual: Option<Duration>,
        is_expected: bool,
        read: Span,
        rules: StallRules,
    ) -> bool {
        self.window = rules.window;
        self.heard = Some(read.done);
        self.is_gap_void |= !is_expected;
        let Some(gap) = gap else { return false };
        let is_void = self.is_gap_void;
        if gap.is_over {
            self.is_gap_void = false;
        }
        if is_void {
            return false;
        }
        let source = StallSource::HeartbeatGap;
        if let Some(length) = gap.upper {
            self.silence.record(read.done, Bound { length, source }, rules.window);
        }
        let length = usual.and_then(|u| gap.lower.checked_sub(u)).filter(|l| !l.is_zero());
        length.is_some_and(|length| {
            self.lower.record(read.done, Bound { length, source }, rules.window)
        })
    }

    /// The worst stall of the window, as of the last reads. `None` if nothing was ever seen of it.
    pub fn worst_stall(&self, now: Mono, rules: StallRules) -> Option<WorstStall> {
        let lower = self.lower.largest(now, self.window);
        let upper = if self.is_sampled(now, rules) {
            self.upper.largest(now, self.window)
        } else if self.is_heard(now, rules) && !self.is_refused(now, rules) {
            self.silence.largest(now, self.window)
        } else {
            None
        };
        let (lower, lower_at) = match (lower, upper) {
            (Some(lower), _) => lower,
            // Nothing was seen to stand still.
            (None, Some((upper, at))) => (Bound { length: Duration::ZERO, ..upper }, at),
            (None, None) => return None,
        };
        let upper = upper.map(|(upper, _)| upper.longer(lower));
        Some(WorstStall { lower, lower_at, upper })
    }

    /// Whether stalls of its processes are known up to now: some are sampled, and none of them only in vain.
    pub fn is_sampled(&self, now: Mono, rules: StallRules) -> bool {
        self.fresh(now, rules).next().is_some() && !self.is_refused(now, rules)
    }

    fn is_refused(&self, now: Mono, rules: StallRules) -> bool {
        self.refusal(now, rules).is_some()
    }

    /// Why a process of it cannot be sampled now.
    pub fn refusal(&self, now: Mono, rules: StallRules) -> Option<HostUnknown> {
        let recent = self.processes.values().filter(|p| is_fresh(Some(p.looked), now, rules.poll));
        recent.filter_map(|p| p.failure).max()
    }

    fn is_heard(&self, now: Mono, rules: StallRules) -> bool {
        is_fresh(self.heard, now, rules.poll)
    }

    fn fresh(&self, now: Mono, rules: StallRules) -> impl Iterator<Item = &Track> {
        let is_fresh = move |t: &&Track| {
            // Where there are too many processes to sample each in time, their own interval is longer.
            let interval = t.interval().unwrap_or_default().max(rules.poll);
            is_fresh(Some(t.span().done), now, interval)
        };
        self.processes.values().filter_map(|p| p.track.as_ref()).filter(is_fresh)
    }

    /// The last samples of its processes, those that are not too old.
    pub fn samples(&self, now: Mono, rules: StallRules) -> impl Iterator<Item = &Scheduling> {
        self.fresh(now, rules).map(Track::last)
    }

    /// For how long a runnable thread has not moved now, the longest of its processes.
    pub fn ongoing(&self, now: Mono, rules: StallRules) -> Option<Duration> {
        self.fresh(now, rules).filter_map(Track::ongoing).max()
    }

    /// Mean time between two samples of a process, of the one that is sampled most rarely.
    pub fn interval(&self, now: Mono, rules: StallRules) -> Option<Duration> {
        self.fresh(now, rules).filter_map(Track::interval).max()
    }

    /// Time that threads waited for a CPU since the worker was first seen.
    pub fn run_delay(&self) -> Option<Duration> {
        self.run_delay
    }

    /// Involuntary context switches since then.
    pub fn involuntary(&self) -> Option<u64> {
        self.involuntary
    }

    fn process(&mut self, id: ProcessId, at: Mono) -> &mut Followed {
        if !self.processes.contains_key(&id) {
            let last = Followed::last;
            self.processes.retain(|_, p| at.since(last(p)) < OUT_OF_SIGHT);
            let oldest = self.processes.iter().min_by_key(|(_, p)| last(p)).map(|(id, _)| *id);
            if let Some(oldest) = oldest.filter(|_| self.processes.len() >= MOST_PROCESSES) {
                self.processes.remove(&oldest);
            }
        }
        let fresh = || Followed { looked: at, ..Followed::default() };
        self.processes.entry(id).or_insert_with(fresh)
    }
}
