//! Reads heartbeats: those in Redis in batches of a store, every other one for itself and beside the others.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::Shared;
use super::roster::Worker;
use super::tally::Tally;
use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::worker::Beat;
use crate::observe::{HeartbeatRead, Observation, Span};
use crate::poll::lane::{Entry, Inside};
use crate::poll::part::{self, PartValue, PartsFailed, PartsReply};
use crate::poll::source::{Filled, failed, file, value};

/// Parts of one batch: large enough to need few, small enough that one does not hold up a sweep of locks.
const BATCH: usize = 256;

/// One worker to read, and its way in.
pub type Entered = (Arc<Worker>, Result<Inside, Duration>);

/// Enters the lane of a worker that is read for itself; `None` while a read is under way.
pub fn enter(worker: &Arc<Worker>) -> Option<Entered> {
    let patience = worker.heartbeat.as_ref().map_or(Duration::ZERO, Filled::patience);
    let entered = match worker.beat_lane.enter(clock::mono(), patience) {
        Entry::Free(inside) => Ok(inside),
        Entry::Stuck(age) => Err(age),
        Entry::Busy => return None,
    };
    Some((Arc::clone(worker), entered))
}

/// Reads workers that each have a source of their own.
pub async fn each(shared: Arc<Shared>, workers: Vec<Entered>, polls: Vec<usize>) {
    let mut tally = Tally::begin("heartbeat", polls);
    let mut reads = JoinSet::new();
    for (worker, entered) in workers {
        let shared = Arc::clone(&shared);
        reads.spawn(async move {
            let sent = clock::mono();
            let beat = match (&worker.heartbeat, &entered) {
                (_, Err(age)) => {
                    let seconds = age.as_secs();
                    failed(
                        FailReason::Timeout,
                        format!("the last read has been hanging for {seconds} s"),
                    )
                }
                (Some(Filled::File { path, content }), Ok(inside)) => {
                    file::beat(path.clone(), *content, inside.clone()).await
                }
                (Some(Filled::Http(endpoint)), Ok(inside)) => endpoint.beat(inside.clone()).await,
                (Some(Filled::Refused(why)), _) => failed(FailReason::Other, why.clone()),
                (Some(Filled::Redis { .. }) | None, _) => return (worker.group, None),
            };
            let span = Span { sent, done: clock::mono() };
            let failure = send(&shared, &worker, span, beat).await;
            (worker.group, failure)
        });
    }
    while let Some(done) = reads.join_next().await {
        match done {
            Ok((group, failure)) => tally.note(group, failure),
            Err(e) => tracing::error!(error = %e, "reading a heartbeat broke off"),
        }
    }
    tally.end(&shared).await;
}

/// Reads workers whose heartbeats are in one store.
pub async fn store(
    shared: Arc<Shared>,
    store: Arc<str>,
    workers: Vec<Arc<Worker>>,
    polls: Vec<usize>,
    _inside: Inside,
) {
    let mut tally = Tally::begin("heartbeat", polls);
    for batch in workers.chunks(BATCH) {
        let filled = batch.iter().filter_map(|w| match &w.heartbeat {
            Some(Filled::Redis { request, json, .. }) => Some((w, request, json.as_deref())),
            _ => None,
        });
        let filled: Vec<_> = filled.collect();
        let sent = clock::mono();
        let requests = filled.iter().map(|(_, request, _)| (*request).clone()).collect();
        let reply = part::read_in_time(&*shared.parts, &store, requests).await;
        let unread = Span { sent, done: clock::mono() };
        for (i, (worker, _, pointer)) in filled.iter().enumerate() {
            let (span, beat) = outcome(&reply, i, *pointer, unread);
            let failure = send(&shared, worker, span, beat).await;
            tally.note(worker.group, failure);
        }
    }
    tally.end(&shared).await;
}

fn outcome(
    reply: &Result<PartsReply, PartsFailed>,
    i: usize,
    pointer: Option<&str>,
    unread: Span,
) -> (Span, Beat) {
    match reply {
        Ok(reply) => {
            let found: Option<&PartValue> = reply.values.get(i);
            let short =
                || failed(FailReason::Protocol, "the store answered fewer parts than asked for");
            (reply.span, found.map_or_else(short, |v| value::beat(v, pointer)))
        }
        Err(e) => (unread, failed(e.reason, e.detail.clone())),
    }
}

async fn send(shared: &Shared, worker: &Worker, span: Span, beat: Beat) -> Option<FailReason> {
    let failure = match &beat {
        Beat::Failed { reason, .. } => Some(*reason),
        _ => None,
    };
    let read = HeartbeatRead { worker: Arc::clone(&worker.name), span, beat };
    shared.send(Observation::Heartbeat(read)).await;
    failure
}
