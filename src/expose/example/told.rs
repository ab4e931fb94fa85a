//! What sources tell of the example's locks, and its lists of live workers.

use std::sync::Arc;

use crate::observe::node::FailReason;
use crate::observe::{Expiry, Mono, ServerTime};
use crate::view::{
    Act, EffectsView, Evidence, FencingView, ListView, Mark, Past, PastTenure, Recent, ToldView,
};

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

/// Renewed each ten seconds until now; the example is taken at 1000 s.
pub fn recent() -> Recent {
    let mark = |s: f64, act, left| Mark { at: Mono::from_secs_f64(s), act, left };
    let before = [mark(880.0, Act::Held, Some(30.0)), mark(907.0, Act::Ended, Some(3.0))];
    let renewals = (1..9).map(|n| mark(911.5 + 10.0 * f64::from(n), Act::Renewed, Some(30.0)));
    let all = before.into_iter().chain([mark(907.0, Act::Held, Some(30.0))]);
    std::sync::Arc::new(all.chain(renewals).collect())
}

/// Of another one, which let it go before.
pub fn past() -> Past {
    let at = |s: f64| ServerTime((s * 1e6) as i64);
    std::sync::Arc::new(
        [PastTenure {
            worker: Some("orders-2".into()),
            fingerprint: Some("ba9876543210".into()),
            after: Some(at(1_789_999_878.0)),
            first: at(1_789_999_880.0),
            last: at(1_789_999_903.0),
            gone: at(1_789_999_905.0),
            expiry: Expiry::At(at(1_789_999_910.0)),
            overrun: None,
            evidence: Some(Evidence::Released),
            gone_at: Mono::from_secs_f64(905.0),
        }]
        .into(),
    )
}
