//! `/metrics`: the last snapshot as text.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::accept;
use super::body::counted;
use super::shared::{Shared, busy, too_old};
use crate::clock;
use crate::expose::{self, Pieces, Rendered};

/// Answers a scrape. Never waits for a target; a snapshot that nobody renews is refused rather than passed off as new.
pub async fn metrics(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let Ok(place) = shared.scrapes.clone().try_acquire_owned() else {
        return busy("Too many scrapes at a time.\n");
    };
    let snapshot = shared.app.snapshot.load_full();
    if let Some(age) = snapshot.too_old(clock::mono()) {
        return (StatusCode::SERVICE_UNAVAILABLE, too_old(age.as_secs_f64())).into_response();
    }
    let gzip = accept::gzip(&headers);
    let asks = &shared.app.asks;
    if gzip { &asks.gzip } else { &asks.plain }.note(clock::mono());
    let Some((bytes, compressed)) = bytes_of(snapshot, gzip).await else {
        return (
            StatusCode::INTERNAL_SERVER_ERROR,
            "The metrics could not be made; see the log.\n",
        )
            .into_response();
    };
    let mut response = Response::new(counted(bytes, place));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(expose::CONTENT_TYPE));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// What is sent, and whether it is compressed; `None` if making it panicked.
async fn bytes_of(snapshot: Arc<Rendered>, gzip: bool) -> Option<(Pieces, bool)> {
    if let Some(made) = snapshot.made(gzip) {
        return Some((made, gzip));
    }
    // Whoever comes first makes it, which takes a while for many locks.
    let make = move || match gzip.then(|| snapshot.gzip()).flatten() {
        Some(bytes) => (bytes, true),
        None => (snapshot.text(), false),
    };
    tokio::task::spawn_blocking(make).await.ok()
}
