//! CPU time of a worker over all of its processes, those that ended too: it only grows. Every process counts from its
//! beginning, so that of a single one it is the kernel's own number.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::observe::worker::{ProcessRead, ProcessSeen};
use crate::observe::{Mono, ProcessId};

/// Processes remembered by how far they were counted; more at once are left out, so that none is counted twice.
const MOST_PROCESSES: usize = 1024;
/// One that was not seen for so long makes room for another: it ended.
const OUT_OF_SIGHT: Duration = Duration::from_secs(60);

/// CPU time of a worker's processes.
#[derive(Clone, Debug, Default)]
pub struct CpuTime {
    counted: BTreeMap<ProcessId, (Mono, Duration)>,
    total: Duration,
}

impl CpuTime {
    /// Takes one look at processes of the worker; one that several looks find is counted once.
    pub fn read(&mut self, read: &ProcessRead) {
        let ProcessSeen::Processes(list) = &read.seen else { return };
        let at = read.span.done;
        for process in list {
            let id = ProcessId { pid: process.pid, start_ticks: process.start_ticks };
            if !self.counted.contains_key(&id) && !self.has_room(at) {
                continue;
            }
            let (seen, counted) = self.counted.entry(id).or_default();
            *seen = at.max(*seen);
            // The kernel's sum over threads may fall a little when one of them ends.
            let rise = process.cpu.saturating_sub(*counted);
            *counted = counted.saturating_add(rise);
            self.total = self.total.saturating_add(rise);
        }
    }

    /// Since the beginning of the first processes that were seen.
    pub fn total(&self) -> Duration {
        self.total
    }

    fn has_room(&mut self, at: Mono) -> bool {
        if self.counted.len() >= MOST_PROCESSES {
            self.counted.retain(|_, (seen, _)| at.since(*seen) < OUT_OF_SIGHT);
        }
        self.counted.len() < MOST_PROCESSES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Span;
    use crate::observe::worker::{Process, ProcessState};

    /// Processes by pid and start time, with seconds of CPU time.
    fn look(cpu: &mut CpuTime, seconds: u32, processes: &[(i32, u64, u64)]) -> u64 {
        let at = Mono::from_secs_f64(f64::from(seconds));
        let process = |(pid, start_ticks, cpu): &(i32, u64, u64)| Process {
            pid: *pid,
            start_ticks: *start_ticks,
            started: Mono(start_ticks * 10_000_000),
            state: ProcessState::Running,
            frozen: None,
            threads: 1,
            cpu: Duration::from_secs(*cpu),
            resident_bytes: 0,
        };
        cpu.read(&ProcessRead {
            worker: "w".into(),
            token_pid: None,
            span: Span { sent: at, done: at },
            seen: ProcessSeen::Processes(processes.iter().map(process).collect()),
            detail: String::new(),
        });
        cpu.total().as_secs()
    }

    #[test]
    fn it_is_the_kernels_number_of_one_and_the_sum_of_several() {
        let mut cpu = CpuTime::default();
        assert_eq!(look(&mut cpu, 1, &[(7, 100, 50)]), 50);
        assert_eq!(look(&mut cpu, 3, &[(7, 100, 53)]), 53);
        assert_eq!(look(&mut cpu, 5, &[(7, 100, 53), (8, 400, 2)]), 55);
        // The oldest ends; what it took stays.
        assert_eq!(look(&mut cpu, 7, &[(8, 400, 6)]), 59);
    }

    #[test]
    fn it_does_not_fall_at_a_restart_nor_when_nothing_is_seen() {
        let mut cpu = CpuTime::default();
        assert_eq!(look(&mut cpu, 1, &[(7, 100, 50)]), 50);
        assert_eq!(look(&mut cpu, 3, &[]), 50);
        assert_eq!(look(&mut cpu, 5, &[(9, 450, 1)]), 51);
        // The pid is used again, by another process.
        assert_eq!(look(&mut cpu, 7, &[(7, 600, 4)]), 55);
        assert_eq!(look(&mut cpu, 9, &[(7, 600, 3)]), 55, "and the kernel's sum may dip");
        assert_eq!(look(&mut cpu, 11, &[(7, 600, 5)]), 56);
    }

    #[test]
    fn it_is_bounded_and_counts_none_twice() {
        let mut cpu = CpuTime::default();
        let many: Vec<_> = (1..=2000).map(|pid| (pid, 5, 1)).collect();
        assert_eq!(look(&mut cpu, 1, &many), 1024);
        assert_eq!(look(&mut cpu, 3, &many), 1024);
        // All of them ended long ago.
        assert_eq!(look(&mut cpu, 100, &[(3000, 9, 7)]), 1031);
    }
}
