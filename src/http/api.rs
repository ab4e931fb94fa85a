//! The JSON API. Documents are described in `expose/api.md`.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tokio::sync::Semaphore;

use super::body::counted;
use super::fresh::{tag, tagged, unchanged};
use super::part::Part;
use super::shared::{Shared, busy};
use crate::expose::{Rendered, json};
use crate::view::Show;

/// Locks, a part of them at a time, with all stores and workers.
pub async fn locks(
    State(shared): State<Shared>,
    RawQuery(query): RawQuery,
    asked: HeaderMap,
) -> Response {
    let Some(part) = Part::of(query.as_deref(), json::LOCKS, json::MOST_LOCKS) else {
        return error(StatusCode::BAD_REQUEST, "offset and limit are whole numbers");
    };
    answer(&shared, &asked, move |snapshot| snapshot.locks_json(part.offset, part.limit)).await
}

/// All workers, with what is seen of their processes on this host.
pub async fn workers(State(shared): State<Shared>, asked: HeaderMap) -> Response {
    answer(&shared, &asked, Rendered::workers_json).await
}

/// All clocks.
pub async fn clocks(State(shared): State<Shared>, asked: HeaderMap) -> Response {
    answer(&shared, &asked, Rendered::clocks_json).await
}

/// One lock.
pub async fn lock(
    State(shared): State<Shared>,
    Path((store, lock)): Path<(String, String)>,
    asked: HeaderMap,
) -> Response {
    let tag = tag(&shared.app.snapshot.load());
    let show = Show::Lock { store: store.clone(), lock: lock.clone() };
    let snapshot = match shared.showing(show).await {
        Ok(snapshot) => snapshot,
        Err(busy) => return busy,
    };
    let Some(found) = json::one(snapshot.view(), &store, &lock) else {
        return error(
            StatusCode::NOT_FOUND,
            "there is no such lock; names are percent-encoded, / too",
        );
    };
    if let Some(unchanged) = unchanged(&asked, &tag) {
        return unchanged;
    }
    match serde_json::to_vec_pretty(&found) {
        Ok(bytes) => tagged(json_bytes(StatusCode::OK, bytes.into()), &tag),
        Err(_) => cannot(),
    }
}

/// One group, with some of its locks.
pub async fn group(
    State(shared): State<Shared>,
    Path((store, group)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    asked: HeaderMap,
) -> Response {
    let Some(part) = Part::of(query.as_deref(), json::PAGE, json::MOST) else {
        return error(StatusCode::BAD_REQUEST, "offset and limit are whole numbers");
    };
    let snapshot = shared.app.snapshot.load_full();
    let view = snapshot.view();
    if !view.stores.iter().any(|s| *s.name == *store && s.groups.iter().any(|g| *g.name == *group))
    {
        return error(
            StatusCode::NOT_FOUND,
            "there is no such group; names are percent-encoded, / too",
        );
    }
    let tag = tag(&snapshot);
    if let Some(unchanged) = unchanged(&asked, &tag) {
        return unchanged;
    }
    let (offset, limit) = (part.offset, part.limit.min(json::MOST));
    let show = Show::Group { store: store.clone(), group: group.clone(), offset, limit };
    let snapshot = match shared.showing(show).await {
        Ok(snapshot) => snapshot,
        Err(busy) => return busy,
    };
    let made = made(&shared.pages, move || {
        let found = json::one_group(snapshot.view(), &store, &group, offset, limit)?;
        serde_json::to_vec_pretty(&found).ok().map(Bytes::from)
    });
    made.await.map_or_else(cannot, |response| tagged(response, &tag))
}

/// Makes a document of the last snapshot off the event loop, for whoever does not have it.
async fn answer<F>(shared: &Shared, asked: &HeaderMap, make: F) -> Response
where
    F: FnOnce(&Rendered) -> Option<Bytes> + Send + 'static,
{
    let snapshot: Arc<Rendered> = shared.app.snapshot.load_full();
    let tag = tag(&snapshot);
    if let Some(unchanged) = unchanged(asked, &tag) {
        return unchanged;
    }
    let made = made(&shared.pages, move || make(&snapshot)).await;
    made.map_or_else(cannot, |response| tagged(response, &tag))
}

/// The same with a place among these; `None` if there is no document.
pub(super) async fn made<F>(places: &Arc<Semaphore>, make: F) -> Option<Response>
where
    F: FnOnce() -> Option<Bytes> + Send + 'static,
{
    let Ok(place) = places.clone().try_acquire_owned() else {
        return Some(busy("Too many requests at a time.\n"));
    };
    let work = move || (make(), place);
    let (bytes, place) = tokio::task::spawn_blocking(work).await.ok()?;
    Some(with_json_headers(Response::new(counted(bytes?, place))))
}

pub(super) fn error(status: StatusCode, error: &str) -> Response {
    json_bytes(status, format!("{{\"error\":\"{error}\"}}").into())
}

fn json_bytes(status: StatusCode, bytes: Bytes) -> Response {
    with_json_headers((status, bytes).into_response())
}

fn with_json_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(super) fn cannot() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, "The document could not be made.\n").into_response()
}
