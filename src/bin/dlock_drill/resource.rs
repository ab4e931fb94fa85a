//! A protected resource behind HTTP: it takes effects, checks their fencing tokens or does not, and counts. It must not know
//! who holds a lock.
//!
//! `POST /locks/LOCK` with `{"request": "r-1", "token": 7}` is an effect: 200 when it took place, 409 when it was refused for an
//! old token. `GET /locks/LOCK` is what was counted, for the exporter's `fencing` and `effects`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use clap::Args;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::failure::Failure;
use crate::stop::Stop;

/// Locks and requests that are remembered at most.
const MOST_LOCKS: usize = 10_000;
const MOST_REQUESTS: usize = 100_000;

/// `dlock_drill resource`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Where it listens
    #[arg(long, default_value = "127.0.0.1:10129", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Let effects pass whatever their fencing token is
    #[arg(long)]
    pub unchecked: bool,
}

/// One effect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Effect {
    /// The logical request that it is for.
    pub request: String,
    /// The fencing token of the tenure, if it has one.
    pub token: Option<u64>,
}

/// What was counted for one lock.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Counts {
    /// The token of the last effect that took place.
    pub last_token: Option<u64>,
    /// The largest token that an effect had.
    pub highest_token: Option<u64>,
    /// Effects that took place.
    pub effects: u64,
    /// For so many logical requests.
    pub requests: u64,
    /// Effects that were refused for an old token.
    pub rejected: u64,
}

#[derive(Default)]
struct Lock {
    counts: Counts,
    requests: BTreeSet<String>,
    /// What was said of this lock; the resource's own answer otherwise.
    checks: Option<bool>,
}

struct Shared {
    checks: bool,
    locks: Mutex<BTreeMap<String, Lock>>,
}

impl Shared {
    fn with<T>(&self, lock: &str, then: impl FnOnce(&mut Lock) -> T) -> Option<T> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if locks.len() >= MOST_LOCKS && !locks.contains_key(lock) {
            return None;
        }
        Some(then(locks.entry(lock.to_owned()).or_default()))
    }
}

/// A running resource; it ends when it is dropped.
pub struct Resource {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: AbortHandle,
}

impl Drop for Resource {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Resource {
    /// One that checks tokens, or does not.
    pub async fn start(listen: SocketAddr, checks: bool) -> Result<Self, Failure> {
        let told = |e| Failure::new(format!("no resource can listen on {listen}: {e}"));
        let listener = TcpListener::bind(listen).await.map_err(told)?;
        let address = listener.local_addr().map_err(told)?;
        let shared = Arc::new(Shared { checks, locks: Mutex::default() });
        let routes = Router::new()
            .route("/locks/{lock}", get(counted).post(effect))
            .with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self { address, shared, server: server.abort_handle() })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where effects under this lock go.
    pub fn url(&self, lock: &str) -> String {
        format!("http://{}/locks/{lock}", self.address)
    }

    /// Whether tokens of this lock are checked from now on.
    pub fn check(&self, lock: &str, checks: bool) {
        self.shared.with(lock, |l| l.checks = Some(checks));
    }

    /// What it has counted.
    pub fn counts(&self, lock: &str) -> Counts {
        self.shared.with(lock, |l| l.counts.clone()).unwrap_or_default()
    }
}

async fn counted(State(shared): State<Arc<Shared>>, Path(lock): Path<String>) -> Json<Counts> {
    Json(shared.with(&lock, |l| l.counts.clone()).unwrap_or_default())
}

async fn effect(
    State(shared): State<Arc<Shared>>,
    Path(lock): Path<String>,
    Json(effect): Json<Effect>,
) -> StatusCode {
    let checks = shared.checks;
    shared.with(&lock, |l| l.take(effect, checks)).unwrap_or(StatusCode::INSUFFICIENT_STORAGE)
}

impl Lock {
    fn take(&mut self, effect: Effect, checks: bool) -> StatusCode {
        // An effect without a token is older than any with one.
        if self.checks.unwrap_or(checks) && effect.token < self.counts.last_token {
            self.counts.rejected += 1;
            return StatusCode::CONFLICT;
        }
        if self.requests.len() >= MOST_REQUESTS {
            return StatusCode::INSUFFICIENT_STORAGE;
        }
        self.counts.last_token = effect.token.or(self.counts.last_token);
        self.counts.highest_token = self.counts.highest_token.max(effect.token);
        self.counts.effects += 1;
        self.requests.insert(effect.request);
        self.counts.requests = self.requests.len() as u64;
        StatusCode::OK
    }
}

/// `dlock_drill resource`: until it is told to stop.
pub async fn run(options: Options) -> Result<(), Failure> {
    let mut stop = Stop::new()?;
    let resource = Resource::start(options.listen, !options.unchecked).await?;
    crate::worker::say("resource", &format!("listens on {}", resource.address()));
    stop.wait().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(lock: &mut Lock, request: &str, token: Option<u64>, checks: bool) -> u16 {
        lock.take(Effect { request: request.into(), token }, checks).as_u16()
    }

    #[test]
    fn old_tokens_are_refused_where_they_are_checked() {
        let mut lock = Lock::default();
        assert_eq!(sent(&mut lock, "a", Some(2), true), 200);
        assert_eq!(sent(&mut lock, "b", Some(1), true), 409);
        assert_eq!(sent(&mut lock, "b", None, true), 409);
        assert_eq!(sent(&mut lock, "b", Some(1), false), 200);
        assert_eq!(sent(&mut lock, "a", Some(1), true), 200);
        let counts = Counts {
            last_token: Some(1),
            highest_token: Some(2),
            effects: 3,
            requests: 2,
            rejected: 2,
        };
        assert_eq!(lock.counts, counts);
    }
}
