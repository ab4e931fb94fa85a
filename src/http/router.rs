//! Which path is answered by what, and what every answer has in common.

use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use axum::http::header::{HeaderValue, X_CONTENT_TYPE_OPTIONS};
use axum::http::{StatusCode, Uri};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{TelemetryPath, api, lifecycle, metrics, page};
use crate::expose::Rendered;

/// Says whether every poller has had its first try; the text says what is missing.
pub type ReadyCheck = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A wish for a reload; the answer is the real outcome, with every mistake as text.
pub type ReloadRequest = oneshot::Sender<Result<(), String>>;

/// Scrapes at a time, as in Prometheus' own exporters.
const SCRAPES: usize = 40;

/// Pages and API documents at a time; each can take much more work than a scrape.
const PAGES: usize = 10;

/// What the routes answer from.
#[derive(Clone)]
pub struct AppState {
    /// The last snapshot.
    pub snapshot: Arc<ArcSwap<Rendered>>,
    /// For `/-/ready`.
    pub ready: ReadyCheck,
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
}

/// All routes.
pub fn router(state: AppState) -> Router {
    routes(Shared {
        app: state,
        scrapes: Arc::new(Semaphore::new(SCRAPES)),
        pages: Arc::new(Semaphore::new(PAGES)),
    })
}

pub(super) fn routes(shared: Shared) -> Router {
    let metrics_at = shared.app.telemetry_path.clone();
    let mut routes = Router::new()
        .route(metrics_at.as_str(), get(metrics::metrics))
        .route("/style.css", get(page::style))
        .route("/-/healthy", get(lifecycle::healthy))
        .route("/-/ready", get(lifecycle::ready))
        .route("/-/reload", post(lifecycle::reload).fallback(lifecycle::only_post))
        .route("/api/v1/locks", get(api::locks))
        .route("/api/v1/locks/{store}/{lock}", get(api::lock));
    if metrics_at.as_str() != "/" {
        routes = routes.route("/", get(page::status));
    }
    routes.fallback(not_found).layer(map_response(common_headers)).with_state(shared)
}

async fn not_found(uri: Uri) -> Response {
    // The path is not repeated: it is the client's, and the answer may be shown by a browser.
    let hint = if uri.path().starts_with("/api/") {
        "Not found. The API has /api/v1/locks and /api/v1/locks/{store}/{lock}, names percent-encoded.\n"
    } else {
        "Not found. The status page is at /.\n"
    };
    (StatusCode::NOT_FOUND, hint).into_response()
}

async fn common_headers(mut response: Response) -> Response {
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
