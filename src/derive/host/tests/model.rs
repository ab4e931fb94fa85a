//! The sampler as its facts promise it: sums first, then the state if nothing moved, then each thread; cgroup and JVM after
//! it. Feeds a [`Host`] from the model of the kernel.

use std::sync::Arc;
use std::time::Duration;

use super::kernel::{Counters, Doing, Keeper, MS, Process, Random, Thread, Weather};
use crate::derive::host::{Host, StallRules};
use crate::observe::cgroup::{Cgroup, Pressure, Throttling, Waiting};
use crate::observe::jvm::Jvm;
use crate::observe::stall::{HostUnknown, SampleWay, Scheduling, StallSample, Threads};
use crate::observe::worker::ProcessState;
use crate::observe::{CgroupRead, JvmRead, Mono, ProcessId, Span};

pub const RULES: StallRules = StallRules {
    stall_poll: Duration::from_millis(500),
    poll: Duration::from_secs(2),
    window: Duration::from_secs(3600),
};
pub const PROCESS: ProcessId = ProcessId { pid: 4711, start_ticks: 99 };
/// The model begins so long after boot.
const BOOT: u64 = 1_000_000;

pub fn mono(ms: u64) -> Mono {
    Mono((BOOT + ms) * MS)
}

pub struct Lab {
    pub process: Process,
    pub host: Host,
    pub random: Random,
    pub schedule: Vec<(u64, u64, Trouble)>,
    pub by_v1: bool,
    /// Of a hundred samples so many have single threads.
    pub each_percent: u64,
    pub is_jvm: bool,
    /// Whether a freeze cannot be read.
    pub hides_freezes: bool,
    sums: Option<Counters>,
    looked: Option<(Span, Vec<ThreadSeen>)>,
    cgroup_due: u64,
}

/// A thread's counters, and since when it has been runnable without moving, and at the earliest in state D.
type ThreadSeen = (Counters, Option<Mono>, Option<Mono>);

/// One trouble of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Stop,
    Freeze,
    Hog,
    Rivals(u64, u64),
    Safepoint,
    Memory(u64, u64),
    Io(u64, u64),
    /// Keeps a thread in state D without pressure.
    Other(u64, u64),
}

impl Lab {
    pub fn new(seed: u64, beats: &[Option<(u64, u64)>]) -> Self {
        Self {
            process: Process::new(beats),
            host: Host::default(),
            random: Random(seed),
            schedule: Vec::new(),
            by_v1: false,
            each_percent: 100,
            is_jvm: false,
            hides_freezes: false,
            sums: None,
            looked: None,
            cgroup_due: 0,
        }
    }

    fn weather(&self, at: u64) -> Weather {
        let mut w = Weather { by_v1: self.by_v1, ..Weather::default() };
        for (_, _, trouble) in
            self.schedule.iter().filter(|(from, to, _)| (*from..*to).contains(&at))
        {
            match *trouble {
                Trouble::Stop => w.stop = true,
                Trouble::Freeze => w.freeze = true,
                Trouble::Hog => w.hog = true,
                Trouble::Rivals(back, gets) => w.rivals = Some((back, gets)),
                Trouble::Safepoint => w.safepoint = true,
                Trouble::Memory(chance, most) => w.keeps = Some((chance, most, Keeper::Memory)),
                Trouble::Io(chance, most) => w.keeps = Some((chance, most, Keeper::Io)),
                Trouble::Other(chance, most) => w.keeps = Some((chance, most, Keeper::Other)),
            }
        }
        w
    }

    pub fn run_until(&mut self, ms: u64) {
        while self.process.now < ms {
            let weather = self.weather(self.process.now);
            self.process.step(weather, &mut self.random);
        }
    }

    fn pause(&mut self, most: u64) {
        let ms = match self.random.chance(70) {
            true => 0,
            false => self.random.range(0, most + 1),
        };
        self.run_until(self.process.now + ms);
    }

    fn now(&self) -> Mono {
        mono(self.process.now)
    }

    /// One sample, with all that comes after it.
    pub fn sample(&mut self) {
        let sent = self.now();
        self.pause(2);
        let sums = self.process.threads.iter().fold(Counters::default(), |sum, t| Counters {
            on_cpu: sum.on_cpu + t.shown.on_cpu,
            waited: sum.waited + t.shown.waited,
            slices: sum.slices + t.shown.slices,
            longest: 0,
        });
        let is_still = self.sums.replace(sums) == Some(sums);
        self.pause(4);
        let (mut state, mut frozen) = (None, None);
        if is_still {
            state = self.process.threads.first().map(|t| state_of(t, self.by_v1));
            let is_frozen = self.weather(self.process.now).freeze && self.is_all_frozen();
            frozen = (!self.hides_freezes).then_some(is_frozen);
        }
        self.pause(4);
        let each = if self.random.chance(self.each_percent) { self.look() } else { None };
        self.pause(2);
        let seen = Scheduling {
            way: SampleWay::Taskstats,
            on_cpu: Duration::from_nanos(sums.on_cpu),
            waited: Duration::from_nanos(sums.waited),
            slices: sums.slices,
            involuntary: None,
            threads: self.process.threads.len() as u64,
            state,
            frozen,
            each,
        };
        let span = Span { sent, done: self.now() };
        self.host.stall(
            &StallSample { worker: worker(), process: PROCESS, span, seen: Ok(seen) },
            RULES,
        );
        if self.is_jvm {
            self.jvm();
        }
        if self.process.now >= self.cgroup_due {
            self.cgroup_due = self.process.now + 2000;
            self.cgroup();
        }
    }

