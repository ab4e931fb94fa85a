//! Accepts connections and serves them until told to stop. One bad connection, or a shortage of file descriptors, ends
//! nothing but itself.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::{connection, stopped};
use super::door::Door;

/// Connections at a time; more wait in the kernel's queue.
const CONNECTIONS: usize = 512;

/// Serves until `shutdown` becomes true or its sender is gone, then lets answers under way finish for up to `drain`.
/// Returns how many connections had to be cut off.
pub async fn serve(
    listeners: Vec<TcpListener>,
    router: Router,
    door: Arc<Door>,
    shutdown: watch::Receiver<bool>,
    drain: Duration,
) -> usize {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut loops = JoinSet::new();
    for listener in listeners {
        let way = (router.clone(), door.clone());
        loops.spawn(accept(listener, way, shutdown.clone(), places.clone(), drain));
    }
    let mut cut = 0;
    while let Some(ended) = loops.join_next().await {
        cut += ended.unwrap_or(0);
    }
    cut
}

async fn accept(
    listener: TcpListener,
    (router, door): (Router, Arc<Door>),
    mut shutdown: watch::Receiver<bool>,
    places: Arc<Semaphore>,
    drain: Duration,
) -> usize {
    let mut connections = JoinSet::new();
    let mut pause = Backoff::default();
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await;
            (listener.accept().await, place)
        };
        tokio::select! {
            biased;
            () = stopped(&mut shutdown) => break,
            Some(_) = connections.join_next() => {}
            (accepted, place) = next => match (accepted, place) {
                (Ok((stream, _)), Ok(place)) => {
                    pause = Backoff::default();
                    let serving =
                        connection(stream, door.clone(), router.clone(), shutdown.clone());
                    connections.spawn(async move {
                        let _place = place;
                        serving.await;
                    });
                }
                (Err(error), _) => pause.after(&error).await,
                // The semaphore is never closed.
                (_, Err(_)) => break,
            },
        }
    }
    // New connections are refused from here on.
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(drain, all).await;
    // What is left is cut off when the set is dropped.
    connections.len()
}

/// Waits after a failed accept: not at all where only that connection failed, longer and longer where the system is
/// short of something.
#[derive(Default)]
struct Backoff {
    failures: u32,
}

impl Backoff {
    async fn after(&mut self, error: &io::Error) {
        use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        if self.failures == 0 {
            tracing::warn!(%error, "cannot accept connections, trying again");
        }
        sleep(Duration::from_millis(10 << self.failures.min(7))).await;
        self.failures = self.failures.saturating_add(1);
    }
}
