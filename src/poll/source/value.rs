//! Values reduced to a mark that changes when they change, and Redis parts made into beats.

use sha2::{Digest, Sha256};

use super::{failed, json};
use crate::observe::lock::Unreadable;
use crate::observe::node::FailReason;
use crate::observe::worker::Beat;
use crate::poll::part::PartValue;

/// A number for a value and its key's expiry: the first eight bytes of a SHA-256, so that no value can be made to look
/// like another one, nor be told from its mark.
pub fn mark(value: &[u8], expires_at_ms: Option<i64>) -> u64 {
    let mut hash = Sha256::new();
    hash.update(expires_at_ms.map_or([0; 9], |ms| {
        let mut tagged = [1; 9];
        tagged.iter_mut().skip(1).zip(ms.to_be_bytes()).for_each(|(to, from)| *to = from);
        tagged
    }));
    hash.update(value);
    hash.finalize().iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b))
}

/// A value without expiry, as files and HTTP have it.
pub fn plain(value: &[u8]) -> Beat {
    Beat::Value { mark: mark(value, None), expires: false }
}

/// What a Redis part says as a heartbeat.
pub fn beat(found: &PartValue, pointer: Option<&str>) -> Beat {
    match found {
        PartValue::Missing => Beat::None,
        PartValue::Exists { .. } => Beat::Success,
        PartValue::Value { bytes, expires_at_ms } => {
            let expires = expires_at_ms.is_some();
            match pointer {
                None => Beat::Value { mark: mark(bytes, *expires_at_ms), expires },
                Some(pointer) => match json::scalar(bytes, pointer) {
                    Ok(text) => {
                        Beat::Value { mark: mark(text.as_bytes(), *expires_at_ms), expires }
                    }
                    Err((reason, detail)) => failed(reason, detail),
                },
            }
        }
        PartValue::Unreadable(Unreadable::Permission) => {
            failed(FailReason::Permission, "the ACL user may not read the heartbeat's key")
        }
        PartValue::Unreadable(Unreadable::Unexpected) => {
            let detail =
                "the heartbeat is of another type than configured, or a field of over 64 KiB";
            failed(FailReason::Protocol, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(bytes: &[u8], expires_at_ms: Option<i64>) -> PartValue {
        PartValue::Value { bytes: bytes.to_vec(), expires_at_ms }
    }

    #[test]
    fn a_mark_changes_with_value_or_expiry_only() {
        assert_eq!(mark(b"1", None), mark(b"1", None));
        let all = [
            mark(b"1", None),
            mark(b"2", None),
            mark(b"1", Some(0)),
            mark(b"1", Some(7)),
            mark(b"", None),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all.iter().skip(i + 1).all(|b| a != b));
        }
    }

    #[test]
    fn redis_parts_become_beats() {
        assert_eq!(beat(&PartValue::Missing, None), Beat::None);
        assert_eq!(beat(&PartValue::Exists { expires_at_ms: Some(1) }, None), Beat::Success);
        let marked = Beat::Value { mark: mark(b"x", Some(5)), expires: true };
        assert_eq!(beat(&value(b"x", Some(5)), None), marked);
        let inner = beat(&value(br#"{"at":17,"n":1}"#, None), Some("/at"));
        assert_eq!(inner, plain(b"17"));
        assert_eq!(inner, beat(&value(br#"{"n":2,"at":17}"#, None), Some("/at")));
        for (bytes, reason) in [(&b"{}"[..], FailReason::Missing), (b"{\"at", FailReason::Protocol)]
        {
            let Beat::Failed { reason: got, .. } = beat(&value(bytes, None), Some("/at")) else {
                panic!()
            };
            assert_eq!(got, reason);
        }
        let refused = beat(&PartValue::Unreadable(Unreadable::Permission), None);
        assert!(matches!(refused, Beat::Failed { reason: FailReason::Permission, .. }));
    }
}
