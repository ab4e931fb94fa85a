//! Notices become log lines: one for each transition, none for a poll. Routine ones are for `debug`: a busy store has
//! thousands a second.

use crate::derive::{Notice, Weight};

/// Writes one line.
pub fn log(notice: &Notice) {
    let Notice { weight, store, subject, what, detail } = notice;
    match weight {
        Weight::Alarm => {
            tracing::warn!(store = %store, subject = %subject, event = what, "{detail}");
        }
        Weight::Change => {
            tracing::info!(store = %store, subject = %subject, event = what, "{detail}");
        }
        Weight::Routine => {
            tracing::debug!(store = %store, subject = %subject, event = what, "{detail}");
        }
    }
}
