//! Many processes of many threads, most of them idle, as a host full of workers has them. They end with the test.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Group, wait_until};

/// Forks; in each process all threads but one wait for ever, and that one wakes up at each beat.
const SCRIPT: &str = "
import os, sys, threading, time
processes, threads, beat = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
for _ in range(processes - 1):
    if os.fork() == 0: break
threading.stack_size(64 << 10)
for _ in range(threads - 1):
    threading.Thread(target=lambda: threading.Event().wait(), daemon=True).start()
while True: time.sleep(beat)
";

/// Running processes.
pub struct Fleet(Group);

impl Fleet {
    /// Starts so many of so many threads and waits until they are there. `mark` is a word of their command lines.
    pub fn start(processes: usize, threads: usize, beat: Duration, mark: &str, dir: &Path) -> Self {
        let [n, t] = [processes, threads].map(|n| n.to_string());
        let beat = beat.as_secs_f64().to_string();
        let mut command = Command::new("python3");
        command.args(["-c", SCRIPT, mark, &n, &t, &beat]);
        let fleet = Self(Group::start("a fleet", &mut command, &dir.join("fleet.log")));
        wait_until("the fleet is there", Duration::from_secs(120), || {
            (fleet.processes().iter().filter(|(_, t)| *t == threads).count() == processes)
                .then_some(())
        });
        fleet
    }

    /// Pids and numbers of threads.
    pub fn processes(&self) -> Vec<(i32, usize)> {
        let group = self.0.pid().to_string();
        let pids = std::fs::read_dir("/proc").expect("/proc can be listed");
        let pids = pids.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.filter_map(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
            (*fields.get(2)? == group).then_some((pid, fields.get(17)?.parse().ok()?))
        })
        .collect()
    }
}

/// CPU time of a process's threads of this name, from the scheduler's own count.
pub fn cpu_of_threads(pid: i32, name: &str) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process runs");
    let nanos = tasks.filter_map(|task| {
        let dir = task.ok()?.path();
        let comm = std::fs::read_to_string(dir.join("comm")).ok()?;
        let schedstat = std::fs::read_to_string(dir.join("schedstat")).ok()?;
        (comm.trim_end() == name).then(|| schedstat.split(' ').next()?.parse::<u64>().ok())?
    });
    Duration::from_nanos(nanos.sum())
}
