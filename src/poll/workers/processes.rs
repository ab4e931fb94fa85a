//! Looks at workers' processes: pid files first, beside each other, then one pass over the procfs on a blocking thread.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Shared;
use super::roster::{Finder, Worker};
use super::tally::Tally;
use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::worker::{ProcessSeen, ProcessUnknown};
use crate::observe::{Mono, Observation, ProcessRead, Span};
use crate::poll::lane::{Entry, Inside};
use crate::poll::process::{self, Target};
use crate::poll::source::file::{self, FileFailed};

/// A pass takes milliseconds; a command line in a process that is stuck with its memory locked takes for ever.
const DEADLINE: Duration = Duration::from_secs(3);
/// From when a look with its pid files counts as hung.
pub const PATIENCE: Duration = Duration::from_secs(5);

type Unknown = (ProcessUnknown, String);

/// Looks at the processes of all these workers.
pub async fn look(
    shared: Arc<Shared>,
    workers: Vec<Arc<Worker>>,
    polls: Vec<usize>,
    inside: Inside,
) {
    let mut tally = Tally::begin("process", polls);
    let mut targets: Vec<(Arc<Worker>, Target)> = Vec::new();
    let mut files = JoinSet::new();
    let started = clock::mono();
    for worker in workers {
        match &worker.process {
            Some(Finder::PidFile(path)) => {
                drop(files.spawn(pid_file(Arc::clone(&worker), path.clone())))
            }
            Some(Finder::Ready(target)) => targets.push((Arc::clone(&worker), target.clone())),
            Some(Finder::Never(why, detail)) => {
                let unknown = (*why, detail.clone());
                tell_unknown(&shared, &mut tally, &worker, started, unknown).await;
            }
            None => {}
        }
    }
    while let Some(done) = files.join_next().await {
        match done {
            Ok((worker, Ok(pid))) => targets.push((worker, Target::Pid(pid))),
            Ok((worker, Err(unknown))) => {
                tell_unknown(&shared, &mut tally, &worker, started, unknown).await;
            }
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
    for worker in workers.iter().filter(|w| w.process.is_some()) {
        let detail =
            format!("the last look at the procfs has been hanging for {} s", age.as_secs());
        let unknown = (ProcessUnknown::Failed, detail);
        tell_unknown(&shared, &mut tally, worker, now, unknown).await;
        tally.note(worker.group, Some(FailReason::Timeout));
    }
    tally.end(&shared).await;
}

async fn pass(
    shared: &Shared,
    tally: &mut Tally,
    targets: Vec<(Arc<Worker>, Target)>,
    inside: &Inside,
) {
    let (workers, targets): (Vec<_>, Vec<_>) = targets.into_iter().unzip();
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
            for worker in &workers {
                let unknown = (ProcessUnknown::Failed, detail.clone());
                tell_unknown(shared, tally, worker, sent, unknown).await;
            }
            return;
        }
    };
    for (worker, seen) in workers.iter().zip(seen) {
        tell(shared, tally, worker, seen.span, seen.seen, seen.detail).await;
    }
}

/// The pid in a worker's pid file.
async fn pid_file(worker: Arc<Worker>, path: PathBuf) -> (Arc<Worker>, Result<i32, Unknown>) {
    let Entry::Free(inside) = worker.pid_lane.enter(clock::mono(), file::DEADLINE) else {
        let detail = format!("{}: the last read of it hangs", path.display());
        return (worker, Err((ProcessUnknown::Failed, detail)));
    };
    let shown = path.display().to_string();
    let pid = match file::content(path, file::MAX_BYTES, inside).await {
        Ok(bytes) => file::first_number(&bytes)
            .ok_or_else(|| (ProcessUnknown::NoPidFile, format!("{shown}: holds no pid"))),
        Err(FileFailed::Absent(detail)) => Err((ProcessUnknown::NoPidFile, detail)),
        Err(FileFailed::Unreadable { reason: FailReason::Permission, detail }) => {
            Err((ProcessUnknown::Hidden, detail))
        }
        Err(FileFailed::Unreadable { detail, .. }) => Err((ProcessUnknown::Failed, detail)),
    };
    (worker, pid)
}

async fn tell_unknown(
    shared: &Shared,
    tally: &mut Tally,
    worker: &Worker,
    sent: Mono,
    unknown: Unknown,
) {
    let span = Span { sent, done: clock::mono() };
    tell(shared, tally, worker, span, ProcessSeen::Unknown(unknown.0), unknown.1).await;
}

async fn tell(
    shared: &Shared,
    tally: &mut Tally,
    worker: &Worker,
    span: Span,
    seen: ProcessSeen,
    detail: String,
) {
    let failure = match seen {
        ProcessSeen::Unknown(ProcessUnknown::Hidden) => Some(FailReason::Permission),
        ProcessSeen::Unknown(ProcessUnknown::Failed) => Some(FailReason::Other),
        _ => None,
    };
    tally.note(worker.group, failure);
    let read = ProcessRead { worker: Arc::clone(&worker.name), span, seen, detail };
    shared.send(Observation::Process(read)).await;
}