    fn is_all_frozen(&self) -> bool {
        self.process.threads.iter().all(|t| t.doing == Doing::Frozen)
    }

    fn look(&mut self) -> Option<Threads> {
        let sent = self.now();
        let before = self.looked.take();
        let mut all = Vec::new();
        let mut each = Threads {
            since: before.as_ref().map_or(Span { sent, done: sent }, |(span, _)| *span),
            most_waited: Duration::ZERO,
            mean_wait: Duration::ZERO,
            longest_wait: None,
            wait_limit: None,
            busiest: Duration::ZERO,
            unmoved_runnable: None,
            kept_since: None,
            runnable: 0,
            beyond_cap: 0,
        };
        let done = self.now();
        for (i, t) in self.process.threads.iter().enumerate() {
            let (now, is_runnable) = (t.shown, is_runnable(t));
            each.runnable += u64::from(is_runnable);
            let prior = before.as_ref().and_then(|(_, list)| list.get(i).copied());
            let (was, since, kept) = prior.unwrap_or_default();
            let has_run = (was.on_cpu, was.slices) != (now.on_cpu, now.slices);
            let still = since.filter(|_| is_runnable && !has_run);
            let kept = matches!(state_of(t, self.by_v1), ProcessState::DiskSleep)
                .then(|| kept.filter(|_| !has_run).unwrap_or(each.since.sent));
            each.kept_since = [each.kept_since, kept].into_iter().flatten().min();
            all.push((now, is_runnable.then(|| still.unwrap_or(done)), kept));
            let (waited, slices) = (now.waited - was.waited, now.slices - was.slices);
            // A part that was booked without a slice makes one more, if the thread waits still.
            let parts = if is_runnable && slices > 0 { slices + 1 } else { slices.max(1) };
            let ns = Duration::from_nanos;
            each.most_waited = each.most_waited.max(ns(waited));
            each.mean_wait = each.mean_wait.max(ns(waited / parts));
            if now.longest > was.longest {
                each.longest_wait = each.longest_wait.max(Some(ns(now.longest)));
            }
            each.wait_limit = each.wait_limit.max(Some(ns(now.longest)));
            let earlier = if since.is_some() { waited.min(now.longest) } else { 0 };
            each.busiest = each.busiest.max(ns(now.on_cpu - was.on_cpu + waited - earlier));
            each.unmoved_runnable = each.unmoved_runnable.max(still.map(|s| sent.since(s)));
        }
        self.looked = Some((Span { sent, done }, all));
        before.map(|_| each)
    }

    fn cgroup(&mut self) {
        let span = Span { sent: self.now(), done: self.now() };
        let pressure = |total: u64| {
            let some = Waiting { share: 0.0, total: Duration::from_millis(total) };
            Ok(Pressure { some, full: None })
        };
        let throttling = Throttling { periods: 0, throttled: Duration::ZERO, period: None };
        let seen = Ok(Cgroup {
            path: "/a".into(),
            memory: pressure(self.process.memory),
            cpu: Err(HostUnknown::Unsupported),
            io: pressure(self.process.io),
            oom_kills: Ok(0),
            throttling: Ok(throttling),
            frozen: Ok(false),
            frozen_total: None,
            memory_bytes: Ok(0),
            memory_limit: Ok(None),
        });
        let detail = String::new();
        let read = CgroupRead { worker: worker(), process: PROCESS, span, seen, detail };
        self.host.cgroup(&read, RULES);
    }

    fn jvm(&mut self) {
        let span = Span { sent: self.now(), done: self.now() };
        let jvm = Jvm {
            ticks: None,
            collectors: Vec::new(),
            safepoints: Some(self.process.safepoints),
            safepoint_time: Some(Duration::from_millis(self.process.safepoint_time)),
            sync_time: Some(Duration::ZERO),
            version: "17".into(),
            sync_is_included: false,
        };
        let detail = String::new();
        let read = JvmRead { worker: worker(), process: PROCESS, span, seen: Ok(jvm), detail };
        self.host.jvm(&read, RULES);
    }

    /// At least and at most, in milliseconds, as of the last reads.
    pub fn worst(&self) -> (f64, f64) {
        let worst = self.host.worst_stall(self.now(), RULES).expect("sampled");
        let upper = worst.upper.expect("sampled just now");
        (worst.lower.length.as_secs_f64() * 1e3, upper.length.as_secs_f64() * 1e3)
    }
}

pub fn worker() -> Arc<str> {
    "orders-1".into()
}

fn is_runnable(t: &Thread) -> bool {
    matches!(t.doing, Doing::Running | Doing::Waiting)
}

fn state_of(t: &Thread, by_v1: bool) -> ProcessState {
    match t.doing {
        Doing::Running | Doing::Waiting => ProcessState::Running,
        Doing::Stopped => ProcessState::Stopped,
        Doing::Frozen if by_v1 => ProcessState::DiskSleep,
        Doing::Sleeping(_) | Doing::Blocked | Doing::Frozen => ProcessState::Sleeping,
        Doing::Kept(..) => ProcessState::DiskSleep,
    }
}
