//! The bytes that a source gives, for values other than heartbeats: what there is, that there is nothing, or why it cannot
//! be told.

use super::Filled;
use super::claims::MAX_BYTES;
use super::file::{self, FileFailed};
use crate::observe::lock::Unreadable;
use crate::observe::node::FailReason;
use crate::observe::source::SourceFailed;
use crate::poll::lane::Inside;
use crate::poll::part::PartValue;

/// What a source gave; `None` if it answered that there is nothing.
pub type Raw = Result<Option<Vec<u8>>, SourceFailed>;

/// A failure.
pub fn failed(reason: FailReason, detail: impl Into<String>) -> SourceFailed {
    SourceFailed { reason, detail: detail.into() }
}

/// Reads a source that is not in Redis.
pub async fn own(filled: &Filled, inside: Inside) -> Raw {
    match filled {
        Filled::File { path, .. } => {
            // One byte more tells that it is too long.
            let cap = MAX_BYTES as u64 + 1;
            match file::content(path.clone(), cap, inside).await {
                Ok(bytes) => Ok(Some(bytes)),
                Err(FileFailed::Absent(_)) => Ok(None),
                Err(FileFailed::Unreadable { reason, detail }) => Err(failed(reason, detail)),
            }
        }
        Filled::Http(endpoint) => endpoint
            .value(inside)
            .await
            .map(Some)
            .map_err(|(reason, detail)| failed(reason, detail)),
        Filled::Refused(why) => Err(failed(FailReason::Other, why.clone())),
        Filled::Redis { .. } => Err(failed(FailReason::Other, "it is read with its store")),
    }
}

/// What a Redis part is worth.
pub fn part(found: &PartValue) -> Raw {
    match found {
        PartValue::Missing => Ok(None),
        PartValue::Value { bytes, .. } => Ok(Some(bytes.clone())),
        PartValue::Exists { .. } => {
            Err(failed(FailReason::Other, "that a key exists is no value; ask for its content"))
        }
        PartValue::Unreadable(Unreadable::Permission) => {
            Err(failed(FailReason::Permission, "the ACL user may not read the source's key"))
        }
        PartValue::Unreadable(Unreadable::Unexpected) => {
            let detail =
                "the source's key is of another type than configured, or a field of over 64 KiB";
            Err(failed(FailReason::Protocol, detail))
        }
    }
}

/// Where in its document the value is.
pub fn pointer(filled: &Filled) -> Option<&str> {
    match filled {
        Filled::Redis { json, .. } => json.as_deref(),
        Filled::Http(endpoint) => endpoint.pointer(),
        Filled::File { .. } | Filled::Refused(_) => None,
    }
}
