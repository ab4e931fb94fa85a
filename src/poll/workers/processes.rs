//! Looks at workers' processes: pid files first, beside each other, then one pass over the procfs on a blocking thread.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Shared;
use super::roster::{Finder, Worker};
use super::tally::Tally;
use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::worker::{ProcessSeen, ProcessState, ProcessUnknown};
use crate::observe::{Mono, Observation, ProcessId, ProcessRead, Span};
use crate::poll::lane::{Entry, Inside};
use crate::poll::process::{self, Target};
use crate::poll::residents::Resident;
use crate::poll::source::file::{self, FileFailed};

/// A pass takes milliseconds; a command line in a process that is stuck with its memory locked takes for ever.
const DEADLINE: Duration = Duration::from_secs(3);
/// From when a look with its pid files counts as hung.
pub const PATIENCE: Duration = Duration::from_secs(5);

type Unknown = (ProcessUnknown, String);

/// Whose process, and which of its tokens names it.
struct Whose {
    worker: Arc<Worker>,
    token_pid: Option<i32>,
}

/// Looks at the processes of all these workers.
pub async fn look(
    shared: Arc<Shared>,
    workers: Vec<Arc<Worker>>,
    polls: Vec<usize>,
    inside: Inside,
) {
    let mut tally = Tally::begin("process", polls);
    let mut targets: Vec<(Whose, Target)> = Vec::new();
    let mut files = JoinSet::new();
    let started = clock::mono();
    for worker in workers {
        for (token_pid, finder) in &worker.processes {
            let whose = Whose { worker: Arc::clone(&worker), token_pid: *token_pid };
            match finder {
                Finder::PidFile(path) => drop(files.spawn(pid_file(whose, path.clone()))),
                Finder::Ready(target) => targets.push((whose, target.clone())),
                Finder::Never(why, detail) => {
                    let unknown = (*why, detail.clone());
                    tell_unknown(&shared, &mut tally, &whose, started, unknown).await;
                }
            }
        }
    }
    while let Some(done) = files.join_next().await {
        match done {
            Ok((whose, Ok((pid, written)))) => {
                whose.worker.last_pid.store(pid, Ordering::Relaxed);
                targets.push((whose, Target::Pid(pid, written)));
            }
            Ok((whose, Err(unknown))) => match whose.worker.last_pid.load(Ordering::Relaxed) {
                // Whoever ends a worker often removes its file as well: look at the process that it named.
                pid @ 1.. if unknown.0 == ProcessUnknown::NoPidFile => {
                    targets.push((whose, Target::Pid(pid, started)));
                }
                _ => tell_unknown(&shared, &mut tally, &whose, started, unknown).await,
            },
            Err(e) => tracing::error!(error = %e, "reading a pid file broke off"),
        }
    }
    if !targets.is_empty() {
        pass(&shared, &mut tally, targets, &inside).await;
    }
    tally.end(&shared).await;
}

/// Says of all these workers that the procfs does not answer.
pub async fn stuck(
    shared: Arc<Shared>,
    workers: Vec<Arc<Worker>>,
    polls: Vec<usize>,
    age: Duration,
) {
    let mut tally = Tally::begin("process", polls);
    let now = clock::mono();
    let detail = format!("the last look at the procfs has been hanging for {} s", age.as_secs());
    for worker in workers {
        for (token_pid, _) in &worker.processes {
            let whose = Whose { worker: Arc::clone(&worker), token_pid: *token_pid };
            let unknown = (ProcessUnknown::Failed, detail.clone());
            tell_unknown(&shared, &mut tally, &whose, now, unknown).await;
            tally.note(worker.group, Some(FailReason::Timeout));
        }
    }
    tally.end(&shared).await;
}

