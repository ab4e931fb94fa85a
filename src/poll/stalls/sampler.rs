//! Samples the scheduling of all processes that stand for workers, by taskstats where the kernel lets us, else from
//! `/proc`. Keeps what is known of each between ticks, and within its budget.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::budget::{Budget, Purse};
use super::files::Pool;
use super::known::{Known, Taken};
use super::surroundings::Surroundings;
use super::taskstats::{Taskstats, Unavailable};
use super::{Settings, by_procfs, by_taskstats, numbering};
use crate::clock;
use crate::observe::stall::{HostUnknown, StallSample};
use crate::observe::{Mono, ProcessId, Span, StallRead};
use crate::poll::residents::Resident;

/// Share of a core that sampling may take.
const SHARE: f64 = 0.0105;
/// And from `/proc`, where a share buys so little that more would not help either.
const PROCFS_SHARE: f64 = 0.01;

/// Ticks between two breaks of taskstats after which they are tried again.
const RARELY: u64 = 1000;

/// What the ways of sampling work on in one tick.
pub struct Round<'a> {
    /// The processes.
    pub known: &'a mut [Known],
    /// What they share.
    pub around: &'a mut Surroundings,
    /// CPU time in hand.
    pub purse: &'a mut Purse,
    /// Number of the tick, from 1.
    pub tick: u64,
}

/// The sampler. Lives on one thread, whose CPU time it counts.
pub struct Sampler {
    known: Vec<Known>,
    around: Surroundings,
    pub(super) purse: Purse,
    taskstats: Option<Taskstats>,
    stall_poll: Duration,
    tick: u64,
    last: Option<Mono>,
    /// Tick in which taskstats broke off last.
    broke: Option<u64>,
}

impl Sampler {
    /// Finds out which way is open and says so.
    pub fn new(settings: &Settings) -> Self {
        let procfs = &settings.paths.procfs;
        let opened = match numbering::differs(procfs) {
            Some(why) => Err(why),
            None => Taskstats::open().map_err(|e| e.to_string()),
        };
        match &opened {
            Ok(_) => tracing::info!(way = "taskstats", "stalls of processes are sampled"),
            Err(why) => tracing::info!(
                way = "procfs",
                why,
                "stalls of processes are sampled thread by thread, within a budget of CPU time"
            ),
        }
        Self::with(settings, opened.ok(), Pool::of_self())
    }

    /// One that goes this way and holds so many files.
    pub fn with(settings: &Settings, taskstats: Option<Taskstats>, pool: Pool) -> Self {
        let around = Surroundings::new(settings.paths.clone(), pool, settings.poll_interval);
        let purse = own_purse(taskstats.is_some(), settings.stall_poll);
        let stall_poll = settings.stall_poll;
        Self {
            known: Vec::new(),
            around,
            purse,
            taskstats,
            stall_poll,
            tick: 0,
            last: None,
            broke: None,
        }
    }

    /// Takes one sample of these processes, as far as the budget goes.
    pub fn sample(&mut self, residents: &[Resident]) -> StallRead {
        let sent = clock::mono();
        self.tick += 1;
        let elapsed = self.last.replace(sent).map(|last| sent.since(last)).unwrap_or_default();
        self.purse.begin(elapsed);
        self.settle(residents);
        self.around.begin(sent);
        let taken = self.round();
        let mut samples = Vec::with_capacity(taken.len());
        for Taken { at, span, seen } in taken {
            let Some(known) = self.known.get(at) else { continue };
            samples.extend(known.workers.iter().map(|worker| StallSample {
                worker: Arc::clone(worker),
                process: known.id,
                span,
                seen: seen.clone(),
            }));
        }
        self.purse.settle();
        StallRead { span: Span { sent, done: clock::mono() }, samples }
    }

    /// Forgets processes that stand for nobody any more and begins with new ones.
    fn settle(&mut self, residents: &[Resident]) {
        let mut workers: BTreeMap<ProcessId, Vec<Arc<str>>> = BTreeMap::new();
        for resident in residents.iter().filter(|r| r.process.pid > 0) {
            workers.entry(resident.process).or_default().push(Arc::clone(&resident.worker));
        }
        self.known.retain(|k| workers.contains_key(&k.id));
        for known in &mut self.known {
            known.workers = workers.remove(&known.id).unwrap_or_default();
        }
        let procfs = &self.around.paths.procfs;
        self.known.extend(workers.into_iter().map(|(id, workers)| {
            let mut known = Known::new(id, procfs);
            known.workers = workers;
            known
        }));
    }

    fn round(&mut self) -> Vec<Taken> {
        let (around, purse, tick) = (&mut self.around, &mut self.purse, self.tick);
        let mut round = Round { known: &mut self.known, around, purse, tick };
        let mut taken = match &mut self.taskstats {
            Some(taskstats) => match by_taskstats::sample(&mut round, taskstats) {
                Ok(taken) => taken,
                Err(e) => {
                    self.reopen(e);
                    return Vec::new();
                }
            },
            None => by_procfs::sample(&mut round),
        };
        let ended = self.known.iter().enumerate().filter(|(_, k)| k.has_ended && k.sampled != tick);
        let now = clock::mono();
        taken.extend(ended.map(|(at, _)| Taken {
            at,
            span: Span { sent: now, done: now },
            seen: Err(HostUnknown::Gone),
        }));
        taken
    }

    /// Tries for a new connection after one broke, and else goes the other way from now on.
    fn reopen(&mut self, broken: Unavailable) {
        let is_rare = self.broke.is_none_or(|last| self.tick - last > RARELY);
        self.broke = Some(self.tick);
        tracing::warn!(error = %broken, "taskstats broke off: no samples of stalls in this tick");
        self.taskstats = is_rare.then(Taskstats::open).and_then(Result::ok);
        if self.taskstats.is_none() {
            tracing::warn!(way = "procfs", "stalls are sampled thread by thread from now on");
            self.purse = own_purse(false, self.stall_poll);
            // Sums of threads read one by one do not continue the kernel's: begin anew with everybody.
            self.known.clear();
        }
    }
}

/// The budget of one way, on this thread's clock.
fn own_purse(by_taskstats: bool, stall_poll: Duration) -> Purse {
    let share = if by_taskstats { SHARE } else { PROCFS_SHARE };
    Purse::new(Budget::new(share, stall_poll), || {
        let t = clock_gettime(ClockId::ThreadCPUTime);
        let secs = Duration::from_secs(t.tv_sec.try_into().unwrap_or(0));
        secs + Duration::from_nanos(t.tv_nsec.try_into().unwrap_or(0))
    })
}
