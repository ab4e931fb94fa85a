//! What single threads did between two looks at all of them, from their counters at both. Pure; what is not known of a
//! thread makes limits wider, never tighter.

use std::collections::HashMap;
use std::time::Duration;

use crate::observe::stall::Threads;
use crate::observe::worker::ProcessState;
use crate::observe::{Mono, Span};

/// Counters of one thread; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Time on a CPU.
    pub on_cpu: u64,
    /// Time waiting for one, booked when a wait ends.
    pub waited: u64,
    /// Times that it got one.
    pub slices: u64,
    /// Longest wait of its life, where the kernel keeps it.
    pub longest_wait: Option<u64>,
}

/// One thread in one look: first its counters were read, then its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its id.
    pub tid: u32,
    /// When it began, in clock ticks since boot; with the id it tells it from a later one.
    pub start_ticks: u64,
    /// Its state.
    pub state: ProcessState,
    /// Its counters.
    pub counters: Counters,
}

/// One look at the threads of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// When.
    pub span: Span,
    /// The threads that were looked at.
    pub threads: Vec<Seen>,
    /// How many more there are.
    pub beyond_cap: u64,
    /// Waiting of all threads of the process, ended ones too, where the kernel keeps that sum.
    pub all_waited: Option<u64>,
}

/// What all threads of a look did since the look before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rise {
    /// Time on a CPU.
    pub on_cpu: u64,
    /// Time waiting.
    pub waited: u64,
    /// Slices.
    pub slices: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Prior {
    start_ticks: u64,
    counters: Counters,
    /// Since when it has been seen runnable without having run.
    runnable: Option<Mono>,
    /// Since when, at the earliest, it has been in state D.
    kept: Option<Mono>,
}

/// The threads of a process at the last look.
#[derive(Debug, Default)]
pub struct Table {
    threads: HashMap<u32, Prior>,
    last: Option<(Span, Option<u64>)>,
}

impl Counters {
    /// Whether the thread has run. That waiting was booked does not say so: a thread that is moved to another queue while
    /// it waits books the first part.
    fn have_run(&self, prior: &Counters) -> bool {
        (self.on_cpu, self.slices) != (prior.on_cpu, prior.slices)
    }
}

impl Table {
    /// Takes a look. `None` for what the threads did if it is the first; their rise is then all that they did so far.
    pub fn take(&mut self, look: &Look) -> (Rise, Option<Threads>) {
        let since = self.last.map(|(span, _)| span);
        let mut rise = Rise::default();
        let mut sum = Sum::default();
        let mut runnable = 0;
        let mut kept_since: Option<Mono> = None;
        let mut now = HashMap::with_capacity(look.threads.len());
        for seen in &look.threads {
            let prior = self.threads.get(&seen.tid).filter(|p| p.start_ticks == seen.start_ticks);
            let is_running = seen.state == ProcessState::Running;
            runnable += u64::from(is_running);
            let fresh = Prior::default();
            let from = match (prior, since) {
                (Some(prior), _) => Some(*prior),
                (None, None) => Some(fresh),
                // One that is older was beyond the cap, or was read by nobody: what it did lately is not known.
                (None, Some(since)) => began_since(seen.start_ticks, since.sent).then_some(fresh),
            };
            if let Some(from) = &from {
                rise.add(&seen.counters, &from.counters);
                sum.add(&seen.counters, from, is_running);
            }
            let unmoved = prior.filter(|p| !seen.counters.have_run(&p.counters));
            let still = unmoved.and_then(|p| p.runnable).filter(|_| is_running);
            if let Some(still) = still {
                sum.unmoved = sum.unmoved.max(Some(look.span.sent.since(still)));
            }
            let runnable = is_running.then(|| still.unwrap_or(look.span.done));
            let kept = (seen.state == ProcessState::DiskSleep).then(|| {
                let earliest = since.map_or(look.span.sent, |since| since.sent);
                unmoved.and_then(|p| p.kept).unwrap_or(earliest)
            });
            kept_since = [kept_since, kept].into_iter().flatten().min();
            let (start_ticks, counters) = (seen.start_ticks, seen.counters);
            now.insert(seen.tid, Prior { start_ticks, counters, runnable, kept });
        }
        self.threads = now;
        let before = self.last.replace((look.span, look.all_waited));
        let Some((since, all_before)) = before else { return (rise, None) };
        // What threads waited that ended, came and went, or lie beyond the cap.
        let rest = look
            .all_waited
            .zip(all_before)
            .map(|(all, before)| all.saturating_sub(before).saturating_sub(rise.waited));
        let most = sum.most_waited.max(rest.unwrap_or(0));
        let wait_limit = match (sum.limit_is_known, rest) {
            (true, Some(rest)) => Some(nanos(sum.limit.max(rest))),
            (true, None) if look.beyond_cap == 0 && sum.limit > 0 => Some(nanos(sum.limit)),
            _ => None,
        };
        let threads = Threads {
            since,
            most_waited: nanos(most),
            mean_wait: nanos(sum.mean_wait),
            longest_wait: sum.longest_wait.map(nanos),
            wait_limit,
            busiest: nanos(sum.busiest).min(look.span.done.since(since.sent)),
            unmoved_runnable: sum.unmoved,
            kept_since,
            runnable,
            beyond_cap: look.beyond_cap,
        };
        (rise, Some(threads))
    }
}

