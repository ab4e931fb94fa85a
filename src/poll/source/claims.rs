//! What a worker says it holds: JSON, a list of `{store, lock, token}`. Bounded, all or nothing: of a list that is cut off
//! nothing can be said. Tokens become fingerprints here and are gone; errors never quote the document.

use serde_json::Value;

use crate::observe::Token;
use crate::observe::label;
use crate::observe::node::FailReason;
use crate::observe::source::Claimed;

/// Largest document.
pub const MAX_BYTES: usize = 64 << 10;
/// Locks that one worker can claim at most.
pub const MAX_CLAIMS: usize = 256;

/// The claims at this pointer of a document. `null` is a worker that holds nothing.
pub fn parse(document: &[u8], pointer: &str) -> Result<Vec<Claimed>, (FailReason, String)> {
    let wrong = |what: &str| Err((FailReason::Protocol, what.to_owned()));
    if document.len() > MAX_BYTES {
        return wrong("the claims are in more than 64 KiB");
    }
    let whole: Value = match serde_json::from_slice(document) {
        Ok(value) => value,
        Err(e) => {
            let detail = format!("not JSON: wrong at line {} column {}", e.line(), e.column());
            return Err((FailReason::Protocol, detail));
        }
    };
    let list = match whole.pointer(pointer) {
        Some(Value::Array(list)) => list,
        Some(Value::Null) => return Ok(Vec::new()),
        Some(_) => return wrong("claims are a list: [{\"store\": ..., \"lock\": ...}]"),
        None => {
            let detail = format!("the JSON has nothing at {pointer:?}; check the pointer");
            return Err((FailReason::Missing, detail));
        }
    };
    if list.len() > MAX_CLAIMS {
        return wrong("more than 256 claims");
    }
    let mut claims: Vec<Claimed> = Vec::new();
    for entry in list {
        let Some(claim) = claim(entry) else {
            return wrong(
                "a claim without the texts `store` and `lock`, or with a `token` that is no text",
            );
        };
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    }
    Ok(claims)
}

fn claim(entry: &Value) -> Option<Claimed> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
    let fingerprint = match entry.get("token") {
        None | Some(Value::Null) => None,
        Some(Value::String(token)) => Some(Token::new(token.as_bytes()).fingerprint()),
        Some(_) => return None,
    };
    Some(Claimed {
        store: label::text(text("store")?.as_bytes()).into(),
        lock: label::text(text("lock")?.as_bytes()).into(),
        fingerprint,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn claims_are_read_and_tokens_are_gone() {
        let document = br#"{"beat": 1, "locks": [{"store": "main", "lock": "orders", "token": "hunter2", "more": []},
            {"store": "main", "lock": "mails"}, {"store": "main", "lock": "mails"}], "none": null}"#;
        let claims = parse(document, "/locks").unwrap();
        assert_eq!(claims.len(), 2);
        assert_eq!((&*claims[0].store, &*claims[0].lock), ("main", "orders"));
        assert_eq!(claims[0].fingerprint, Some(Token::new(b"hunter2").fingerprint()));
        assert_eq!(claims[1].fingerprint, None);
        assert!(!format!("{claims:?}").contains("hunter2"));
        assert_eq!(parse(document, "/none"), Ok(Vec::new()));
        assert_eq!(parse(b"[]", ""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_list_of_claims_is_a_failure_and_not_quoted() {
        let long = format!("[{}]", vec![r#"{"store":"s","lock":"hunter2"}"#; 257].join(","));
        let large = format!("[\"hunter2{}\"]", "x".repeat(MAX_BYTES));
        let deep = "[".repeat(10_000);
        for document in [
            "",
            "hunter2",
            "{\"hunter2\": 1}",
            "[{\"store\": \"hunter2\"}]",
            "[{\"store\": \"hunter2\", \"lock\": 5}]",
            "[{\"store\": \"s\", \"lock\": \"l\", \"token\": [\"hunter2\"]}]",
            "[\"hunter2\"]",
            &long,
            &large,
            &deep,
        ] {
            let (_, why) = parse(document.as_bytes(), "").unwrap_err();
            assert!(!why.contains("hunter2"), "{why}");
        }
        assert!(matches!(parse(b"{}", "/locks"), Err((FailReason::Missing, _))));
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(document: Vec<u8>, pointer: String) {
            let _ = parse(&document, &pointer);
        }
    }
}
