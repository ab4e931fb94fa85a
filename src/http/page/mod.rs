//! The status page: plain HTML that works without scripts, reloads itself, and shows first what needs a look. It prints
//! the snapshot's verdicts in words and makes none.

mod escape;
mod html;
mod words;

use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
};
use axum::response::{IntoResponse, Response};

use super::body::counted;
use super::shared::{Shared, busy};
use crate::clock;

pub(super) use html::render;

/// Only the style sheet may be loaded, nothing may run, and no other site may frame the page.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = include_str!("style.css");

/// The page.
pub async fn status(State(shared): State<Shared>) -> Response {
    let Ok(place) = shared.pages.clone().try_acquire_owned() else {
        return busy("Too many requests at a time.\n");
    };
    let snapshot = shared.app.snapshot.load_full();
    let path = shared.app.telemetry_path.clone();
    let now = clock::mono();
    let made = tokio::task::spawn_blocking(move || render(&snapshot, path.as_str(), now));
    let Ok(page) = made.await else {
        return (axum::http::StatusCode::INTERNAL_SERVER_ERROR, "The page could not be made.\n")
            .into_response();
    };
    with_headers(Response::new(counted(page.into(), place)))
}

/// Its style sheet.
pub async fn style() -> Response {
    let headers: [(HeaderName, &str); 2] =
        [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "max-age=3600")];
    (headers, STYLE).into_response()
}

fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