async fn pass(shared: &Shared, tally: &mut Tally, targets: Vec<(Whose, Target)>, inside: &Inside) {
    let (owners, targets): (Vec<_>, Vec<_>) = targets.into_iter().unzip();
    let (paths, keep) = (Arc::clone(&shared.paths), inside.clone());
    let sent = clock::mono();
    let looked = tokio::task::spawn_blocking(move || {
        let seen = process::look(&paths, &targets);
        drop(keep);
        seen
    });
    let seen = match timeout(DEADLINE, looked).await {
        Ok(Ok(seen)) => seen,
        broken => {
            let detail = match broken {
                Ok(Err(e)) => format!("the look at the procfs broke off: {e}"),
                _ => format!("the procfs did not answer in {} s", DEADLINE.as_secs()),
            };
            for whose in &owners {
                let unknown = (ProcessUnknown::Failed, detail.clone());
                tell_unknown(shared, tally, whose, sent, unknown).await;
            }
            return;
        }
    };
    for (whose, seen) in owners.iter().zip(seen) {
        tell(shared, tally, whose, seen.span, seen.seen, seen.detail).await;
    }
}

/// The pid in a worker's pid file, and when it was written.
async fn pid_file(whose: Whose, path: PathBuf) -> (Whose, Result<(i32, Mono), Unknown>) {
    let Entry::Free(inside) = whose.worker.pid_lane.enter(clock::mono(), file::DEADLINE) else {
        let detail = format!("{}: the last read of it hangs", path.display());
        return (whose, Err((ProcessUnknown::Failed, detail)));
    };
    let shown = path.display().to_string();
    let pid = match file::dated(path, file::MAX_BYTES, inside).await {
        Ok((bytes, written)) => file::first_number(&bytes)
            .map(|pid| (pid, on_our_clock(written)))
            .ok_or_else(|| (ProcessUnknown::NoPidFile, format!("{shown}: holds no pid"))),
        Err(FileFailed::Absent(detail)) => Err((ProcessUnknown::NoPidFile, detail)),
        Err(FileFailed::Unreadable { reason: FailReason::Permission, detail }) => {
            Err((ProcessUnknown::Hidden, detail))
        }
        Err(FileFailed::Unreadable { detail, .. }) => Err((ProcessUnknown::Failed, detail)),
    };
    (whose, pid)
}

/// An instant of this host's wall clock, as far as that was not stepped since.
fn on_our_clock(wall: f64) -> Mono {
    let ago = (clock::wall_secs() - wall).clamp(0.0, f64::from(u32::MAX));
    clock::mono().minus(Duration::from_secs_f64(ago))
}

async fn tell_unknown(
    shared: &Shared,
    tally: &mut Tally,
    whose: &Whose,
    sent: Mono,
    unknown: Unknown,
) {
    let span = Span { sent, done: clock::mono() };
    tell(shared, tally, whose, span, ProcessSeen::Unknown(unknown.0), unknown.1).await;
}

/// Says which processes stand for a worker now. One that cannot be seen for a moment is kept: whoever samples it finds
/// out whether it is still there.
fn settle(shared: &Shared, whose: &Whose, seen: &ProcessSeen) {
    let worker = &whose.worker.name;
    let found = match seen {
        ProcessSeen::Processes(list) => {
            let jvm = shared.groups.get(whose.worker.group).map(|g| g.jvm).unwrap_or_default();
            let live = list.iter().filter(|p| p.state != ProcessState::Zombie);
            live.map(|p| Resident {
                worker: Arc::clone(worker),
                process: ProcessId { pid: p.pid, start_ticks: p.start_ticks },
                jvm,
            })
            .collect()
        }
        ProcessSeen::Gone { .. } => Vec::new(),
        ProcessSeen::Unknown(_) => return,
    };
    shared.residents.set(worker, whose.token_pid, found);
}

async fn tell(
    shared: &Shared,
    tally: &mut Tally,
    whose: &Whose,
    span: Span,
    seen: ProcessSeen,
    detail: String,
) {
    let failure = match seen {
        ProcessSeen::Unknown(ProcessUnknown::Hidden) => Some(FailReason::Permission),
        ProcessSeen::Unknown(ProcessUnknown::Failed) => Some(FailReason::Other),
        _ => None,
    };
    tally.note(whose.worker.group, failure);
    settle(shared, whose, &seen);
    let (worker, token_pid) = (Arc::clone(&whose.worker.name), whose.token_pid);
    let read = ProcessRead { worker, token_pid, span, seen, detail };
    shared.send(Observation::Process(read)).await;
}
