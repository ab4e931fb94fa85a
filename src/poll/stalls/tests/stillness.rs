//! What does not move is told apart: stopped, frozen, asleep, dead.

use rustix::process::Signal;

use super::*;
use crate::observe::worker::ProcessState;

#[test]
fn stopped_asleep_and_dead() {
    for (way, mut sampler) in both() {
        let mut child = Mortal::sh("exec sleep 600");
        let residents = [resident(child.pid())];
        let asleep = |s: &StallSample| counters(s).state == Some(ProcessState::Sleeping);
        let sleeping = until(&mut sampler, &residents, "asleep", asleep);
        assert_eq!(counters(&sleeping).way, way);
        child.signal(Signal::STOP);
        let is_stopped = |s: &StallSample| counters(s).state == Some(ProcessState::Stopped);
        until(&mut sampler, &residents, "stopped", is_stopped);
        child.signal(Signal::CONT);
        until(&mut sampler, &residents, "asleep again", asleep);
        // A corpse that nobody has buried, and then nothing.
        child.0.kill().unwrap();
        let gone = |s: &StallSample| s.seen == Err(HostUnknown::Gone);
        until(&mut sampler, &residents, "gone while a zombie", gone);
        child.0.wait().unwrap();
        until(&mut sampler, &residents, "gone", gone);
        assert!(gone(&sampler.sample(&residents).samples[0]), "gone for good");
        assert!(sampler.sample(&[]).samples.is_empty());
    }
}

#[test]
fn a_leader_that_exited_does_not_hide_its_threads() {
    // The main thread of a process can end before the others.
    let script = "
import ctypes, threading, time
threading.Thread(target=lambda: time.sleep(600)).start()
ctypes.CDLL(None).syscall(60, 0)
";
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: the number of exit(2) is that of x86-64");
        return;
    }
    for (_, mut sampler) in both() {
        let child = Mortal(Command::new("python3").args(["-c", script]).spawn().unwrap());
        let pid = child.pid();
        let residents = [resident(pid)];
        let deadline = clock::mono().plus(Duration::from_secs(20));
        let leader = || std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).unwrap();
        while !leader().contains(") Z ") {
            assert!(clock::mono() < deadline, "{}", leader());
            std::thread::sleep(Duration::from_millis(10));
        }
        let sample = until(&mut sampler, &residents, "a state", |s| {
            counters(s).state.is_some() && counters(s).threads == 2
        });
        assert_eq!(counters(&sample).state, Some(ProcessState::Sleeping), "{sample:?}");
    }
}

/// A real cgroup; its processes leave it when it is dropped.
struct Cage(PathBuf);

