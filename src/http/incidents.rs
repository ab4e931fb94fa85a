//! Evidence: of one lock as it is now, and what was recorded when a signal rose.

use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use percent_encoding::percent_decode_str;

use super::api::{cannot, error, made};
use super::part::Part;
use super::shared::Shared;
use crate::evidence::{Found, Wanted};
use crate::expose::json;
use crate::view::Show;

/// Incidents in one answer, unless the client wants fewer or more.
const PAGE: usize = 50;
/// Incidents in one answer at most.
const MOST: usize = 1000;

/// The evidence of one lock now. It has no raw tokens, whatever the config says: a snapshot has none.
pub async fn evidence(
    State(shared): State<Shared>,
    Path((store, lock)): Path<(String, String)>,
) -> Response {
    let show = Show::Lock { store: store.clone(), lock: lock.clone() };
    let snapshot = match shared.showing(show).await {
        Ok(snapshot) => snapshot,
        Err(busy) => return busy,
    };
    let found = made(&shared.pages, move || {
        let (view, own) = (snapshot.view(), snapshot.own());
        let found = json::evidence(view, own, (&store, &lock), None, None)?;
        serde_json::to_vec_pretty(&found).ok().map(Bytes::from)
    });
    let none = "there is no such lock; names are percent-encoded, / too";
    found.await.unwrap_or_else(|| error(StatusCode::NOT_FOUND, none))
}

/// What is kept, the newest first.
pub async fn list(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Response {
    let Some(part) = Part::of(query.as_deref(), PAGE, MOST) else {
        return error(StatusCode::BAD_REQUEST, "offset and limit are whole numbers");
    };
    let incidents = shared.app.incidents.clone();
    let wanted = wanted(query.as_deref());
    let made = made(&shared.pages, move || {
        let listing = incidents.list(&wanted, part.offset, part.limit)?;
        serde_json::to_vec_pretty(&listing).ok().map(Bytes::from)
    });
    made.await.unwrap_or_else(cannot)
}

/// Whose incidents a query asks for. Bytes that are no UTF-8 are in no name, so nothing is of it.
fn wanted(query: Option<&str>) -> Wanted {
    let mut wanted = Wanted::default();
    for (key, value) in query.unwrap_or("").split('&').filter_map(|pair| pair.split_once('=')) {
        let plus = value.replace('+', " ");
        let value = || Some(percent_decode_str(&plus).decode_utf8_lossy().into_owned());
        match key {
            "store" => wanted.store = value(),
            "lock" => wanted.lock = value(),
            _ => {}
        }
    }
    wanted
}

/// One document, as it was written.
pub async fn one(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    let incidents = shared.app.incidents.clone();
    let found = made(&shared.files, move || match incidents.read(&id) {
        Found::Document(bytes) => Some(bytes),
        Found::Gone | Found::Unknown => None,
    });
    let none = "there is no such incident: it may have been deleted for newer ones";
    found.await.unwrap_or_else(|| error(StatusCode::NOT_FOUND, none))
}
