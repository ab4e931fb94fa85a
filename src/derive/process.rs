//! One worker's process or processes: alive, stopped, dead or not to be told.

use std::collections::BTreeSet;

use super::loss::Loss;
use super::words::Liveness;
use crate::observe::worker::{Process, ProcessRead, ProcessSeen, ProcessState, ProcessUnknown};
use crate::observe::{Mono, Span};

/// Identities remembered as seen alive.
const MOST_SEEN: usize = 1024;

/// What is known of the processes behind a worker's name, or behind the pid of one of its tokens.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// (pid, start time) of the processes of the last look.
    identities: BTreeSet<(i32, u64)>,
    seen_alive: bool,
    /// The last look.
    pub last: Option<ProcessRead>,
    /// When the present set of processes was first seen.
    first_seen: Option<Mono>,
    liveness: Option<Liveness>,
    loss: Option<Loss>,
    /// Changes of (pid, start time).
    pub restarts: u64,
}

impl Processes {
    /// Takes one look. Returns whether a loss is news.
    pub fn read(&mut self, read: &ProcessRead) -> bool {
        let liveness = self.judge(&read.seen);
        if let ProcessSeen::Processes(list) = &read.seen {
            let now: BTreeSet<(i32, u64)> =
                list.iter().take(MOST_SEEN).map(|p| (p.pid, p.start_ticks)).collect();
            if now != self.identities {
                let is_replaced = !self.identities.is_empty() && now.is_disjoint(&self.identities);
                self.restarts += u64::from(is_replaced);
                self.identities = now;
                self.first_seen = Some(read.span.done);
            }
        }
        self.last = Some(read.clone());
        self.seen_alive |= matches!(liveness, Liveness::Alive | Liveness::Stopped);
        let was_lost = self.loss.is_some();
        self.liveness = Some(liveness);
        if liveness.is_lost() {
            // A stopped process that then dies stays lost since it stopped.
            let loss = Loss { since: read.span.done, shown: read.span.done };
            self.loss.get_or_insert(loss);
        } else {
            self.loss = None;
        }
        !was_lost && self.loss.is_some()
    }

    fn judge(&self, seen: &ProcessSeen) -> Liveness {
        match seen {
            ProcessSeen::Processes(list) => {
                let mut live = list.iter().filter(|p| p.state != ProcessState::Zombie).peekable();
                if live.peek().is_none() {
                    // A zombie that was never seen alive may be somebody else's.
                    return if self.seen_alive { Liveness::Dead } else { Liveness::Unknown };
                }
                if live.all(is_standing) { Liveness::Stopped } else { Liveness::Alive }
            }
            ProcessSeen::Gone { named_here } => {
                if *named_here || self.seen_alive {
                    Liveness::Dead
                } else {
                    Liveness::Unknown
                }
            }
            ProcessSeen::Unknown(_) => Liveness::Unknown,
        }
    }

    /// The verdict of the last look.
    pub fn liveness(&self) -> Liveness {
        self.liveness.unwrap_or(Liveness::Unknown)
    }

    /// The loss, while it lasts.
    pub fn loss(&self) -> Option<Loss> {
        self.loss
    }

    /// Whether a process was ever seen alive.
    pub fn was_seen(&self) -> bool {
        self.seen_alive
    }

    /// When the last look was.
    pub fn last_span(&self) -> Option<Span> {
        self.last.as_ref().map(|r| r.span)
    }

    /// Live processes of the last look.
    pub fn live(&self) -> impl Iterator<Item = &Process> {
        let list = match &self.last {
            Some(ProcessRead { seen: ProcessSeen::Processes(list), .. }) => list.as_slice(),
            _ => &[],
        };
        list.iter().filter(|p| p.state != ProcessState::Zombie)
    }

    /// The processes of the last look where none of them lives: zombies of a worker that was seen alive.
    pub fn zombies(&self) -> impl Iterator<Item = &Process> {
        let list = match &self.last {
            Some(ProcessRead { seen: ProcessSeen::Processes(list), .. })
                if self.liveness == Some(Liveness::Dead) =>
            {
                list.as_slice()
            }
            _ => &[],
        };
        list.iter()
    }

