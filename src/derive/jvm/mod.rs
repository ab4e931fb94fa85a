//! What a worker's JVMs did between two reads of their counters: how long the longest pause was, what is going on now,
//! and running totals that a restart does not reset. Pure; a bound is said only where the counters prove it, on the
//! condition that each read shows one instant of the counters, which the poller sees to.

mod clock;
mod collector;
mod safepoint;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::jvm::{Collector, Jvm};
use crate::observe::{Mono, ProcessId, Span};

use clock::JvmClock;
use collector::CollectorPast;
use safepoint::Safepoints;

/// Processes of one worker whose counters are remembered.
const MAX_PROCESSES: usize = 512;
/// Names of collectors of one worker; JVMs that change have more than one set.
const MAX_COLLECTORS: usize = 32;
/// After so long without a read, a process may make room for another.
const OUT_OF_SIGHT: Duration = Duration::from_secs(600);

/// At least and at most so long; both the same where the counters say it exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// At least.
    pub lower: Duration,
    /// At most.
    pub upper: Duration,
}

impl Bounds {
    /// Exactly so long.
    pub fn exactly(length: Duration) -> Self {
        Self { lower: length, upper: length }
    }

    /// Whether nothing is left open.
    pub fn is_exact(self) -> bool {
        self.lower == self.upper
    }

    /// Bounds of the longer of two.
    pub fn longer(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.max(other.upper) }
    }
}

/// The longer of two, either of which may not have been.
fn longer(a: Option<Bounds>, b: Option<Bounds>) -> Option<Bounds> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.longer(b)),
        (a, b) => a.or(b),
    }
}

/// What one read of one JVM adds to the reads before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JvmStep {
    /// Longest pause for a collection that ended since the read before. `None`: none ended, or nothing was read before.
    pub pause: Option<Bounds>,
    /// Longest stop of the world that ended since then, for a collection or anything else. At least as long as a pause
    /// that ended in it, which may be a moment before the stop does.
    pub stop: Option<Bounds>,
    /// Stop-the-world time booked since then; a stop is booked when it ends. `None` if nothing was read before.
    pub stopped: Option<Duration>,
    /// A pause for a collection goes on, for at least so long. Not told for a collector that counts concurrent work.
    pub collecting: Option<Duration>,
    /// The world certainly stands still now, for at least and at most so long. A stop that began in the same interval
    /// as another, for anything but a collection, is not told here; it shows in `stop` when it ends.
    pub stopping: Option<Bounds>,
}

/// A total of a collector over all JVMs of a worker that were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectorTotal {
    /// Time of collections that ended.
    pub time: Duration,
    /// Collections begun.
    pub collections: u64,
}

/// All that is remembered of the JVMs of one worker.
#[derive(Clone, Debug, Default)]
pub struct JvmHistory {
    processes: BTreeMap<ProcessId, Past>,
    totals: BTreeMap<Arc<str>, CollectorTotal>,
    stopped: Option<Duration>,
}

/// One JVM as it was read last.
#[derive(Clone, Debug, Default)]
struct Past {
    read: Option<Span>,
    clock: JvmClock,
    collectors: BTreeMap<u8, CollectorPast>,
    safepoints: Safepoints,
    is_collecting: bool,
}

