//! Puts documents together from a snapshot. Pure: what it makes is bytes.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::incidents::Incident;
use super::name;
use super::rises::Risen;
use crate::expose::SelfFacts;
use crate::expose::json::{self, RawToken};
use crate::observe::Token;
use crate::view::View;

/// A document, and what the index has of it.
pub struct Composed {
    /// For the index; without the body.
    pub incident: Incident,
    /// The document.
    pub bytes: Bytes,
}

/// One document; `None` if the lock is not in the snapshot or JSON cannot be made of it. `salt` is of this run.
pub fn compose(
    view: &View,
    own: &SelfFacts,
    risen: &Risen,
    tokens: Option<&[Token]>,
    salt: &str,
) -> Option<Composed> {
    let at = json::rfc3339(view.taken_wall)?;
    let id = name::make(&at, &risen.store, &risen.lock, risen.signal.as_str(), salt);
    let tokens: Option<Vec<RawToken>> = tokens.map(|t| t.iter().map(raw).collect());
    let of = Some((id.as_str(), risen.signal, risen.rise));
    let at = (&*risen.store, &*risen.lock);
    let document = json::evidence(view, own, at, of, tokens.as_deref())?;
    let bytes = Bytes::from(to_bytes(&document)?);
    let incident = Incident {
        taken: Some(view.taken_wall),
        store: Some(risen.store.to_string()),
        lock: Some(risen.lock.to_string()),
        signal: Some(risen.signal.as_str().to_owned()),
        summary: Some(document.summary().to_owned()),
        bytes: bytes.len() as u64,
        id: Arc::from(id.as_str()),
        body: None,
    };
    Some(Composed { incident, bytes })
}

fn to_bytes(document: &impl Serialize) -> Option<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(document).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

fn raw(token: &Token) -> RawToken {
    let text = std::str::from_utf8(token.bytes()).ok().map(str::to_owned);
    let hex = || token.bytes().iter().map(|b| format!("{b:02x}")).collect();
    RawToken { fingerprint: token.fingerprint(), hex: text.is_none().then(hex), text }
}
