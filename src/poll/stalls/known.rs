//! One process between samples: what it was last time, so that it can be said whether it moved, fell back to another
//! process, or needs a closer look.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::surroundings::{CgroupText, Surroundings};
use super::tasks::Tasks;
use super::threads::{Look, Rise, Seen, Table};
use crate::observe::stall::{HostUnknown, SampleWay, Scheduling, Threads};
use crate::observe::worker::ProcessState;
use crate::observe::{Mono, ProcessId, Span};
use crate::poll::process::stat;

/// A process looks stalled if its threads waited more than this share of the time, all together.
const WAITING_SHARE: f64 = 0.1;

/// Counters of a process; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Time on a CPU.
    pub on_cpu: u64,
    /// Time waiting.
    pub waited: u64,
    /// Slices.
    pub slices: u64,
    /// Involuntary switches.
    pub involuntary: Option<u64>,
}

/// A process that is sampled.
#[derive(Debug)]
pub struct Known {
    /// Which.
    pub id: ProcessId,
    /// Whose; usually one.
    pub workers: Vec<Arc<str>>,
    /// Its files.
    pub tasks: Tasks,
    /// Its start time was seen to be the right one.
    pub is_checked: bool,
    /// It has ended: whoever has its number now is somebody else.
    pub has_ended: bool,
    /// Tick of the last sample.
    pub sampled: u64,
    /// Tick of the last look at single threads.
    pub looked: u64,
    /// Threads at the last look.
    pub threads: u64,
    /// Counters as they were read last.
    raw: Option<(Totals, Mono)>,
    /// Counters as they were told: these never fall.
    told: Totals,
    waits: bool,
    is_stuck: bool,
    table: Table,
    cgroup: CgroupText,
    /// Its state when it was last seen not to move, if it has not moved since.
    still: Option<ProcessState>,
}

impl Known {
    /// Nothing has been read of it.
    pub fn new(id: ProcessId, procfs: &Path) -> Self {
        Self {
            id,
            workers: Vec::new(),
            tasks: Tasks::of(procfs, id.pid),
            is_checked: false,
            has_ended: false,
            sampled: 0,
            looked: 0,
            threads: 0,
            raw: None,
            told: Totals::default(),
            waits: false,
            is_stuck: false,
            table: Table::default(),
            cgroup: None,
            still: None,
        }
    }

    /// Whether it looks stalled.
    pub fn is_urgent(&self) -> bool {
        self.waits || self.is_stuck
    }

    /// Makes sure that the number still belongs to this process.
    pub fn check(&mut self, around: &Surroundings) -> Result<(), HostUnknown> {
        self.is_checked = false;
        let stat = self.tasks.leader(&around.pool).map_err(|e| self.unknown(around, &e))?;
        self.is_this(stat.start_ticks)?;
        self.threads = stat.threads;
        self.is_checked = true;
        Ok(())
    }

    fn is_this(&mut self, start_ticks: u64) -> Result<(), HostUnknown> {
        if start_ticks == self.id.start_ticks {
            return Ok(());
        }
        self.has_ended = true;
        Err(HostUnknown::Gone)
    }

    /// What an error says of this process.
    pub fn unknown(&mut self, around: &Surroundings, e: &io::Error) -> HostUnknown {
        let why = around.why(e);
        self.has_ended |= why == HostUnknown::Gone;
        why
    }

    /// Whether counters fell: another process has the number, or a thread that ended was counted twice for a moment.
    pub fn have_fallen(&self, now: &Totals) -> bool {
        self.raw.is_some_and(|(raw, _)| {
            now.on_cpu < raw.on_cpu || now.waited < raw.waited || now.slices < raw.slices
        })
    }

    /// Whether counters are known to have moved.
    pub fn have_moved(&self, now: &Totals) -> bool {
        self.raw.is_some_and(|(raw, _)| {
            (now.on_cpu, now.waited, now.slices) != (raw.on_cpu, raw.waited, raw.slices)
        })
    }

    /// Takes counters that are told now.
    pub fn take(&mut self, now: Totals, at: Mono) {
        if self.have_moved(&now) {
            self.still = None;
        }
        let told = &mut self.told;
        if let Some((raw, last)) = self.raw {
            let rise = now.waited.saturating_sub(raw.waited) as f64;
            self.waits = rise > WAITING_SHARE * at.since(last).as_nanos() as f64;
            // Switches of threads that have ended may leave the kernel's sum.
            told.involuntary = match (told.involuntary, now.involuntary, raw.involuntary) {
                (Some(told), Some(now), Some(raw)) => Some(told + now.saturating_sub(raw)),
                (_, now, _) => now,
            };
        } else {
            told.involuntary = now.involuntary;
        }
        told.on_cpu = told.on_cpu.max(now.on_cpu);
        told.waited = told.waited.max(now.waited);
        told.slices = told.slices.max(now.slices);
        self.raw = Some((now, at));
    }

