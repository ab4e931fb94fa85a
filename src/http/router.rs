//! Which path is answered by what, and what every answer has in common.

use axum::Router;
use axum::http::header::{HeaderValue, X_CONTENT_TYPE_OPTIONS};
use axum::http::{StatusCode, Uri};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::shared::{AppState, Shared};
use super::{api, incidents, lifecycle, metrics, page};

/// All routes.
pub fn router(state: AppState) -> Router {
    routes(Shared::new(state))
}

pub(super) fn routes(shared: Shared) -> Router {
    let metrics_at = shared.app.telemetry_path.clone();
    let mut routes = Router::new()
        .route(metrics_at.as_str(), get(metrics::metrics))
        .route("/style.css", get(page::style))
        // Browsers ask for it, and would complain.
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/locks/{store}/{lock}", get(page::lock))
        .route("/groups/{store}/{group}", get(page::group))
        .route("/-/healthy", get(lifecycle::healthy))
        .route("/-/ready", get(lifecycle::ready))
        .route("/-/reload", post(lifecycle::reload).fallback(lifecycle::only_post))
        .route("/api/v1/locks", get(api::locks))
        .route("/api/v1/locks/{store}/{lock}", get(api::lock))
        .route("/api/v1/locks/{store}/{lock}/evidence", get(incidents::evidence))
        .route("/api/v1/incidents", get(incidents::list))
        .route("/api/v1/incidents/{id}", get(incidents::one))
        .route("/api/v1/groups/{store}/{group}", get(api::group))
        .route("/api/v1/workers", get(api::workers))
        .route("/api/v1/clocks", get(api::clocks));
    if metrics_at.as_str() != "/" {
        routes = routes.route("/", get(page::status));
    }
    routes.fallback(not_found).layer(map_response(common_headers)).with_state(shared)
}

async fn not_found(uri: Uri) -> Response {
    // The path is not repeated: it is the client's, and the answer may be shown by a browser.
    let hint = if uri.path() == "/api" || uri.path().starts_with("/api/") {
        "Not found. The API has /api/v1/locks, /api/v1/locks/{store}/{lock}, its /evidence and \
         /api/v1/groups/{store}/{group} with names percent-encoded, /api/v1/workers, /api/v1/clocks and \
         /api/v1/incidents.\n"
    } else {
        "Not found. The status page is at /.\n"
    };
    (StatusCode::NOT_FOUND, hint).into_response()
}

async fn common_headers(mut response: Response) -> Response {
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
