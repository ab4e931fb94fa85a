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

#[test]
fn a_frozen_process_is_seen_by_its_cgroup() {
    let mounts = crate::poll::mounts::Mounts::of_self().unwrap();
    let Some(mount) = mounts.cgroup2() else {
        println!("skipped: no cgroup v2 mount");
        return;
    };
    let cage = Cage(mount.point.join(format!("dlock_stalls_{}", std::process::id())));
    if let Err(e) = std::fs::create_dir(&cage.0) {
        println!("skipped: cannot make {}: {e}", cage.0.display());
        return;
    }
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
