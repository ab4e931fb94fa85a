//! The JSON documents of the API; `api.md` describes them field by field. Never a raw owner token: the view has none.

mod clients;
mod clock;
mod contention;
mod evidence;
mod group;
mod holder;
mod host;
mod lock;
mod recent;
mod release;
mod resources;
mod slow;
mod store;
mod worker;

use serde::Serialize;

pub use self::evidence::{Evidence, RawToken, Rise, evidence, rfc3339};
pub use self::group::{MOST, OneGroup, PAGE, one_group};

use self::clients::{Connected, describe_connected};
use self::clock::{Clock, NodeClock, Steps};
use self::group::{Group, describe_groups};
use self::lock::{Lock, describe};
use self::recent::{RecentLease, describe_recent};
use self::store::{Store, describe_store};
use self::worker::{Roster, WholeWorker, Worker, describe_whole_worker, describe_worker};
use crate::expose::advice;
use crate::expose::standing;
use crate::view::View;

/// Locks in one answer of `/api/v1/locks` unless asked otherwise.
pub const LOCKS: usize = 500;

/// Locks in one answer at most.
pub const MOST_LOCKS: usize = 2000;

/// `/api/v1/locks`.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    generation: u64,
    taken: f64,
    total: usize,
    offset: usize,
    locks: Vec<Lock<'a>>,
    groups: Vec<Group<'a>>,
    stores: Vec<Store<'a>>,
    workers: Vec<Worker<'a>>,
}

/// `/api/v1/locks/{store}/{lock}`.
#[derive(Debug, Serialize)]
pub struct OneLock<'a> {
    generation: u64,
    taken: f64,
    lock: Lock<'a>,
    first_steps: Option<&'static advice::Steps>,
    #[serde(flatten)]
    connected: Connected<'a>,
    recent: RecentLease<'a>,
}

/// `/api/v1/workers`.
#[derive(Debug, Serialize)]
pub struct Workers<'a> {
    generation: u64,
    taken: f64,
    workers: Vec<WholeWorker<'a>>,
}

/// `/api/v1/clocks`.
#[derive(Debug, Serialize)]
pub struct Clocks<'a> {
    generation: u64,
    taken: f64,
    host_clock_steps: Steps,
    clocks: Vec<Clock<'a>>,
    nodes: Vec<NodeClock<'a>>,
}

#[derive(Debug, Serialize)]
struct Coverage {
    aspect: &'static str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// The document of locks: `limit` of them, in the order of their names, from `offset` on.
pub fn document(view: &View, offset: usize, limit: usize) -> Document<'_> {
    let roster = Roster::of(view);
    let locks = || {
        let all = view.stores.iter().flat_map(|s| s.locks.iter().map(move |lock| (s, lock)));
        all.filter(|(_, lock)| standing::is_listed(lock))
    };
    Document {
        generation: view.generation,
        taken: view.taken_wall,
        total: locks().count(),
        offset,
        locks: locks()
            .skip(offset)
            .take(limit)
            .map(|(store, lock)| describe(store, lock, &roster))
            .collect(),
        groups: describe_groups(view),
        stores: view.stores.iter().map(describe_store).collect(),
        workers: view.workers.iter().map(describe_worker).collect(),
    }
}

/// The document of one lock; `None` if there is no such lock.
pub fn one<'a>(view: &'a View, store: &str, lock: &str) -> Option<OneLock<'a>> {
    let store = view.stores.iter().find(|s| &*s.name == store)?;
    let lock = store.locks.iter().find(|l| &*l.name == lock)?;
    Some(OneLock {
        generation: view.generation,
        taken: view.taken_wall,
        connected: describe_connected(lock),
        recent: describe_recent(view, store, lock),
        lock: describe(store, lock, &Roster::of(view)),
        first_steps: advice::first_steps(store, lock),
    })
}

/// The document of all workers.
pub fn workers(view: &View) -> Workers<'_> {
    Workers {
        generation: view.generation,
        taken: view.taken_wall,
        workers: view.workers.iter().map(describe_whole_worker).collect(),
    }
}

/// The document of all clocks.
pub fn clocks(view: &View) -> Clocks<'_> {
    Clocks {
        generation: view.generation,
        taken: view.taken_wall,
        host_clock_steps: Steps::of(view.host_clock_steps),
        clocks: view.clocks.iter().map(Clock::of).collect(),
        nodes: clock::nodes(view),
    }
}

fn not_empty(text: &str) -> Option<&str> {
    Some(text).filter(|t| !t.is_empty())
}
