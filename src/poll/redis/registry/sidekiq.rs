//! Sidekiq: processes that beat, and jobs: those worked on, queued, scheduled and to be retried. A lock of a job that waits
//! in a queue is held, so a job counts as listed wherever it is. Read in the order in which jobs move on, so that one that
//! moves while it is looked for is met where it goes.

use super::super::conn::Conn;
use super::super::failure::Failure;
use super::walk::{self, Budget};
use super::{Names, number};
use crate::poll::source::json;

/// Sorted sets of jobs that wait for their time.
const WAITING: [&[u8]; 2] = [b"schedule", b"retry"];

/// Reads it.
pub async fn read(conn: &mut Conn, budget: &mut Budget) -> Result<Names, Failure> {
    let mut names = Names::default();
    let mut queues: Vec<Vec<u8>> = Vec::new();
    walk::scan(conn, "SSCAN", b"queues", budget, |queue, _| {
        queues.push([b"queue:", queue].concat());
    })
    .await?;
    let mut lengths: Vec<(&'static str, Vec<u8>)> =
        WAITING.iter().map(|key| ("ZCARD", key.to_vec())).collect();
    lengths.extend(queues.iter().map(|key| ("LLEN", key.clone())));
    // A backlog beyond what is read at all costs the server a count, not its content time and again.
    budget.fits(walk::lengths(conn, &lengths).await?)?;
    for key in WAITING {
        walk::scan(conn, "ZSCAN", key, budget, |job, _| add_job(&mut names, job, "/jid")).await?;
    }
    for key in &queues {
        walk::list(conn, key, budget, |job| add_job(&mut names, job, "/jid")).await?;
    }
    let mut processes: Vec<Vec<u8>> = Vec::new();
    walk::scan(conn, "SSCAN", b"processes", budget, |id, _| processes.push(id.to_vec())).await?;
    for process in &processes {
        let work = [process.as_slice(), b":work"].concat();
        walk::scan(conn, "HSCAN", &work, budget, |_, work| add_work(&mut names, work)).await?;
    }
    // One that died stays in the set until another cleans up; its hash, which expires, does not.
    walk::fields(conn, &processes, &[b"beat"], budget, |i, found| {
        if let (Some(id), [Some(beat)]) = (processes.get(i), found) {
            names.add(id, number(beat));
        }
    })
    .await?;
    Ok(names)
}

/// What is no job is passed over: Sidekiq cannot run it either.
fn add_job(names: &mut Names, job: &[u8], pointer: &str) {
    if let Ok(id) = json::scalar(job, pointer) {
        names.add_job(id.as_bytes());
    }
}

/// What a thread works on: the job is a document, or a text that is one.
fn add_work(names: &mut Names, work: &[u8]) {
    match json::scalar(work, "/payload") {
        Ok(inner) => add_job(names, inner.as_bytes(), "/jid"),
        Err(_) => add_job(names, work, "/payload/jid"),
    }
}