    /// All live processes began after `instant`, plus one second of grace for how start times are kept; and when that
    /// set was first seen.
    pub fn all_started_after(&self, instant: Mono) -> Option<Mono> {
        let grace = std::time::Duration::from_secs(1);
        let mut any = false;
        for p in self.live() {
            any = true;
            if p.started <= instant.plus(grace) {
                return None;
            }
        }
        if any { self.first_seen } else { None }
    }

    /// When the processes that live now were first seen as they are.
    pub fn live_since(&self) -> Option<Mono> {
        self.live().next().and(self.first_seen)
    }

    /// Why nothing can be told.
    pub fn unknown(&self) -> Option<ProcessUnknown> {
        match &self.last {
            Some(ProcessRead { seen: ProcessSeen::Unknown(why), .. }) => Some(*why),
            _ => None,
        }
    }
}

/// A process that runs nothing: stopped, traced to a stop, or in a frozen cgroup.
fn is_standing(p: &Process) -> bool {
    p.state.is_stopped() || p.frozen == Some(true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn process(pid: i32, start: u64, state: ProcessState) -> Process {
        Process {
            pid,
            start_ticks: start,
            started: Mono(start * 10_000_000),
            state,
            frozen: Some(false),
            threads: 1,
            cpu: Duration::ZERO,
            resident_bytes: 0,
        }
    }

    fn look(seconds: f64, seen: ProcessSeen) -> ProcessRead {
        let at = Mono::from_secs_f64(seconds);
        ProcessRead {
            worker: "w".into(),
            token_pid: None,
            span: Span { sent: at, done: at },
            seen,
            detail: String::new(),
        }
    }

    fn running(seconds: f64, pid: i32, start: u64) -> ProcessRead {
        look(seconds, ProcessSeen::Processes(vec![process(pid, start, ProcessState::Running)]))
    }

    #[test]
    fn gone_is_death_only_for_one_that_was_seen_or_named_here() {
        let mut p = Processes::default();
        assert!(!p.read(&look(1.0, ProcessSeen::Gone { named_here: false })));
        assert_eq!(p.liveness(), Liveness::Unknown);
        p.read(&running(2.0, 7, 100));
        assert!(p.read(&look(3.0, ProcessSeen::Gone { named_here: false })));
        assert_eq!(p.liveness(), Liveness::Dead);
        let mut p = Processes::default();
        assert!(p.read(&look(1.0, ProcessSeen::Gone { named_here: true })));
    }

    #[test]
    fn hidden_is_not_dead() {
        let mut p = Processes::default();
        p.read(&running(1.0, 7, 100));
        assert!(!p.read(&look(2.0, ProcessSeen::Unknown(ProcessUnknown::Hidden))));
        assert_eq!(p.liveness(), Liveness::Unknown);
    }

    #[test]
    fn several_processes_are_stopped_or_dead_only_all_together() {
        let mut p = Processes::default();
        let two =
            |a, b| look(1.0, ProcessSeen::Processes(vec![process(1, 1, a), process(2, 2, b)]));
        p.read(&two(ProcessState::Stopped, ProcessState::Sleeping));
        assert_eq!(p.liveness(), Liveness::Alive);
        p.read(&two(ProcessState::Stopped, ProcessState::Zombie));
        assert_eq!(p.liveness(), Liveness::Stopped);
        p.read(&two(ProcessState::Zombie, ProcessState::Zombie));
        assert_eq!(p.liveness(), Liveness::Dead);
        assert_eq!(p.restarts, 0);
    }

    #[test]
    fn a_frozen_cgroup_counts_as_stopped() {
        let mut p = Processes::default();
        let frozen = Process { frozen: Some(true), ..process(1, 1, ProcessState::Sleeping) };
        assert!(p.read(&look(1.0, ProcessSeen::Processes(vec![frozen]))));
        assert_eq!(p.liveness(), Liveness::Stopped);
    }

    #[test]
    fn a_reused_pid_is_a_restart() {
        let mut p = Processes::default();
        p.read(&running(1.0, 7, 100));
        p.read(&running(2.0, 7, 900));
        assert_eq!(p.restarts, 1);
        assert!(p.all_started_after(Mono::from_secs_f64(7.9)).is_some());
        assert!(p.all_started_after(Mono::from_secs_f64(8.5)).is_none());
    }
}
