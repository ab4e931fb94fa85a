//! What sources tell of the example's locks.

use std::sync::Arc;

use crate::view::{EffectsView, FencingView, ToldView};

/// Of `orders`.
pub fn of_orders() -> ToldView {
    let db = || Arc::from("db");
    ToldView {
        fencing: Some(FencingView {
            issued: Some(34),
            accepted: vec![(db(), Some(33))],
            regressions: vec![("".into(), 1), (db(), 0)],
            rejections: vec![(db(), 2)],
        }),
        effects: vec![EffectsView { resource: "mail".into(), total: 120, duplicates: Some(1) }],
    }
}