    /// Totals after such a rise, where only rises are known; threads that have ended keep their share.
    pub fn risen(&self, rise: &Rise) -> Totals {
        let raw = self.raw.map(|(raw, _)| raw).unwrap_or_default();
        Totals {
            on_cpu: raw.on_cpu.saturating_add(rise.on_cpu),
            waited: raw.waited.saturating_add(rise.waited),
            slices: raw.slices.saturating_add(rise.slices),
            involuntary: None,
        }
    }

    /// Takes a look at its threads. An error means that they are another process's.
    pub fn threads(&mut self, look: &Look) -> Result<(Rise, Option<Threads>), HostUnknown> {
        let pid = self.id.pid.cast_unsigned();
        if let Some(leader) = look.threads.iter().find(|t| t.tid == pid) {
            self.is_this(leader.start_ticks)?;
        }
        self.threads = look.threads.len() as u64 + look.beyond_cap;
        let (rise, each) = self.table.take(look);
        self.is_stuck = each.as_ref().is_some_and(|e| e.unmoved_runnable.is_some());
        Ok((rise, each))
    }

    /// Its state and whether it is frozen, read because it did not move.
    pub fn state(
        &mut self,
        around: &mut Surroundings,
        now: Mono,
    ) -> Result<(ProcessState, Option<bool>), HostUnknown> {
        let leader = self.tasks.leader(&around.pool).map_err(|e| self.unknown(around, &e))?;
        self.is_this(leader.start_ticks)?;
        self.threads = leader.threads;
        let mut state = leader.state;
        if state == ProcessState::Zombie {
            let ids = self.tasks.ids().map_err(|e| self.unknown(around, &e))?;
            let mut others = Vec::new();
            for tid in ids.listed {
                let read = self.tasks.stat(&around.pool, tid);
                others.extend(read.map_err(|e| self.unknown(around, &e))?.map(|s| s.state));
            }
            state = speaker(others.into_iter()).ok_or(HostUnknown::Gone)?;
        }
        Ok((state, self.frozen(state, around, now)))
    }

    /// The same from a look at all its threads.
    pub fn state_of(
        &mut self,
        threads: &[Seen],
        around: &mut Surroundings,
        now: Mono,
    ) -> Result<(ProcessState, Option<bool>), HostUnknown> {
        let pid = self.id.pid.cast_unsigned();
        let leader = threads.iter().find(|t| t.tid == pid).map(|t| t.state);
        let state = leader.filter(|s| *s != ProcessState::Zombie);
        let state = state.or_else(|| speaker(threads.iter().map(|t| t.state)));
        let state = state.ok_or(HostUnknown::Gone)?;
        Ok((state, self.frozen(state, around, now)))
    }

    /// Who is moved into a frozen cgroup needs the CPU to stop there; a v1 freezer takes sleepers as well, into state D.
    fn frozen(
        &mut self,
        state: ProcessState,
        around: &mut Surroundings,
        now: Mono,
    ) -> Option<bool> {
        if self.still.replace(state) != Some(state) || state == ProcessState::DiskSleep {
            self.cgroup = None;
        }
        around.frozen(&self.tasks, &mut self.cgroup, now)
    }

    /// What is told of it.
    pub fn scheduling(&self, way: SampleWay) -> Scheduling {
        Scheduling {
            way,
            on_cpu: Duration::from_nanos(self.told.on_cpu),
            waited: Duration::from_nanos(self.told.waited),
            slices: self.told.slices,
            involuntary: self.told.involuntary,
            threads: self.threads,
            state: None,
            frozen: None,
            each: None,
        }
    }
}

/// The thread that says most that the process lives, if not all have exited.
fn speaker(states: impl Iterator<Item = ProcessState>) -> Option<ProcessState> {
    states.filter(|s| *s != ProcessState::Zombie).max_by_key(|s| stat::rank(*s))
}

/// What one process gave in a tick.
#[derive(Debug)]
pub struct Taken {
    /// Its place among the known ones.
    pub at: usize,
    /// When it was read.
    pub span: Span,
    /// What it showed.
    pub seen: Result<Scheduling, HostUnknown>,
}
