//! Every proof of two owners at once that needs no other server, and the hint: each in its own story and in no other, and
//! what looks like it and is none.

mod claim;
mod fencing;
mod resumed;
mod returned;

use super::sim::Sim;
use crate::derive::{ContentionKind, Signal};

/// The kinds that were counted.
fn counted(s: &Sim) -> Vec<(ContentionKind, u64)> {
    let all = s.lock().counts.contentions;
    all.into_iter().filter(|(_, n)| *n > 0).collect()
}

/// Whether a kind has a series.
fn has_series(s: &Sim, kind: ContentionKind) -> bool {
    s.lock().counts.contentions.iter().any(|(k, _)| *k == kind)
}

/// That kind was counted once, no other was, and it raised the signal.
fn assert_proven(s: &Sim, kind: ContentionKind) {
    assert_eq!(counted(s), [(kind, 1)], "{:#?}", s.lock().transitions);
    assert_eq!(s.signal(Signal::Contested), Some(true));
    assert_eq!(s.rises(Signal::Contested), 1);
    let view = s.lock();
    let kept: Vec<_> = view.contention.iter().map(|c| c.kind).collect();
    assert_eq!(kept, [kind]);
    assert!(view.transitions.iter().any(|t| t.what == "contention"), "{:#?}", view.transitions);
}

fn assert_nothing(s: &Sim, name: &str) {
    assert_eq!(counted(s), [], "{name}: {:#?}", s.lock().transitions);
    assert_eq!(s.rises(Signal::Contested), 0, "{name}");
    assert!(s.lock().contention.is_empty(), "{name}");
}
