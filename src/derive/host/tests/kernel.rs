//! A model of what the kernel does to the threads of one process, millisecond by millisecond, and of what it counts: a wait
//! is booked when it ends, or in part when the thread is moved to another queue; running time shows at the tick or when
//! the thread leaves the CPU; pressure shows at once; a stop or freeze needs the CPU, but for sleepers under a v1 freezer.

/// A generator of numbers that a seed repeats.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// At least `low`, below `high`.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low).max(1)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Running,
    /// In the run queue.
    Waiting,
    /// Until then, of its own will.
    Sleeping(u64),
    /// By a safepoint.
    Blocked,
    Stopped,
    Frozen,
    /// Until then by that, in state D.
    Kept(u64, Keeper),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    Memory,
    Io,
    /// What no pressure books.
    Other,
}

/// Times in nanoseconds, as the kernel shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub on_cpu: u64,
    pub waited: u64,
    pub slices: u64,
    pub longest: u64,
}

pub const MS: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub struct Thread {
    pub doing: Doing,
    /// Runs so many milliseconds, then sleeps so many; a spinner never sleeps.
    beat: Option<(u64, u64)>,
    ran: u64,
    /// What it goes back to after a stop.
    sleeps_until: Option<u64>,
    pub shown: Counters,
    /// On the CPU since the last tick that was booked.
    unbooked: u64,
    queued: u64,
    /// How long it has not run although it wanted to, and how long it could not have run.
    pub gap: u64,
    pub still: u64,
    pub worst_gap: u64,
    pub worst_still: u64,
}

/// What happens to the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    pub stop: bool,
    pub freeze: bool,
    pub by_v1: bool,
    /// Nobody of it gets a CPU.
    pub hog: bool,
    /// Chance in percent for a running thread to be put back, and for a waiting one to get the CPU, each millisecond.
    pub rivals: Option<(u64, u64)>,
    pub safepoint: bool,
    /// Chance in percent that a running thread is kept, for how long, and by what.
    pub keeps: Option<(u64, u64, Keeper)>,
}

#[derive(Clone, Debug, Default)]
pub struct Process {
    pub threads: Vec<Thread>,
    pub memory: u64,
    pub io: u64,
    pub safepoints: u64,
    pub safepoint_time: u64,
    safepoint_now: u64,
    /// Waiting threads are moved from queue to queue.
    pub is_moved: bool,
    pub now: u64,
}

impl Process {
    pub fn new(beats: &[Option<(u64, u64)>]) -> Self {
        let thread = |beat: &Option<(u64, u64)>| Thread {
            doing: Doing::Waiting,
            beat: *beat,
            ran: 0,
            sleeps_until: None,
            shown: Counters { on_cpu: MS, slices: 1, ..Counters::default() },
            unbooked: 0,
            queued: 0,
            gap: 0,
            still: 0,
            worst_gap: 0,
            worst_still: 0,
        };
        Self { threads: beats.iter().map(thread).collect(), is_moved: true, ..Self::default() }
    }

    /// One millisecond.
    pub fn step(&mut self, w: Weather, random: &mut Random) {
        let now = self.now;
        match (w.safepoint, self.safepoint_now) {
            (true, 0) => (self.safepoints, self.safepoint_now) = (self.safepoints + 1, 1),
            // The thread that ends it must run too.
            (true, _) => self.safepoint_now += 1,
            (false, 0) => {}
            (false, _) if w.stop || w.freeze || w.hog => self.safepoint_now += 1,
            (false, n) => (self.safepoint_time, self.safepoint_now) = (self.safepoint_time + n, 0),
        }
        let in_safepoint = self.safepoint_now > 0;
        for t in &mut self.threads {
            t.step(now, w, in_safepoint, self.is_moved, random);
        }
        let kept = |keeper: Keeper| {
            self.threads.iter().any(|t| matches!(t.doing, Doing::Kept(_, by) if by == keeper))
        };
        let (memory, io) = (kept(Keeper::Memory), kept(Keeper::Io));
        self.memory += u64::from(memory);
        self.io += u64::from(io);
        self.now += 1;
    }

    pub fn worst_gap(&self) -> u64 {
        self.threads.iter().map(|t| t.worst_gap).max().unwrap_or(0)
    }

    pub fn worst_still(&self) -> u64 {
        self.threads.iter().map(|t| t.worst_still).max().unwrap_or(0)
    }
}

