//! Reads sources: those in Redis in batches of a store, every other one for itself and beside the others.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::Shared;
use super::roster::Slot;
use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::poll::PollDone;
use crate::observe::source::{SourceFailed, SourceRead, SourceRef, SourceValue};
use crate::observe::{Observation, Span};
use crate::poll::lane::{Entry, Inside};
use crate::poll::part::{self, PartsFailed, PartsReply};
use crate::poll::source::raw::{self, Raw};
use crate::poll::source::{Filled, claims, json, number};
use crate::poll::tally::Tally;

/// Parts of one batch: large enough to need few, small enough that one does not hold up a sweep of locks.
const BATCH: usize = 256;

/// The polls that a read is counted in.
pub type Polls = Tally<(&'static str, Arc<str>)>;

/// Reads sources that are not in Redis: those of one chain one after the other.
pub async fn each(shared: Arc<Shared>, chains: Vec<Vec<Arc<Slot>>>, mut polls: Polls) {
    let mut reads = JoinSet::new();
    for chain in chains {
        let shared = Arc::clone(&shared);
        reads.spawn(async move {
            let mut outcomes = Vec::new();
            for slot in chain {
                let sent = clock::mono();
                let raw = match slot.lane.enter(sent, slot.filled.patience()) {
                    Entry::Free(inside) => raw::own(&slot.filled, inside).await,
                    // The read before goes on; it will tell.
                    Entry::Busy => continue,
                    Entry::Stuck(age) => {
                        let detail =
                            format!("the last read has been hanging for {} s", age.as_secs());
                        Err(raw::failed(FailReason::Timeout, detail))
                    }
                };
                let span = Span { sent, done: clock::mono() };
                outcomes.push((slot.reading.poll.clone(), send(&shared, &slot, span, raw).await));
            }
            outcomes
        });
    }
    while let Some(done) = reads.join_next().await {
        match done {
            Ok(outcomes) => outcomes.iter().for_each(|(poll, failure)| polls.note(poll, *failure)),
            Err(e) => tracing::error!(error = %e, "reading a source broke off"),
        }
    }
    end(&shared, polls).await;
}

/// Reads sources that are in one store.
pub async fn store(
    shared: Arc<Shared>,
    store: Arc<str>,
    slots: Vec<Arc<Slot>>,
    mut polls: Polls,
    _inside: Inside,
) {
    for batch in slots.chunks(BATCH) {
        let requests = batch.iter().filter_map(|slot| match &slot.filled {
            Filled::Redis { request, .. } => Some(request.clone()),
            _ => None,
        });
        let sent = clock::mono();
        let reply = part::read_in_time(&*shared.parts, &store, requests.collect()).await;
        let unread = Span { sent, done: clock::mono() };
        for (i, slot) in batch.iter().enumerate() {
            let (span, raw) = outcome(&reply, i, unread);
            let failure = send(&shared, slot, span, raw).await;
            polls.note(&slot.reading.poll, failure);
        }
    }
    end(&shared, polls).await;
}

fn outcome(reply: &Result<PartsReply, PartsFailed>, i: usize, unread: Span) -> (Span, Raw) {
    match reply {
        Ok(reply) => {
            let short = "the store answered fewer parts than asked for";
            let found = reply.values.get(i).map(raw::part);
            (reply.span, found.unwrap_or_else(|| Err(raw::failed(FailReason::Protocol, short))))
        }
        Err(e) => (unread, Err(raw::failed(e.reason, e.detail.clone()))),
    }
}

async fn send(shared: &Shared, slot: &Slot, span: Span, raw: Raw) -> Option<FailReason> {
    let pointer = raw::pointer(&slot.filled);
    let value = match raw {
        Ok(Some(bytes)) => value(&slot.reading.what, &bytes, pointer),
        Ok(None) => Ok(None),
        Err(failed) => Err(failed),
    };
    let failure = value.as_ref().err().map(|f| f.reason);
    let read = SourceRead { source: slot.reading.what.clone(), span, value };
    // Once the receiver has gone, there is nobody to tell.
    let _ = shared.out.send(Observation::Source(Box::new(read))).await;
    failure
}

/// What the bytes say, by what is asked of them.
fn value(
    what: &SourceRef,
    bytes: &[u8],
    pointer: Option<&str>,
) -> Result<Option<SourceValue>, SourceFailed> {
    let failed = |(reason, detail): (FailReason, String)| raw::failed(reason, detail);
    if let SourceRef::Claim { .. } = what {
        let claims = claims::parse(bytes, pointer.unwrap_or_default()).map_err(failed)?;
        return Ok(Some(SourceValue::Claims(claims)));
    }
    let number = match pointer {
        None => Some(number::parse(bytes)),
        Some(pointer) => {
            let text = json::scalar_or_null(bytes, pointer).map_err(failed)?;
            text.map(|text| number::parse(text.as_bytes()))
        }
    };
    number.transpose().map(|n| n.map(SourceValue::Number)).map_err(failed)
}

/// Tells of the polls.
async fn end(shared: &Shared, polls: Polls) {
    let (span, polls) = polls.end();
    for ((poller, target), failure) in polls {
        let interval = shared.interval;
        let done = PollDone { poller, target, interval, span, busy: span.width(), failure };
        let _ = shared.out.send(Observation::Poll(done)).await;
    }
}