impl Rise {
    fn add(&mut self, now: &Counters, before: &Counters) {
        let rise = |now: u64, before: u64| now.saturating_sub(before);
        self.on_cpu = self.on_cpu.saturating_add(rise(now.on_cpu, before.on_cpu));
        self.waited = self.waited.saturating_add(rise(now.waited, before.waited));
        self.slices = self.slices.saturating_add(rise(now.slices, before.slices));
    }
}

/// Extremes over the threads.
struct Sum {
    most_waited: u64,
    mean_wait: u64,
    longest_wait: Option<u64>,
    limit: u64,
    limit_is_known: bool,
    busiest: u64,
    unmoved: Option<Duration>,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            most_waited: 0,
            mean_wait: 0,
            longest_wait: None,
            limit: 0,
            limit_is_known: true,
            busiest: 0,
            unmoved: None,
        }
    }
}

impl Sum {
    fn add(&mut self, now: &Counters, from: &Prior, is_running: bool) {
        let before = &from.counters;
        let waited = now.waited.saturating_sub(before.waited);
        let slices = now.slices.saturating_sub(before.slices);
        let ran = now.on_cpu.saturating_sub(before.on_cpu);
        self.most_waited = self.most_waited.max(waited);
        // Waiting without a slice is a part of one wait, booked when the thread was moved to another queue; where the
        // thread waits still, there may be such a part beside those that have one.
        let waits = if is_running && slices > 0 { slices.saturating_add(1) } else { slices.max(1) };
        self.mean_wait = self.mean_wait.max(waited / waits);
        if waited > 0 || slices > 0 {
            match now.longest_wait {
                Some(limit) => self.limit = self.limit.max(limit),
                None => self.limit_is_known = false,
            }
        }
        if let Some(longest) = now.longest_wait.filter(|l| *l > before.longest_wait.unwrap_or(0)) {
            self.longest_wait = self.longest_wait.max(Some(longest));
        }
        // A wait that was under way at the earlier look is booked as a whole: its first part is not of this time.
        let earlier = match from.runnable {
            Some(_) => waited.min(now.longest_wait.unwrap_or(u64::MAX)),
            None => 0,
        };
        self.busiest = self.busiest.max(ran.saturating_add(waited - earlier));
    }
}

/// Whether a thread began after an instant, as far as ticks can tell.
fn began_since(start_ticks: u64, instant: Mono) -> bool {
    let per_second = procfs::ticks_per_second().max(1);
    let end = u128::from(start_ticks.saturating_add(1)) * 1_000_000_000 / u128::from(per_second);
    end > u128::from(instant.0)
}

fn nanos(n: u64) -> Duration {
    Duration::from_nanos(n)
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
