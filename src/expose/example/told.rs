//! What sources tell of the example's locks.

use std::sync::Arc;

use crate::view::{EffectsView, FencingView, ToldView};

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
