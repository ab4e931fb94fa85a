//! The evidence document: what a responder should record of a lock before anybody restarts anything, in one piece. Made
//! of the same parts as the other documents, so that what is added to a lock there is here too. Has a raw token only where
//! it is handed one.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::clients::{Connected, describe_connected};
use super::clock::{Clock, NodeClock, nodes_of};
use super::lock::{Lock, describe};
use super::recent::{RecentLease, describe_recent};
use super::store::{List, Server, describe_lists, describe_servers};
use super::worker::{Roster, WholeWorker, describe_whole_worker};
use crate::expose::{SelfFacts, advice, standing};
use crate::view::{LockView, Signal, StoreView, View};

/// `/api/v1/locks/{store}/{lock}/evidence`, and what is written when a signal rises. No `Debug`: it may have tokens.
#[derive(Serialize)]
pub struct Evidence<'a> {
    summary: String,
    id: Option<&'a str>,
    signal: Option<&'static str>,
    rise: Option<Rise>,
    taken_at: Option<String>,
    taken: f64,
    generation: u64,
    exporter: Exporter<'a>,
    lock: Lock<'a>,
    first_steps: Option<&'static advice::Steps>,
    #[serde(flatten)]
    connected: Connected<'a>,
    recent: RecentLease<'a>,
    servers: Vec<Server<'a>>,
    server_clocks: Vec<NodeClock<'a>>,
    clocks: Vec<Clock<'a>>,
    workers: Vec<WholeWorker<'a>>,
    lists: Vec<List<'a>>,
    raw_tokens: Option<&'a [RawToken]>,
}

#[derive(Serialize)]
struct Exporter<'a> {
    version: &'a str,
    revision: Option<&'a str>,
}

/// A rise of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rise {
    /// Counts the rises of this signal of this lock in this run of the exporter.
    pub number: u64,
    /// Rises since its last document that have none of their own, as they came too soon.
    pub without_document: u64,
    /// Whether it was still up when this was put together.
    pub is_up: bool,
}

/// The token of a holder. No `Debug`: it is a credential.
#[derive(Serialize)]
pub struct RawToken {
    /// Tells whose of `lock.holders` it is.
    pub fingerprint: String,
    /// The token, if it is text.
    pub text: Option<String>,
    /// The token in hexadecimal digits, if it is none.
    pub hex: Option<String>,
}

/// Puts together what is known of a lock; `None` if there is no such lock. `of` is the signal that rose, if one did.
pub fn evidence<'a>(
    view: &'a View,
    own: &'a SelfFacts,
    (store, lock): (&str, &str),
    of: Option<(&'a str, Signal, Rise)>,
    raw_tokens: Option<&'a [RawToken]>,
) -> Option<Evidence<'a>> {
    let store = view.stores.iter().find(|s| &*s.name == store)?;
    // By name, as views have them; one that is put together for a test may have them in any order.
    let lock = match store.locks.binary_search_by(|l| (*l.name).cmp(lock)) {
        Ok(i) => store.locks.get(i)?,
        Err(_) => store.locks.iter().find(|l| &*l.name == lock)?,
    };
    let names: BTreeSet<&str> = lock.holders.iter().map(|h| &*h.worker).collect();
    let taken_at = rfc3339(view.taken_wall);
    Some(Evidence {
        summary: summary(
            store,
            lock,
            of.map(|(_, signal, rise)| (signal, rise)),
            taken_at.as_deref(),
        ),
        id: of.map(|(id, ..)| id),
        signal: of.map(|(_, signal, _)| signal.as_str()),
        rise: of.map(|(.., rise)| rise),
        taken_at,
        taken: view.taken_wall,
        generation: view.generation,
        exporter: Exporter { version: own.version, revision: super::not_empty(own.revision) },
        lock: describe(store, lock, &Roster::of(view)),
        first_steps: match of {
            Some((_, signal, _)) => Some(advice::steps_after(store, lock, signal)),
            None => advice::first_steps(store, lock),
        },
        connected: describe_connected(lock),
        recent: describe_recent(view, store, lock),
        servers: describe_servers(store),
        server_clocks: nodes_of(store),
        clocks: view.clocks.iter().map(Clock::of).collect(),
        workers: view
            .workers
            .iter()
            .filter(|w| names.contains(&*w.name))
            .map(describe_whole_worker)
            .collect(),
        lists: describe_lists(store),
        raw_tokens,
    })
}

impl Evidence<'_> {
    /// Its first sentence.
    pub fn summary(&self) -> &str {
        &self.summary
    }
}

/// An instant of this host's wall clock as text.
pub fn rfc3339(wall: f64) -> Option<String> {
    let since = Duration::try_from_secs_f64(wall).ok()?;
    let at = SystemTime::UNIX_EPOCH.checked_add(since)?;
    // Years of more than four digits are none that it can write.
    (wall < 253_402_300_800.0).then(|| humantime::format_rfc3339_millis(at).to_string())
}

/// One sentence for a person.
fn summary(
    store: &StoreView,
    lock: &LockView,
    of: Option<(Signal, Rise)>,
    at: Option<&str>,
) -> String {
    let mut text = String::new();
    let at = at.unwrap_or("an unknown time");
    // Writing to a text cannot fail.
    let _ = match of {
        Some((signal, _)) => write!(text, "{} rose: ", signal.as_str()),
        None => Ok(()),
    };
    let state = standing::state(store, lock);
    let _ = write!(text, "lock {} of store {} was {state} at {at}", lock.name, store.name);
    if let [only] = lock.holders.as_slice() {
        let who = if only.worker.is_empty() { "an owner without a name" } else { &only.worker };
        let _ = write!(text, "; held by {who}, token {}", only.fingerprint);
        let _ = write!(text, ", {}", only.liveness.as_str());
        if let Some(lost) = only.lost_seconds {
            let _ = write!(text, " for {lost:.1} s");
        }
    } else if !lock.holders.is_empty() {
        let _ = write!(text, "; held by {} holders", lock.holder_count());
    }
    if let Some(left) = lock.remaining_seconds {
        let _ = write!(text, "; {left:.1} s of its lease left");
    }
    if let Some(age) = lock.renewal_age_seconds {
        let _ = write!(text, ", written {age:.1} s before");
    }
    let raised: Vec<&str> = standing::raised(store, lock).map(Signal::as_str).collect();
    let raised = if raised.is_empty() { "none".to_owned() } else { raised.join(", ") };
    let _ = write!(text, "; signals up: {raised}.");
    text
}