impl JvmHistory {
    /// Takes one read of the counters of one of the worker's JVMs.
    pub fn read(&mut self, process: ProcessId, span: Span, jvm: &Jvm) -> JvmStep {
        if !self.has_room_for(process, span) {
            return JvmStep::default();
        }
        let past = self.processes.entry(process).or_default();
        let before = past.read.replace(span);
        past.clock.read(span, jvm);
        let mut step = JvmStep::default();
        for c in &jvm.collectors {
            let known = past.collectors.entry(c.number).or_default();
            let (booked, begun) = known.booked(c);
            if let Some(total) = total(&mut self.totals, &c.name) {
                total.time = total.time.saturating_add(booked);
                total.collections = total.collections.saturating_add(begun);
            }
            let seen = known.read(c, before, span, &past.clock);
            if counts_pauses(c) {
                step.pause = longer(step.pause, seen.pause);
                step.collecting = step.collecting.max(seen.going_on);
            }
        }
        past.is_collecting = step.collecting.is_some();
        let stops = past.safepoints.read(jvm, before, span, step.collecting);
        if let Some(booked) = stops.booked {
            self.stopped = Some(self.stopped.unwrap_or_default().saturating_add(booked));
        }
        step.stop = stops.stop.map(|stop| at_least(stop, step.pause));
        step.stopping = stops.going_on;
        step.stopped = before.and(stops.booked);
        if !jvm.collectors.iter().all(counts_pauses) {
            // Its pauses are told from the rest of its work by the safepoints alone.
            step.pause = longer(step.pause, stops.stop);
        }
        step
    }

    /// Time and number of collections by collector, since the first JVM seen began.
    pub fn totals(&self) -> impl Iterator<Item = (&Arc<str>, CollectorTotal)> {
        self.totals.iter().map(|(name, total)| (name, *total))
    }

    /// Stop-the-world time since the first JVM seen began; `None` if no JVM told it.
    pub fn stopped(&self) -> Option<Duration> {
        self.stopped
    }

    /// Time since the last collection ended, of the JVMs read since `since`; `None` if none is known to have ended.
    /// Exact to 50 ms for JVMs that move their clock, else counted from the read that first showed the end.
    pub fn last_collection_age(&self, now: Mono, since: Mono) -> Option<Duration> {
        let ends = self.current(since).flat_map(|p| p.collectors.values().filter_map(|c| c.ended));
        ends.max().map(|end| now.since(end))
    }

    /// Whether a JVM read since `since` was pausing for a collection when it was read last.
    pub fn is_collecting(&self, since: Mono) -> bool {
        self.current(since).any(|p| p.is_collecting)
    }

    fn current(&self, since: Mono) -> impl Iterator<Item = &Past> {
        self.processes.values().filter(move |p| p.read.is_some_and(|r| r.done >= since))
    }

    /// Whether this process is known or may be: room is made only by one that was not read for long, because a JVM that
    /// is forgotten and seen again would be counted twice.
    fn has_room_for(&mut self, process: ProcessId, span: Span) -> bool {
        if self.processes.contains_key(&process) || self.processes.len() < MAX_PROCESSES {
            return true;
        }
        let read = |p: &Past| p.read.map_or(Mono(0), |r| r.done);
        let oldest = self.processes.iter().min_by_key(|(_, p)| read(p));
        match oldest.map(|(id, p)| (*id, span.sent.since(read(p)))) {
            Some((id, unread)) if unread > OUT_OF_SIGHT => self.processes.remove(&id).is_some(),
            _ => false,
        }
    }
}

/// What is known of a stop, where a pause for a collection in it is known better.
fn at_least(stop: Bounds, pause: Option<Bounds>) -> Bounds {
    let lower = pause.map(|p| p.lower).filter(|pause| *pause <= stop.upper);
    Bounds { lower: stop.lower.max(lower.unwrap_or_default()), ..stop }
}

/// Whether a collector's time is that of pauses. Shenandoah's is that of its cycles, most of which runs beside the
/// program.
fn counts_pauses(c: &Collector) -> bool {
    !c.name.starts_with("Shenandoah")
}

fn total<'a>(
    totals: &'a mut BTreeMap<Arc<str>, CollectorTotal>,
    name: &Arc<str>,
) -> Option<&'a mut CollectorTotal> {
    if !totals.contains_key(name) {
        if totals.len() >= MAX_COLLECTORS {
            return None;
        }
        totals.insert(Arc::clone(name), CollectorTotal::default());
    }
    totals.get_mut(name)
}
