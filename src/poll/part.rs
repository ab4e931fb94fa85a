//! Parts of Redis keys that workers' sources are made of, asked of whoever holds the connection to a store. Plain
//! types: nothing here connects or decides.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::timeout;

use crate::config::RedisPart;
use crate::observe::Span;
use crate::observe::lock::Unreadable;
use crate::observe::node::FailReason;

/// One part of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRequest {
    /// The key.
    pub key: Vec<u8>,
    /// What of it.
    pub part: RedisPart,
}

/// What came back for a list of requests.
#[derive(Clone, Debug)]
pub struct PartsReply {
    /// From before the requests left until the last reply.
    pub span: Span,
    /// One for each request, in their order.
    pub values: Vec<PartValue>,
}

/// One part as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartValue {
    /// The key, field or member is not there.
    Missing,
    /// Its bytes.
    Value {
        /// The value, cut to what the reader is willing to carry.
        bytes: Vec<u8>,
        /// The key's absolute expiry in milliseconds of the server's clock.
        expires_at_ms: Option<i64>,
    },
    /// The key exists; its value was not asked for.
    Exists {
        /// The key's absolute expiry in milliseconds of the server's clock.
        expires_at_ms: Option<i64>,
    },
    /// The server answered, but not for this key.
    Unreadable(Unreadable),
}

/// No request of the list was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsFailed {
    /// Why.
    pub reason: FailReason,
    /// What exactly, without secrets.
    pub detail: String,
}

/// What [`ReadParts::read`] gives back.
pub type PartsFuture<'a> =
    Pin<Box<dyn Future<Output = Result<PartsReply, PartsFailed>> + Send + 'a>>;

/// A store's connection has shorter limits of its own; this one is for when it breaks its word.
pub const STORE_DEADLINE: Duration = Duration::from_secs(10);

/// Reads parts, and gives up in time.
pub async fn read_in_time(
    from: &dyn ReadParts,
    store: &str,
    parts: Vec<PartRequest>,
) -> Result<PartsReply, PartsFailed> {
    let reply = timeout(STORE_DEADLINE, from.read(store, parts)).await;
    reply.unwrap_or_else(|_| {
        let detail = format!("store {store}: no answer in {} s", STORE_DEADLINE.as_secs());
        Err(PartsFailed { reason: FailReason::Timeout, detail })
    })
}

/// Reads parts of keys of a configured store.
pub trait ReadParts: Send + Sync {
    /// Reads all of `parts` from the primary of `store`; fails at once if there is no connection to it.
    fn read<'a>(&'a self, store: &'a str, parts: Vec<PartRequest>) -> PartsFuture<'a>;
}
