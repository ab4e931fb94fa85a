//! The example's group.

use crate::view::*;

/// A group of jobs of which one needs a look; its locks are not in the example.
pub fn jobs() -> GroupView {
    GroupView {
        name: "job-*".into(),
        top: 20,
        held: 1200,
        free: 80,
        unknown: 0,
        refused: 0,
        looks: 1,
        flagged: Signal::ALL.iter().map(|s| (*s, u64::from(*s == Signal::HolderStale))).collect(),
        remaining_min_seconds: Some(0.25),
        held_max_seconds: Some(33.5),
        counts: GroupCounts {
            acquisitions: 90_000,
            renewals: 12,
            late_renewals: 1,
            renewals_after_lost_liveness: 0,
            ends: Evidence::ALL.iter().map(|e| (*e, 10)).collect(),
            expired_under_holder: Some(vec![(Liveness::Alive, 2)]),
            rises: Signal::ALL.iter().map(|s| (*s, 3)).collect(),
        },
    }
}
