//! The worst stall of real processes against what they measured themselves: whatever is done to them, the lower bound is
//! not above their own longest gap, and the upper bound not below it.

use std::process::Command;
use std::time::Duration;

use dlock_exporter::clock;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::{
    Aviary, Canary, Cgroup, Exporter, ExporterSetup, Group, Metrics, for_a_while, not_tested,
    wait_until,
};

const FAMILY: &str = "dlock_worker_worst_stall_seconds";
const ROUNDS: usize = 8;
const IN_ROUND: usize = 25;
const STALL_POLL: Duration = Duration::from_millis(200);
const POLL: Duration = Duration::from_millis(600);

/// What is done to a canary.
enum Trouble {
    None,
    Stop,
    V2(Cgroup),
    V1(Cgroup),
    Quota(Quota),
}

/// A cgroup with a CPU quota.
struct Quota(std::path::PathBuf);

impl Quota {
    fn make(name: &str) -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
        let mount = mounts.lines().find_map(|l| {
            let mut words = l.split(' ').skip(1);
            let (point, kind, options) = (words.next()?, words.next()?, words.next()?);
            (kind == "cgroup" && options.split(',').any(|o| o == "cpu")).then_some(point)
        })?;
        let dir = std::path::Path::new(mount).join(name);
        std::fs::create_dir(&dir).ok()?;
        Some(Self(dir))
    }

    fn write(&self, file: &str, text: &str) -> bool {
        std::fs::write(self.0.join(file), text).is_ok()
    }

    fn lift(&self) {
        self.write("cpu.cfs_quota_us", "-1");
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        self.lift();
        let above = self.0.parent().unwrap().join("cgroup.procs");
        for pid in std::fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default().lines()
        {
            let _ = std::fs::write(&above, pid);
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Numbers that differ from run to run; the seed is told when something fails.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}

struct Victim {
    worker: String,
    canary: Canary,
    trouble: Trouble,
    /// When it is kept and when let go, after the beginning, several times.
    times: Vec<(Duration, Duration)>,
    is_kept: bool,
}

impl Victim {
    fn keep(&mut self) {
        match &self.trouble {
            Trouble::None => {}
            Trouble::Stop => self.canary.group.signal(Signal::STOP),
            Trouble::V2(cgroup) | Trouble::V1(cgroup) => cgroup.freeze(),
            Trouble::Quota(quota) => {
                quota.write("cpu.cfs_quota_us", "10000");
            }
        }
        self.is_kept = true;
    }

    fn let_go(&mut self) {
        match &self.trouble {
            Trouble::None => {}
            Trouble::Stop => self.canary.group.signal(Signal::CONT),
            Trouble::V2(cgroup) | Trouble::V1(cgroup) => cgroup.thaw(),
            Trouble::Quota(quota) => quota.lift(),
        }
        self.is_kept = false;
    }

    fn kind(&self) -> &'static str {
        match self.trouble {
            Trouble::None => "none",
            Trouble::Stop => "stop",
            Trouble::V2(_) => "v2 freezer",
            Trouble::V1(_) => "v1 freezer",
            Trouble::Quota(_) => "quota",
        }
    }
}

fn victim(aviary: &Aviary, round: usize, n: usize, random: &mut Random) -> Victim {
    let worker = format!("v-{round}-{n}");
    // A few spin; all of them would leave nothing for each other.
    let nap = match n % 12 {
        0 => Duration::ZERO,
        _ => Duration::from_micros(500 << random.below(9)),
    };
    let threads = 1 + random.below(3) as usize;
    let canary = aviary.canary(&worker, threads, nap);
    let name = format!("dlock_stalls_{}_{round}_{n}", std::process::id());
    let into = |cgroup: Cgroup| {
        cgroup.add(canary.group.pid());
        cgroup
    };
    let trouble = match n % 6 {
        0 | 1 => Trouble::Stop,
        2 => Cgroup::v2(&name).map_or(Trouble::Stop, |c| Trouble::V2(into(c))),
        3 => Cgroup::v1(&name).map_or(Trouble::Stop, |c| Trouble::V1(into(c))),
        4 => match Quota::make(&name) {
            Some(q) if q.write("cgroup.procs", &canary.group.pid().to_string()) => {
                Trouble::Quota(q)
            }
            _ => Trouble::Stop,
        },
        _ => Trouble::None,
    };
    let mut times = Vec::new();
    let mut at = random.millis(0, 600);
    for _ in 0..=random.below(2) {
        let length = match random.below(3) {
            0 => random.millis(5, 200),
            1 => random.millis(200, 700),
            _ => random.millis(700, 2200),
        };
        times.push((at, at + length));
        at += length + random.millis(400, 900);
    }
    Victim { worker, canary, trouble, times, is_kept: false }
}

fn bound(m: &Metrics, worker: &str, bound: &str) -> Option<f64> {
    m.value(FAMILY, &[("worker", worker), ("bound", bound)])
}

/// Waits until all that was so far has been seen by every source.
fn settle(exporter: &Exporter) {
    let polls = || {
        let labels = [("poller", "stall"), ("target", "host")];
        exporter.metrics().value("dlock_exporter_polls_total", &labels).unwrap_or_default()
    };
    let enough = polls() + 3.0 + 2.0 * (POLL.as_secs_f64() / STALL_POLL.as_secs_f64());
    wait_until("some samples", Duration::from_secs(30), || (polls() >= enough).then_some(()));
}

