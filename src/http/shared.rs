//! What all routes answer from, and the refusals that several of them share.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use super::TelemetryPath;
use crate::evidence::Incidents;
use crate::expose::{Asks, Rendered};
use crate::view::Show;

/// Says whether every poller has had its first try; the text says what is missing.
pub type ReadyCheck = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A wish for a reload; the answer is the real outcome, with every mistake as text.
pub type ReloadRequest = oneshot::Sender<Result<(), String>>;

/// Locks that the last snapshot only counts and somebody wants to see; the answer is a snapshot that has them.
pub type ShowRequest = (Show, oneshot::Sender<Arc<Rendered>>);

/// How long whoever makes snapshots is waited for.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

/// Scrapes at a time. All of one snapshot share what is sent, so that more than a few cost little.
pub(super) const SCRAPES: usize = 100;

/// Pages and API documents at a time; each can take much more work than a scrape.
pub(super) const PAGES: usize = 10;

/// Files read at a time: a disk that hangs holds these up and nothing else.
const FILES: usize = 4;

/// What the routes answer from.
#[derive(Clone)]
pub struct AppState {
    /// The last snapshot.
    pub snapshot: Arc<ArcSwap<Rendered>>,
    /// When it was scraped.
    pub asks: Arc<Asks>,
    /// What was recorded.
    pub incidents: Incidents,
    /// For `/-/ready`.
    pub ready: ReadyCheck,
    /// Makes a snapshot with locks that are only counted.
    pub show: mpsc::Sender<ShowRequest>,
    /// For `/-/reload`.
    pub reload: mpsc::Sender<ReloadRequest>,
    /// Where the metrics are.
    pub telemetry_path: TelemetryPath,
}

/// [`AppState`] and the places for answers in work.
#[derive(Clone)]
pub(super) struct Shared {
    pub app: AppState,
    pub scrapes: Arc<Semaphore>,
    pub pages: Arc<Semaphore>,
    pub files: Arc<Semaphore>,
}

impl Shared {
    /// All places free.
    pub fn new(app: AppState) -> Self {
        Self {
            app,
            scrapes: Arc::new(Semaphore::new(SCRAPES)),
            pages: Arc::new(Semaphore::new(PAGES)),
            files: Arc::new(Semaphore::new(FILES)),
        }
    }
}

impl Shared {
    /// The last snapshot, or one with these locks as well where it only counts some.
    pub async fn showing(&self, show: Show) -> Result<Arc<Rendered>, Response> {
        let last = self.app.snapshot.load_full();
        if last.view().stores.iter().all(|s| s.counted_only.0 == 0) {
            return Ok(last);
        }
        let (answer, shown) = oneshot::channel();
        let asked = self.app.show.try_send((show, answer)).is_ok();
        match timeout(SHOWN_WITHIN, shown).await {
            Ok(Ok(shown)) if asked => Ok(shown),
            _ => Err(busy("The locks of a group cannot be shown now: the exporter is behind.\n")),
        }
    }
}

/// Why nothing is shown of a snapshot that is too old.
pub fn too_old(age: f64) -> String {
    format!(
        "The last snapshot is {age:.1} s old, more than ten polls: the exporter itself is stuck.\n"
    )
}

/// Refuses work for now.
pub fn busy(why: &'static str) -> Response {
    let retry = [(RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, retry, why).into_response()
}
