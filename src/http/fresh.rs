//! Entity tags: a client that has the document of this very snapshot is told so with 304 and no body. A tag stands for a
//! snapshot, as each document is made from one and nothing else; it decides nothing about what is in it.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use crate::expose::Rendered;

/// The tag of what is made from this snapshot: its number, and when it was made, since numbers begin anew with each start.
pub fn tag(snapshot: &Rendered) -> String {
    let view = snapshot.view();
    format!("\"{}-{:x}\"", view.generation, view.taken_wall.to_bits())
}

/// The answer for whoever has it already; `None` for everybody else.
pub fn unchanged(asked: &HeaderMap, tag: &str) -> Option<Response> {
    let has = asked.get_all(IF_NONE_MATCH).iter().filter_map(|v| v.to_str().ok()).any(|list| {
        // A proxy may have weakened the tag; for GET that is as good (RFC 9110, 13.1.2).
        list.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|t| t == tag || t == "*")
    });
    if !has {
        return None;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    Some(tagged(response, tag))
}

/// The answer with its tag: it may be kept, and has to be asked for each time.
pub fn tagged(mut response: Response, tag: &str) -> Response {
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_this_snapshot_is_told_that_it_is_unchanged() {
        let asks = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static(value));
            unchanged(&headers, "\"7-ab\"").map(|r| r.status())
        };
        for same in ["\"7-ab\"", "W/\"7-ab\"", "\"1\", \"7-ab\"", "*"] {
            assert_eq!(asks(same), Some(StatusCode::NOT_MODIFIED), "{same}");
        }
        for other in ["\"7-ac\"", "7-ab", "", ","] {
            assert_eq!(asks(other), None, "{other}");
        }
        assert!(unchanged(&HeaderMap::new(), "\"7-ab\"").is_none());
    }
}
