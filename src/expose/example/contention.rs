//! Proofs and a hint of the example's first lock.

use crate::view::{Basis, ContentionKind, ContentionView, Evidence, Liveness, PartyView};

fn owner(worker: &str, fingerprint: &str, expiry: f64) -> PartyView {
    PartyView {
        worker: Some(worker.into()),
        fingerprint: Some(fingerprint.into()),
        expiry_timestamp: Some(expiry),
        node: None,
    }
}

/// One that rests on offsets, and a hint.
pub(super) fn of_orders() -> Vec<ContentionView> {
    vec![
        ContentionView {
            kind: ContentionKind::Lost,
            age_seconds: 600.0,
            owners: vec![
                owner("orders-2", "ba9876543210", 1_789_999_430.5),
                owner("orders-1", "0123456789ab", 1_789_999_429.0),
            ],
            basis: Basis::End {
                evidence: Evidence::Failover,
                acquired_after: Some(18_800),
                kept: Some(18_752),
            },
            detail: "the server lost it (failover) from orders-2, and orders-1 got it before the first one's lease was over"
                .into(),
        },
        ContentionView {
            kind: ContentionKind::Resumed,
            age_seconds: 90.5,
            owners: vec![
                owner("orders-2", "ba9876543210", 1_789_999_905.0),
                owner("orders-1", "0123456789ab", 1_790_000_021.5),
            ],
            basis: Basis::Stood(Liveness::Stopped),
            detail: "orders-2 came back, whose lease ran out while it was stopped, and orders-1 holds it".into(),
        },
    ]
}
