//! One lock store: starts a poller for each of its nodes, follows primaries and replicas as they announce themselves, and
//! keeps the one list of watched keys. [`StoreHandle`] is how the rest of the program asks for reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::context::Settings;
use super::links::{LineLink, Links};
use super::messages::{Report, Request};
use super::parts::{PartRequest, PartsFailed, PartsReply};
use super::supervisor::Supervisor;
use crate::clock;
use crate::config::Store;
use crate::observe::node::FailReason;
use crate::observe::{KeyId, Line, Mono, StoreId};
use crate::poll::Out;

/// Asks a store's pollers for reads. Dropping the last one stops them.
#[derive(Clone)]
pub struct StoreHandle {
    store: Arc<Store>,
    stop: Arc<watch::Sender<bool>>,
    links: watch::Receiver<Links>,
    /// How often somebody asked to try again what was refused.
    retries: Arc<AtomicU64>,
    reports: mpsc::Sender<Report>,
    /// It is known whether its nodes can be reached, or should be by now.
    is_tried: Arc<AtomicBool>,
}

/// How long a store that has just begun is waited for at most.
const FIRST_TRY: Duration = Duration::from_secs(5);

/// Starts polling a store. Sends `StoreStarted` and its configured keys first. Must be called inside a tokio runtime.
pub fn spawn(store: Arc<Store>, id: StoreId, settings: Settings, out: Out) -> StoreHandle {
    let (stop, stopped) = watch::channel(false);
    let (link, links) = watch::channel(Links::default());
    let (reports, inbox) = mpsc::channel(64);
    let inbox = (reports.clone(), inbox);
    let (retries, is_tried) = (Arc::<AtomicU64>::default(), Arc::default());
    let asked = retries.clone();
    let supervisor = Supervisor::new(store.clone(), id, settings, out, inbox, link, asked);
    tokio::spawn(supervisor.run(stopped));
    StoreHandle { store, stop: Arc::new(stop), links, retries, reports, is_tried }
}

mod scattered;

impl StoreHandle {
    /// Reads keys on the primary of each line as near to `at` as possible; what they show arrives as a batch. Best effort:
    /// without a primary, or with too much waiting, nothing is read.
    pub fn read_keys(&self, keys: Vec<KeyId>, at: Mono) {
        for (primary, keys) in self.links.borrow().reads(&keys) {
            // Full means that it is behind; the next sweep will tell.
            let _ = primary.try_send(Request::Read(keys, at));
        }
    }

    /// Keeps keys that a pattern found watched for a while should they go. Best effort, and asked for again as long as it is
    /// wanted.
    pub fn keep(&self, keys: Vec<KeyId>) {
        let _ = self.reports.try_send(Report::Keep(keys));
    }

    /// Reads what all nodes say of themselves soon, without waiting for their sweeps.
    pub fn refresh_facts(&self) {
        for node in &self.links.borrow().all {
            let _ = node.try_send(Request::Facts);
        }
    }

    /// Tries again at once what was refused, on all nodes: rights may have been granted.
    pub fn retry_refused(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
        for node in &self.links.borrow().all {
            let _ = node.try_send(Request::RetryRefused);
        }
    }

    /// Waits until it is known whether the store answers, at its beginning only: one that was not asked yet is none that
    /// fails, and whoever reads there would say so for nothing.
    pub(super) async fn tried(&self) {
        if self.is_tried.load(Ordering::Relaxed) {
            return;
        }
        let mut links = self.links.clone();
        let limit = self.store.connect_timeout.saturating_add(self.store.response_timeout * 3);
        let is_known = links.wait_for(|l| l.home().is_some_and(LineLink::is_known));
        let _ = timeout(limit.min(FIRST_TRY), is_known).await;
        self.is_tried.store(true, Ordering::Relaxed);
    }

    /// Reads parts of keys on the primary. Fails at once where there is no connection to it, unless the store has only begun.
    pub async fn read_parts(&self, requests: Vec<PartRequest>) -> Result<PartsReply, PartsFailed> {
        self.tried().await;
        let is_cluster = self.links.borrow().by_slot.is_some();
        match is_cluster {
            true => scattered::read(self, requests).await,
            false => self.read_of(self.home().map(|(primary, _)| primary), requests).await,
        }
    }

    /// The primary that a key which is no lock is read on.
    fn primary_of(&self, key: &[u8]) -> (Option<Line>, Result<mpsc::Sender<Request>, FailReason>) {
        let links = self.links.borrow();
        match links.line_of(key) {
            Some((line, link)) => {
                let primary = link.primary.as_ref().map(|(requests, _)| requests.clone());
                (Some(line), primary.ok_or(link.why()))
            }
            None => (None, Err(FailReason::NotReady)),
        }
    }

    /// Reads parts of keys that are all on one primary.
    async fn read_of(
        &self,
        primary: Result<mpsc::Sender<Request>, FailReason>,
        requests: Vec<PartRequest>,
    ) -> Result<PartsReply, PartsFailed> {
        let failed = |reason, detail: &str| {
            Err(PartsFailed { reason, detail: format!("store {}: {detail}", self.store.name) })
        };
        let primary = match primary {
            Ok(primary) => primary,
            Err(reason) => return failed(reason, "its primary is not connected"),
        };
        let begun = clock::mono();
        let (reply, answer) = oneshot::channel();
        if primary.try_send(Request::Parts(requests, reply)).is_err() {
            return failed(FailReason::Other, "too many reads wait for its primary");
        }
        // The poller answers or fails by its own timeouts; this is for what comes before us in its queue.
        let limit = self.store.response_timeout.saturating_mul(3);
        match timeout(limit, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => failed(FailReason::Network, "the connection was lost"),
            Err(_) => {
                let waited = clock::mono().since(begun).as_secs_f64();
                failed(FailReason::Timeout, &format!("no answer within {waited:.1} s"))
            }
        }
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }

    /// How often `retry_refused` was called.
    pub(super) fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// Tells the primary's poller something, if it can take it.
    pub(super) fn tell(&self, request: Request) {
        if let Ok((primary, _)) = self.home() {
            let _ = primary.try_send(request);
        }
    }

    /// What the config says of the store.
    pub(super) fn config(&self) -> &Arc<Store> {
        &self.store
    }

    /// The address of the primary, or why there is none.
    pub(super) fn primary(&self) -> Result<Arc<str>, FailReason> {
        self.home().map(|(_, addr)| addr)
    }

    /// The address of the primary that a key which is no lock is read on, or why there is none.
    pub(super) fn primary_for(&self, key: &[u8]) -> Result<Arc<str>, FailReason> {
        let links = self.links.borrow();
        let Some((_, link)) = links.line_of(key) else { return Err(FailReason::NotReady) };
        link.primary.as_ref().map(|(_, addr)| addr.clone()).ok_or(link.why())
    }

    /// The primary of the line that what is no lock is read in, or why there is none.
    fn home(&self) -> Result<(mpsc::Sender<Request>, Arc<str>), FailReason> {
        let links = self.links.borrow();
        let Some(home) = links.home() else { return Err(FailReason::NotReady) };
        home.primary.clone().ok_or(home.why())
    }

    /// Stops polling and waits until all of it has ended. Says nothing to `derive`: whether the store is gone or only
    /// replaced is the caller's to tell.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // The supervisor holds the other end; an error is its end.
        while self.links.changed().await.is_ok() {}
    }
}
