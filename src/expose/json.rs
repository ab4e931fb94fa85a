//! The JSON documents of the API; `api.md` describes them field by field. Never a raw owner token: the view has none.

use std::collections::BTreeMap;

use serde::Serialize;

use super::families::worker;
use super::standing;
use crate::view::{Evidence, LockView, NodeView, Signal, StoreView, View, WorkerView};

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
struct Lock<'a> {
    store: &'a str,
    lock: &'a str,
    key: &'a str,
    format: Option<&'static str>,
    fresh: bool,
    state: &'static str,
    class: Vec<&'static str>,
    signals: BTreeMap<&'static str, Option<bool>>,
    holders: Vec<Holder<'a>>,
    liveness: Option<&'static str>,
    lost_seconds: Option<f64>,
    held_seconds: Option<f64>,
    held_since_timestamp: Option<f64>,
    lease: Lease,
    previous: Option<Previous<'a>>,
    replicas_diverged: Vec<Divergence<'a>>,
    coverage_lost: Vec<Coverage>,
    counts: Counts,
    transitions: Vec<Transition<'a>>,
}

#[derive(Debug, Serialize)]
struct Holder<'a> {
    worker: Option<&'a str>,
    fingerprint: &'a str,
    count: u64,
    liveness: &'static str,
}

#[derive(Debug, Default, Serialize)]
struct Lease {
    length_seconds: Option<f64>,
    length_source: Option<&'static str>,
    remaining_seconds: Option<f64>,
    expiry_timestamp: Option<f64>,
    renewal_age_seconds: Option<f64>,
    last_renewal_timestamp: Option<f64>,
    renewal_period_seconds: Option<f64>,
    least_margin_ratio: Option<f64>,
    stall_budget_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Previous<'a> {
    worker: Option<&'a str>,
    evidence: &'static str,
}

#[derive(Debug, Serialize)]
struct Divergence<'a> {
    addr: &'a str,
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Coverage {
    aspect: &'static str,
    reason: &'static str,
}

#[derive(Debug, Serialize)]
struct Counts {
    acquisitions: u64,
    renewals: u64,
    late_renewals: u64,
    renewals_after_lost_liveness: u64,
    ends: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize)]
struct Transition<'a> {
    age_seconds: f64,
    what: &'static str,
    detail: &'a str,
}

#[derive(Debug, Serialize)]
struct Store<'a> {
    name: &'a str,
    fresh: bool,
    nodes: Vec<Node<'a>>,
}

#[derive(Debug, Serialize)]
struct Node<'a> {
    addr: &'a str,
    up: bool,
    role: Option<&'static str>,
    version: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Worker<'a> {
    name: &'a str,
    sources: BTreeMap<&'static str, WorkerSource>,
    heartbeat_age_seconds: Option<f64>,
    heartbeat_frozen_after_seconds: Option<f64>,
    process_state: Option<&'static str>,
    coverage_lost: Vec<Coverage>,
}

#[derive(Debug, Serialize)]
struct WorkerSource {
    alive: bool,
    lost_seconds: Option<f64>,
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

fn describe<'a>(store: &'a StoreView, lock: &'a LockView) -> Lock<'a> {
    // What was read too long ago is history: holders stay for whoever looks, but no state, age or verdict does.
    let fresh = standing::is_fresh(store, lock);
    let now = |value: Option<f64>| if fresh { value } else { None };
    Lock {
        store: &store.name,
        lock: &lock.name,
        key: &lock.key,
        format: not_empty(lock.format),
        fresh,
        state: standing::state(store, lock),
        class: standing::raised(store, lock).map(Signal::as_str).collect(),
        signals: Signal::ALL
            .iter()
            .map(|s| (s.as_str(), standing::judged(store, lock, *s)))
            .collect(),
        holders: lock
            .holders
            .iter()
            .map(|h| Holder {
                worker: not_empty(&h.worker),
                fingerprint: &h.fingerprint,
                count: h.count,
                liveness: h.liveness.as_str(),
            })
            .collect(),
        liveness: lock.liveness.filter(|_| fresh).map(|l| l.as_str()),
        lost_seconds: now(lock.lost_seconds),
        held_seconds: now(lock.held_seconds),
        held_since_timestamp: lock.held_since_timestamp,
        lease: describe_lease(lock, fresh),
        previous: lock.previous.as_ref().map(|(worker, evidence)| Previous {
            worker: not_empty(worker),
            evidence: evidence.as_str(),
        }),
        replicas_diverged: lock
            .divergences
            .iter()
            .filter(|_| fresh)
            .map(|(addr, kind)| Divergence { addr, kind: kind.as_str() })
            .collect(),
        coverage_lost: lock
            .coverage_lost
            .iter()
            .map(|(aspect, reason)| Coverage { aspect: aspect.as_str(), reason: reason.as_str() })
            .collect(),
        counts: Counts {
            acquisitions: lock.counts.acquisitions,
            renewals: lock.counts.renewals,
            late_renewals: lock.counts.late_renewals,
            renewals_after_lost_liveness: lock.counts.renewals_after_lost_liveness,
            ends: ends(&lock.counts.ends),
        },
        transitions: lock
            .transitions
            .iter()
            .map(|t| Transition { age_seconds: t.age_seconds, what: t.what, detail: &t.detail })
            .collect(),
    }
}

fn describe_lease(lock: &LockView, fresh: bool) -> Lease {
    let known = Lease {
        length_seconds: lock.length_seconds,
        length_source: lock.lease_source.map(|s| s.as_str()),
        ..Lease::default()
    };
    if !fresh {
        return known;
    }
    Lease {
        remaining_seconds: lock.remaining_seconds,
        expiry_timestamp: lock.expiry_timestamp,
        renewal_age_seconds: lock.renewal_age_seconds,
        last_renewal_timestamp: lock.last_renewal_timestamp,
        renewal_period_seconds: lock.renewal_period_seconds,
        least_margin_ratio: lock.least_margin_ratio,
        stall_budget_seconds: lock.stall_budget_seconds,
        ..known
    }
}

fn describe_store(store: &StoreView) -> Store<'_> {
    Store {
        name: &store.name,
        fresh: store.fresh,
        nodes: store.nodes.iter().map(describe_node).collect(),
    }
}

fn describe_node(node: &NodeView) -> Node<'_> {
    let facts = node.facts.as_ref();
    Node {
        addr: &node.addr,
        up: node.up,
        role: facts.map(|f| f.role),
        version: facts.map(|f| &*f.version),
    }
}

fn describe_worker(view: &WorkerView) -> Worker<'_> {
    Worker {
        name: &view.name,
        sources: view
            .sources
            .iter()
            .map(|(source, alive, lost)| {
                (source.as_str(), WorkerSource { alive: *alive, lost_seconds: *lost })
            })
            .collect(),
        heartbeat_age_seconds: view.heartbeat_age_seconds,
        heartbeat_frozen_after_seconds: view.frozen_after_seconds,
        process_state: worker::state(view),
        coverage_lost: view
            .coverage_lost
            .iter()
            .map(|(aspect, reason)| Coverage { aspect, reason })
            .collect(),
    }
}

fn ends(counts: &[(Evidence, u64)]) -> BTreeMap<&'static str, u64> {
    counts.iter().map(|(evidence, n)| (evidence.as_str(), *n)).collect()
}

fn not_empty(text: &str) -> Option<&str> {
    Some(text).filter(|t| !t.is_empty())
}
