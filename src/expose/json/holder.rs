//! One holder of a lock as the API shows it. Of one that was read too long ago, only who it was.

use serde::Serialize;

use super::host::Stalls;
use super::not_empty;
use super::worker::Roster;
use crate::view::LockView;

#[derive(Debug, Serialize)]
pub(super) struct Holder<'a> {
    worker: Option<&'a str>,
    fingerprint: &'a str,
    count: u64,
    mode: &'static str,
    liveness: &'static str,
    host: Option<&'a str>,
    pid: Option<i32>,
    thread: Option<&'a str>,
    acquired_timestamp: Option<f64>,
    held_seconds: Option<f64>,
    lost_seconds: Option<f64>,
    remaining_seconds: Option<f64>,
    renewal_age_seconds: Option<f64>,
    beat_age_seconds: Option<f64>,
    stalls: Option<Stalls>,
}

pub(super) fn describe_holders<'a>(
    lock: &'a LockView,
    fresh: bool,
    roster: &Roster<'_>,
) -> Vec<Holder<'a>> {
    let now = |value: Option<f64>| value.filter(|_| fresh);
    lock.holders
        .iter()
        .map(|h| Holder {
            worker: not_empty(&h.worker),
            fingerprint: &h.fingerprint,
            count: h.count,
            mode: h.mode.as_str(),
            liveness: h.liveness.as_str(),
            host: h.host.as_deref(),
            pid: h.pid,
            thread: h.thread.as_deref(),
            acquired_timestamp: h.taken_at,
            held_seconds: now(Some(h.held_seconds)),
            lost_seconds: now(h.lost_seconds),
            remaining_seconds: now(h.remaining_seconds),
            renewal_age_seconds: now(h.renewal_age_seconds),
            beat_age_seconds: now(h.beat_age_seconds),
            stalls: roster.stalls(&h.worker).filter(|_| fresh),
        })
        .collect()
}