impl Thread {
    fn step(
        &mut self,
        now: u64,
        w: Weather,
        in_safepoint: bool,
        is_moved: bool,
        random: &mut Random,
    ) {
        let halts = w.stop || w.freeze;
        let mut progressed = false;
        match self.doing {
            Doing::Sleeping(until) => {
                if w.freeze && w.by_v1 {
                    // Taken where it lies.
                    self.sleeps_until = Some(until);
                    self.doing = Doing::Frozen;
                } else if halts {
                    self.sleeps_until = Some(until);
                    self.enqueue(now);
                } else if now >= until {
                    self.enqueue(now);
                }
            }
            Doing::Stopped | Doing::Frozen => {
                let goes_on = match self.doing {
                    Doing::Stopped => !w.stop,
                    _ => !w.freeze,
                };
                if goes_on {
                    match self.sleeps_until {
                        Some(until) if self.doing == Doing::Frozen && w.by_v1 && now < until => {
                            self.doing = Doing::Sleeping(until);
                        }
                        _ => self.enqueue(now),
                    }
                }
            }
            Doing::Blocked => {
                if halts || !in_safepoint {
                    self.enqueue(now);
                }
            }
            Doing::Kept(until, _) => {
                if now >= until {
                    self.enqueue(now);
                }
            }
            Doing::Waiting | Doing::Running => {}
        }
        if self.doing == Doing::Waiting {
            let gets = match w.rivals {
                _ if w.hog => false,
                Some((_, gets)) => random.chance(gets),
                None => true,
            };
            if gets {
                self.book_wait(now);
                self.shown.slices += 1;
                self.doing = Doing::Running;
            } else if is_moved && random.chance(3) {
                // Moved to another queue: the wait so far is booked, and goes on.
                self.book_wait(now);
                self.queued = now;
            }
        } else if self.doing == Doing::Running
            && (w.hog || w.rivals.is_some_and(|(back, _)| random.chance(back)))
        {
            self.leave_cpu();
            self.enqueue(now);
        }
        if self.doing == Doing::Running {
            if halts {
                self.shown.on_cpu += MS / 50;
                self.leave_cpu();
                self.doing = if w.stop { Doing::Stopped } else { Doing::Frozen };
            } else if in_safepoint {
                self.leave_cpu();
                self.doing = Doing::Blocked;
            } else if let Some(until) = self.sleeps_until.take().filter(|u| *u > now) {
                self.shown.on_cpu += MS / 50;
                self.leave_cpu();
                self.doing = Doing::Sleeping(until);
            } else {
                progressed = true;
                self.run(now, w, random);
            }
        }
        self.account(now, progressed, in_safepoint, halts);
    }

    fn run(&mut self, now: u64, w: Weather, random: &mut Random) {
        self.unbooked += MS;
        if now.is_multiple_of(4) {
            self.shown.on_cpu += std::mem::take(&mut self.unbooked);
        }
        self.ran += 1;
        if let Some((chance, most, by)) = w.keeps
            && random.chance(chance)
        {
            self.leave_cpu();
            self.doing = Doing::Kept(now + 1 + random.range(1, most), by);
        } else if let Some((runs, sleeps)) = self.beat
            && self.ran >= runs
        {
            self.ran = 0;
            self.leave_cpu();
            self.doing = Doing::Sleeping(now + sleeps);
        }
    }

    /// Whether it made progress in this millisecond, wanted to, or could have.
    fn account(&mut self, now: u64, progressed: bool, in_safepoint: bool, halts: bool) {
        let is_asleep = matches!(self.doing, Doing::Sleeping(until) if until > now + 1);
        let is_due = self.sleeps_until.is_none_or(|until| until <= now);
        let is_at_ease = progressed || is_asleep;
        if is_at_ease || !is_due {
            self.gap = 0;
        } else {
            self.gap += 1;
        }
        let could = progressed || (is_asleep && !in_safepoint && !halts);
        self.still = if could { 0 } else { self.still + 1 };
        self.worst_gap = self.worst_gap.max(self.gap);
        self.worst_still = self.worst_still.max(self.still);
    }

    fn enqueue(&mut self, now: u64) {
        self.doing = Doing::Waiting;
        self.queued = now;
    }

    fn book_wait(&mut self, now: u64) {
        let waited = (now - self.queued) * MS;
        self.shown.waited += waited;
        self.shown.longest = self.shown.longest.max(waited);
    }

    fn leave_cpu(&mut self) {
        self.shown.on_cpu += std::mem::take(&mut self.unbooked);
    }
}
