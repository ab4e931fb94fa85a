//! Health, readiness and reload.

use std::time::Duration;

use axum::extract::State;
use axum::http::header::ALLOW;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::shared::{Shared, too_old};
use crate::clock;

/// A reload reads a few files; one that takes longer hangs on a file system, and its caller should know.
const RELOAD_WAIT: Duration = Duration::from_secs(30);

/// Whether the exporter itself works: this answer comes, and snapshots are still made. No target takes part, since a
/// store that is down must not restart what watches it.
pub async fn healthy(State(shared): State<Shared>) -> Response {
    match shared.app.snapshot.load().too_old(clock::mono()) {
        None => "Healthy.\n".into_response(),
        Some(age) => (StatusCode::SERVICE_UNAVAILABLE, too_old(age.as_secs_f64())).into_response(),
    }
}

/// Whether every poller has had its first try.
pub async fn ready(State(shared): State<Shared>) -> Response {
    match (shared.app.ready)() {
        Ok(()) => "Ready.\n".into_response(),
        Err(missing) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("Not ready: {missing}\n")).into_response()
        }
    }
}

/// Loads the configuration anew and answers with the real outcome.
pub async fn reload(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    // A browser says where a request comes from; another site's page has no business here.
    if headers.get("sec-fetch-site").is_some_and(|v| v == "cross-site") {
        return (StatusCode::FORBIDDEN, "Not from another site.\n").into_response();
    }
    let (answer, outcome) = oneshot::channel();
    let ask = async {
        shared.app.reload.send(answer).await.map_err(|_| "the exporter is shutting down")?;
        outcome.await.map_err(|_| "the exporter gave no answer")
    };
    match timeout(RELOAD_WAIT, ask).await {
        Ok(Ok(Ok(()))) => "Reloaded.\n".into_response(),
        Ok(Ok(Err(mistakes))) => failed(mistakes.trim_end()),
        Ok(Err(why)) => failed(why),
        Err(_) => failed("no outcome within 30 s; it may still happen, see the log"),
    }
}

fn failed(why: &str) -> Response {
    let text = format!(
        "Reload failed; of each file with a mistake the earlier one stays in force:\n{why}\n"
    );
    (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
}

/// Anything but POST.
pub async fn only_post() -> Response {
    let hint = "Only POST reloads: curl -X POST http://HOST:PORT/-/reload\n";
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST")], hint).into_response()
}