fn rivals(dir: &TempDir) -> Vec<Group> {
    let spin = |n: usize| {
        let words = ["-c", "while :; do :; done"];
        Group::start("rival", Command::new("sh").args(words), &dir.path().join(format!("rival{n}")))
    };
    (0..3).map(spin).collect()
}

/// Takes one CPU from everybody for a while, where that is permitted.
fn hog(aviary: &Aviary, length: Duration) -> bool {
    let status = Command::new("chrt")
        .args(["-f", "50", "taskset", "-c", "0"])
        .args(aviary.hog(length))
        .stderr(std::process::Stdio::null())
        .status();
    status.is_ok_and(|s| s.success())
}

fn disturb(
    victims: &mut [Victim],
    round: usize,
    dir: &TempDir,
    aviary: &Aviary,
    random: &mut Random,
) {
    let _rivals = if round % 2 == 1 { rivals(dir) } else { Vec::new() };
    let begun = clock::mono();
    let end = victims.iter().flat_map(|v| &v.times).map(|(_, to)| *to).max().unwrap_or_default();
    let mut hogs = if round % 4 >= 2 { 2 } else { 0 };
    while clock::mono().since(begun) < end || victims.iter().any(|v| v.is_kept) {
        let now = clock::mono().since(begun);
        for v in victims.iter_mut() {
            let wanted = v.times.iter().any(|(from, to)| (*from..*to).contains(&now));
            match (wanted, v.is_kept) {
                (true, false) => v.keep(),
                (false, true) => v.let_go(),
                _ => {}
            }
        }
        if hogs > 0 && now > Duration::from_millis(700) * (3 - hogs) {
            hogs -= 1;
            if !hog(aviary, random.millis(150, 450)) {
                not_tested("a process that takes a CPU from all others");
                hogs = 0;
            }
        }
        for_a_while(Duration::from_millis(3));
    }
}

#[test]
fn the_bounds_hold_what_two_hundred_processes_measured_themselves() {
    let _alone = crate::support::whole_machine();
    let dir = TempDir::new().unwrap();
    let Some(aviary) = Aviary::build(dir.path()) else { return };
    let names: Vec<String> =
        (0..ROUNDS).flat_map(|r| (0..IN_ROUND).map(move |n| format!("v-{r}-{n}"))).collect();
    let exporter = ExporterSetup::file(&format!(
        "poll_interval: {}ms\nstall_poll: {}ms\nworkers:\n  v: {{ names: [{}], process: {{ pid_file: '{}/{{worker}}.pid' }} }}\n",
        POLL.as_millis(),
        STALL_POLL.as_millis(),
        names.join(", "),
        dir.path().display()
    ))
    .start();
    let seed = u64::from(std::process::id()) ^ clock::mono().0;
    let mut random = Random(seed);
    let (mut wrong, mut trials, mut told) = (Vec::new(), 0, Vec::new());
    for round in 0..ROUNDS {
        let mut victims: Vec<Victim> =
            (0..IN_ROUND).map(|n| victim(&aviary, round, n, &mut random)).collect();
        for v in &victims {
            let pid = v.canary.group.pid().to_string();
            std::fs::write(dir.path().join(format!("{}.pid", v.worker)), pid).unwrap();
        }
        wait_until("each has been sampled", Duration::from_secs(30), || {
            let m = exporter.metrics();
            victims.iter().all(|v| bound(&m, &v.worker, "upper").is_some()).then_some(())
        });
        victims.iter().for_each(|v| v.canary.mark());
        disturb(&mut victims, round, &dir, &aviary, &mut random);
        let before: Vec<Duration> = victims.iter().map(|v| v.canary.longest_since_mark()).collect();
        settle(&exporter);
        let m = exporter.metrics();
        for (v, marked) in victims.iter().zip(before) {
            let own = v.canary.longest().as_secs_f64();
            let marked = marked.as_secs_f64();
            let bounds = (bound(&m, &v.worker, "lower"), bound(&m, &v.worker, "upper"));
            let (Some(lower), Some(upper)) = bounds else {
                wrong.push(format!("{} is not told: {bounds:?}", v.worker));
                continue;
            };
            trials += 1;
            let what = format!(
                "{} ({}, naps {:?}, kept {:?}): {lower:.4} <= {own:.4} (since the mark {marked:.4}) <= {upper:.4}",
                v.worker,
                v.kind(),
                v.canary.nap,
                v.times
            );
            // A canary knows its gaps to one of its naps, within which a stall may begin unfelt; a look at the clock and
            // its record take a while too.
            let loop_period = v.canary.nap.as_secs_f64() + 0.001;
            if lower > own + loop_period || marked > upper + 0.001 {
                wrong.push(what.clone());
            }
            // What lasts for many samples is not missed.
            let is_stop = matches!(v.trouble, Trouble::Stop | Trouble::V2(_) | Trouble::V1(_));
            if is_stop && marked > 8.0 * STALL_POLL.as_secs_f64() && lower < marked / 2.0 {
                wrong.push(format!("too little: {what}"));
            }
            told.push(upper - marked);
        }
    }
    told.sort_by(f64::total_cmp);
    assert!(wrong.is_empty(), "seed {seed}, {} of {trials}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(trials, ROUNDS * IN_ROUND);
    // It says something: most bounds are within a few samples of the truth.
    let median = told[told.len() / 2];
    assert!(median < 8.0 * STALL_POLL.as_secs_f64(), "too wide by {median:.3} s in the middle");
}