impl Drop for Cage {
    fn drop(&mut self) {
        let _ = std::fs::write(self.0.join("cgroup.freeze"), "0");
        let _ = std::fs::write(self.0.join("cgroup.kill"), "1");
        let until = clock::mono().plus(Duration::from_secs(5));
        while std::fs::remove_dir(&self.0).is_err() && clock::mono() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Cage {
    fn new(name: &str) -> Option<Self> {
        let mounts = crate::poll::mounts::Mounts::of_self().unwrap();
        let Some(mount) = mounts.cgroup2() else {
            println!("skipped: no cgroup v2 mount");
            return None;
        };
        let cage = Self(mount.point.join(format!("dlock_{name}_{}", std::process::id())));
        if let Err(e) = std::fs::create_dir(&cage.0) {
            println!("skipped: cannot make {}: {e}", cage.0.display());
            return None;
        }
        Some(cage)
    }
}

/// Samplers that look around once an hour.
fn rarely_looking() -> Vec<Sampler> {
    let mut settings = settings("/proc");
    settings.poll_interval = Duration::from_secs(3600);
    let mut all = vec![Sampler::with(&settings, None, Pool::of(64))];
    if let Some(taskstats) = crate::poll::stalls::taskstats::tests::kernel() {
        all.push(Sampler::with(&settings, Some(taskstats), Pool::of(64)));
    }
    for sampler in &mut all {
        sampler.purse = Purse::new(Budget::new(1.0, settings.stall_poll), || Duration::ZERO);
    }
    all
}

#[test]
fn who_is_moved_into_a_frozen_cgroup_is_seen_however_rarely_the_rest_is_read() {
    let Some(cage) = Cage::new("moved") else { return };
    std::fs::write(cage.0.join("cgroup.freeze"), "1").unwrap();
    for mut sampler in rarely_looking() {
        let child = Mortal::sh("exec sleep 600");
        let residents = [resident(child.pid())];
        let at_ease = |s: &StallSample| {
            (counters(s).state, counters(s).frozen) == (Some(ProcessState::Sleeping), Some(false))
        };
        until(&mut sampler, &residents, "asleep outside", at_ease);
        std::fs::write(cage.0.join("cgroup.procs"), child.pid().to_string()).unwrap();
        let mut has_run = false;
        until(&mut sampler, &residents, "frozen", |s| {
            let seen = counters(s);
            has_run |= seen.state.is_none();
            // It ran in order to stop, and who does not move after that is frozen.
            assert!(!has_run || seen.state.is_none() || seen.frozen == Some(true), "{s:?}");
            seen.frozen == Some(true)
        });
    }
}

/// Lets whoever waits for a writer of a FIFO go on.
struct Fifo(PathBuf);

impl Drop for Fifo {
    fn drop(&mut self) {
        use std::os::unix::fs::OpenOptionsExt;
        let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
        let _ = std::fs::OpenOptions::new().write(true).custom_flags(nonblock).open(&self.0);
    }
}

#[test]
fn state_d_is_seen_of_a_process_and_of_one_of_its_threads() {
    // Who spawns waits in state D until the child, which first opens the FIFO, becomes another program.
    let script = "
import os, sys, threading, time
fifo, alone = sys.argv[1], sys.argv[2] == 'alone'
def spawn():
    os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, fifo, os.O_RDONLY, 0)])
def beat():
    while True: time.sleep(0.01)
os.mkfifo(fifo)
if not alone: threading.Thread(target=beat, daemon=True).start()
spawn()
";
    let dir = tempfile::tempdir().unwrap();
    for (i, (way, mut sampler)) in both().into_iter().enumerate() {
        for threads in ["alone", "several"] {
            let fifo = Fifo(dir.path().join(format!("{threads}{i}")));
            let mut command = Command::new("python3");
            command.args(["-c", script]).arg(&fifo.0).arg(threads);
            let child = Mortal(command.spawn().unwrap());
            let residents = [resident(child.pid())];
            let began = clock::mono();
            let what = format!("{way:?} {threads}: state D for two looks");
            let sample = until(&mut sampler, &residents, &what, |s| {
                let each = counters(s).each.as_ref();
                each.is_some_and(|e| e.kept_since.is_some_and(|at| at < e.since.sent))
            });
            let each = counters(&sample).each.as_ref().unwrap();
            assert!(each.kept_since.unwrap() >= began, "{each:?}");
            if threads == "alone" {
                let is_kept = |s: &StallSample| {
                    let seen = counters(s);
                    (seen.state, seen.frozen) == (Some(ProcessState::DiskSleep), Some(false))
                };
                until(&mut sampler, &residents, "state D, and not frozen", is_kept);
            }
        }
    }
}

#[test]
fn a_frozen_process_is_seen_by_its_cgroup() {
    let Some(cage) = Cage::new("stalls") else { return };
    for (_, mut sampler) in both() {
        let mut child = Mortal::sh("while :; do :; done");
        std::fs::write(cage.0.join("cgroup.procs"), child.pid().to_string()).unwrap();
        let residents = [resident(child.pid())];
        sampler.sample(&residents);
        until(&mut sampler, &residents, "it runs", |s| counters(s).state.is_none());
        std::fs::write(cage.0.join("cgroup.freeze"), "1").unwrap();
        let frozen =
            until(&mut sampler, &residents, "frozen", |s| counters(s).frozen == Some(true));
        assert!(counters(&frozen).state.is_some_and(|s| !s.is_stopped()), "{frozen:?}");
        std::fs::write(cage.0.join("cgroup.freeze"), "0").unwrap();
        until(&mut sampler, &residents, "it runs again", |s| counters(s).state.is_none());
        child.0.kill().unwrap();
        child.0.wait().unwrap();
    }
}
