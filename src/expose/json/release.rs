//! Whether a lock's key could be deleted by hand now, as the API shows it.

use serde::Serialize;

use crate::view::{LockView, StoreView, release};

#[derive(Debug, Serialize)]
pub(super) struct ReleaseSafe {
    safe: Option<bool>,
    fingerprint: Option<String>,
    ends_by_itself_seconds: Option<f64>,
    reasons: Vec<Reason>,
}

#[derive(Debug, Serialize)]
struct Reason {
    check: &'static str,
    passed: Option<bool>,
    found: String,
}

pub(super) fn describe_release(store: &StoreView, lock: &LockView) -> ReleaseSafe {
    let judged = release(store, lock);
    let reason = |c: crate::view::Check| Reason { check: c.what, passed: c.passed, found: c.found };
    ReleaseSafe {
        safe: judged.safe,
        fingerprint: judged.fingerprint,
        ends_by_itself_seconds: judged.ends_by_itself_seconds,
        reasons: judged.checks.into_iter().map(reason).collect(),
    }
}
