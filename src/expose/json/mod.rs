//! The JSON documents of the API; `api.md` describes them field by field. Never a raw owner token: the view has none.

mod lock;
mod store;

use serde::Serialize;

use self::lock::{Lock, describe};
use self::store::{Store, Worker, describe_store, describe_worker};
use crate::view::View;

/// `/api/v1/locks`.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    generation: u64,
    taken: f64,
    locks: Vec<Lock<'a>>,
    stores: Vec<Store<'a>>,
    workers: Vec<Worker<'a>>,
}

/// `/api/v1/locks/{store}/{lock}`.
#[derive(Debug, Serialize)]
pub struct OneLock<'a> {
    generation: u64,
    taken: f64,
    lock: Lock<'a>,
}

#[derive(Debug, Serialize)]
struct Coverage {
    aspect: &'static str,
    reason: &'static str,
}

/// The document of all locks.
pub fn document(view: &View) -> Document<'_> {
    Document {
        generation: view.generation,
        taken: view.taken_wall,
        locks: view
            .stores
            .iter()
            .flat_map(|store| store.locks.iter().map(move |lock| describe(store, lock)))
            .collect(),
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
        lock: describe(store, lock),
    })
}

fn not_empty(text: &str) -> Option<&str> {
    Some(text).filter(|t| !t.is_empty())
}
