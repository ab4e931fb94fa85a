//! Slow commands on a lock as the API shows them.

use std::sync::Arc;

use serde::Serialize;

use crate::view::LockView;

#[derive(Debug, Serialize)]
pub(super) struct SlowCommand<'a> {
    addr: &'a str,
    timestamp: f64,
    command: &'a str,
    duration_seconds: f64,
    client_address: Option<&'a str>,
    client_name: Option<&'a str>,
    touches: &'static str,
    truncated: bool,
    owner_fingerprint: Option<&'a str>,
}

pub(super) fn describe_slow(lock: &LockView) -> Vec<SlowCommand<'_>> {
    fn text(text: &Option<Arc<str>>) -> Option<&str> {
        text.as_deref()
    }
    lock.slow_commands
        .iter()
        .map(|slow| SlowCommand {
            addr: &slow.addr,
            timestamp: slow.timestamp,
            command: &slow.command,
            duration_seconds: slow.duration_seconds,
            client_address: text(&slow.client_address),
            client_name: text(&slow.client_name),
            touches: slow.touches,
            truncated: slow.truncated,
            owner_fingerprint: text(&slow.owner_fingerprint),
        })
        .collect()
}
