//! Who is connected in the example, and what a renewal told of who made it.

use std::sync::Arc;

use super::HOSTILE;
use crate::view::{ClientView, ClientsView, Fit, RenewalView};

/// A worker, and a process that nobody knows.
pub fn of_main() -> Arc<ClientsView> {
    let other =
        ClientView { worker: None, liveness: None, ..ClientView::example(4712, HOSTILE, HOSTILE) };
    let list = vec![ClientView::example(4711, "python3", "orders"), other];
    Arc::new(ClientsView { age_seconds: 3.0, list, beyond: 2, ..ClientsView::default() })
}

/// One that another process made.
pub fn renewal() -> RenewalView {
    RenewalView {
        age_seconds: 8.5,
        own: Fit::Excluded,
        others: vec![(4712, Some("python3".into()), Fit::Match)],
        elsewhere: Fit::Excluded,
    }
}
