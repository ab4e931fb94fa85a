//! Notices become log lines: one for each transition, none for a poll. Routine ones are for `debug`: a busy store has
//! thousands a second.

use tracing::field::{DisplayValue, display};

use crate::derive::{Notice, Weight};

/// Writes one line.
pub fn log(notice: &Notice) {
    let Notice { weight, store, subject, what, detail } = notice;
    // A field without a value is not written.
    let (store, subject) = (shown(store), shown(subject));
    match weight {
        Weight::Alarm => tracing::warn!(store, subject, event = what, "{detail}"),
        Weight::Change => tracing::info!(store, subject, event = what, "{detail}"),
        Weight::Routine => tracing::debug!(store, subject, event = what, "{detail}"),
    }
}

fn shown(text: &str) -> Option<DisplayValue<&str>> {
    (!text.is_empty()).then(|| display(text))
}
