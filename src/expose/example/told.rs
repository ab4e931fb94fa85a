//! What sources tell of the example's locks, and its lists of live workers.

use std::sync::Arc;

use crate::observe::node::FailReason;
use crate::view::{EffectsView, FencingView, ListView, ToldView};

/// Of `orders`, of which something was told lately.
pub fn of_orders() -> ToldView {
    let mut told = of_others();
    if let Some(fencing) = &mut told.fencing {
        fencing.fell = Some(("".into(), 600.0));
    }
    told.effects.iter_mut().for_each(|e| e.duplicated_seconds = Some(61.0));
    told
}

/// Of the other locks.
pub fn of_others() -> ToldView {
    let db = || Arc::from("db");
    ToldView {
        fencing: Some(FencingView {
            issued: Some(34),
            accepted: vec![(db(), Some(33))],
            regressions: vec![("".into(), 1), (db(), 0)],
            rejections: vec![(db(), 2)],
            fell: None,
        }),
        effects: vec![EffectsView {
            resource: "mail".into(),
            total: 120,
            duplicates: Some(1),
            duplicated_seconds: None,
        }],
    }
}

/// A list that can be read.
pub fn fleet() -> ListView {
    ListView {
        name: "fleet".into(),
        preset: "rq",
        read: Some((12, 3.5)),
        fresh: true,
        failure: None,
        has_named: true,
    }
}

/// One that cannot.
pub fn unread_list() -> ListView {
    ListView {
        name: "jobs".into(),
        preset: "sidekiq",
        read: None,
        fresh: false,
        failure: Some((FailReason::Permission, "SSCAN of processes was answered by NOPERM".into())),
        has_named: false,
    }
}
