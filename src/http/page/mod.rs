//! The status page and a page for each lock and each group of locks: plain HTML that works without scripts, reloads itself, and shows first what
//! needs a look. It prints the snapshot's verdicts in words and makes none.

/// Writes formatted text to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {{
        use std::fmt::Write;
        let _ = write!($out, $($text)*);
    }};
}

mod ask;
mod attention;
mod clocks;
mod details;
mod escape;
mod facts;
mod frame;
mod groups;
mod hints;
mod lock;
mod resources;
mod row;
mod stalls;
mod status;
mod stores;
mod when;
mod words;
mod workers;

#[cfg(test)]
mod tests;

use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    REFRESH,
};
use axum::response::{IntoResponse, Response};

use self::ask::{Ask, REFRESH_SECONDS};
pub use self::lock::lanes;
use super::body::counted;
use super::part::Part;
use super::shared::{Shared, busy};
use crate::clock;
use crate::view::Show;

/// Only the style sheet may be loaded, nothing may run, and no other site may frame the page.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const STYLE: &str = include_str!("style.css");

/// The status page.
pub async fn status(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Response {
    let snapshot = shared.app.snapshot.load_full();
    let path = shared.app.telemetry_path.clone();
    answer(&shared, Ask::of(query.as_deref()), move |ask| {
        (StatusCode::OK, status::render(&snapshot, path.as_str(), ask, clock::mono()))
    })
    .await
}

/// The page of one lock; 404 and a page that says so if there is none of that name.
pub async fn lock(
    State(shared): State<Shared>,
    Path((store, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let show = Show::Lock { store: store.clone(), lock: name.clone() };
    let snapshot = match shared.showing(show).await {
        Ok(snapshot) => snapshot,
        Err(busy) => return busy,
    };
    answer(&shared, Ask::of(query.as_deref()), move |ask| {
        match row::find(snapshot.view(), &store, &name, ask) {
            Some(row) => (StatusCode::OK, lock::render(&snapshot, &row, ask, clock::mono())),
            None => {
                let page = lock::unknown(&snapshot, (&store, &name), ask, clock::mono());
                (StatusCode::NOT_FOUND, page)
            }
        }
    })
    .await
}

/// The page of one group; 404 and a page that says so if there is none of that name.
pub async fn group(
    State(shared): State<Shared>,
    Path((store, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let (rows, most) = groups::ROWS;
    let Some(part) = Part::of(query.as_deref(), rows, most) else {
        return (StatusCode::BAD_REQUEST, "offset and limit are whole numbers.\n").into_response();
    };
    let (offset, limit) = (part.offset, part.limit);
    let show = Show::Group { store: store.clone(), group: name.clone(), offset, limit };
    let snapshot = match shared.showing(show).await {
        Ok(snapshot) => snapshot,
        Err(busy) => return busy,
    };
    answer(&shared, Ask::of(query.as_deref()), move |ask| {
        match groups::find(snapshot.view(), &store, &name) {
            Some(found) => {
                (StatusCode::OK, groups::render(&snapshot, found, part, ask, clock::mono()))
            }
            None => (StatusCode::NOT_FOUND, groups::unknown(&snapshot, ask, clock::mono())),
        }
    })
    .await
}

/// Their style sheet.
pub async fn style() -> Response {
    let headers: [(HeaderName, &str); 2] =
        [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "max-age=3600")];
    (headers, STYLE).into_response()
}

/// Makes a page off the event loop.
async fn answer<F>(shared: &Shared, ask: Ask, make: F) -> Response
where
    F: FnOnce(&Ask) -> (StatusCode, String) + Send + 'static,
{
    let is_still = ask.is_still;
    let Ok(place) = shared.pages.clone().try_acquire_owned() else {
        return busy("Too many requests at a time.\n");
    };
    let Ok((status, page)) = tokio::task::spawn_blocking(move || make(&ask)).await else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "The page could not be made.\n")
            .into_response();
    };
    let mut response = Response::new(counted(bytes::Bytes::from(page), place));
    *response.status_mut() = status;
    if !is_still {
        response.headers_mut().insert(REFRESH, HeaderValue::from(REFRESH_SECONDS));
    }
    with_headers(response)
}

fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
