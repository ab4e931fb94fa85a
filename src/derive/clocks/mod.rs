//! The configured clocks as chronyd tells of them: in which state each is, and how wrong it can be at most. Never
//! subtracts two hosts' clocks without an error that it states.
//!
//! [`status`] says what a report means, [`bound`] how far a clock can be from true time, [`walls`] whose wall clock can
//! be read on the observer's, [`skew`] how far two hosts can be apart, [`strays`] which mapping is of no use.

pub mod bound;
pub mod skew;
pub mod status;
pub mod strays;
pub mod walls;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::skew::Disputes;
use self::status::Judged;
use self::strays::Strays;
use self::walls::Walls;
use super::fresh::is_fresh;
use super::wanted::Effects;
use super::words::ClockStatus;
use crate::observe::clock::{ClockFailed, Tracking};
use crate::observe::{ClockRead, Mono, Span};

/// Two reports of the same update show the same time of it; less than this is how the number was carried.
const SAME_UPDATE: f64 = 1e-5;

/// All configured clocks.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// By name; those that answered or failed at least once.
    pub by_name: BTreeMap<Arc<str>, Clock>,
    /// Nodes whose `TIME` and whose chronyd contradict each other.
    pub disputes: Disputes,
    /// Mappings to no node.
    pub strays: Strays,
}

/// One configured clock.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Why the last request failed, if it did.
    pub failure: Option<ClockFailed>,
    /// The last report.
    pub report: Option<Report>,
    /// The state that was last told.
    told: Option<ClockStatus>,
}

/// A report of chronyd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// When it was asked for and came.
    pub span: Span,
    /// What it says.
    pub tracking: Tracking,
    /// When the first report of the same update was asked for.
    pub update_seen: Mono,
    /// When the last report of the update before it was asked for: it came after that. The beginning, if none was seen.
    pub older_seen: Mono,
    /// That update was seen to follow another one, so that it is no older than the report before.
    pub is_update_new: bool,
}

impl Clocks {
    /// Takes one answer.
    pub fn read(&mut self, read: &ClockRead, walls: &Walls<'_>, fx: &mut Effects) {
        if !walls.rules.clocks.iter().any(|c| c.name == read.clock) {
            // The last word of a poller that a reload has ended.
            return;
        }
        let clock = self.by_name.entry(read.clock.clone()).or_default();
        match &read.seen {
            Ok(tracking) => {
                if clock.failure.take().is_some() {
                    let detail = "its chronyd answers again".to_owned();
                    fx.changed("", read.clock.clone(), "clock_returned", detail);
                }
                clock.report = Some(Report::after(clock.report.as_ref(), *tracking, read.span));
                clock.tell_status(&read.clock, walls, fx);
            }
            Err(failed) => {
                if clock.failure.as_ref().is_none_or(|before| before.reason != failed.reason) {
                    let detail = format!("{} ({})", failed.detail, failed.reason.as_str());
                    fx.changed("", read.clock.clone(), "clock_unreachable", detail);
                }
                clock.failure = Some(failed.clone());
            }
        }
        let found = skew::comparisons(self, walls);
        self.disputes.learn(&found, walls, fx);
    }

    /// Forgets clocks that are not configured any more.
    pub fn keep(&mut self, is_configured: impl Fn(&str) -> bool) {
        self.by_name.retain(|name, _| is_configured(name));
    }

    /// What is known of a clock at the instant of `walls`, while its report is fresh.
    pub fn judge(&self, name: &str, walls: &Walls<'_>) -> Option<Judged> {
        self.by_name.get(name)?.judge(name, walls)
    }
}

impl Clock {
    /// The last report while it is fresh.
    pub fn fresh(&self, walls: &Walls<'_>) -> Option<&Report> {
        let poll = walls.rules.poll_interval;
        self.report.as_ref().filter(|r| is_fresh(Some(r.span.done), walls.now, poll))
    }

    /// What its fresh report means.
    pub fn judge(&self, name: &str, walls: &Walls<'_>) -> Option<Judged> {
        self.fresh(walls).map(|report| status::judge(report, walls.of(name), walls.now))
    }

    fn tell_status(&mut self, name: &Arc<str>, walls: &Walls<'_>, fx: &mut Effects) {
        let Some(judged) = self.judge(name, walls) else { return };
        let before = self.told.replace(judged.status);
        let usual = before.unwrap_or(ClockStatus::Synchronized);
        if judged.status != usual {
            fx.changed("", name.clone(), "clock_status", judged.why.to_owned());
        }
    }
}

impl Report {
    /// A report that follows another one.
    fn after(before: Option<&Report>, tracking: Tracking, span: Span) -> Self {
        let (update_seen, older_seen, is_update_new) = match before {
            Some(b) if b.is_same_update(&tracking) => {
                (b.update_seen, b.older_seen, b.is_update_new)
            }
            Some(b) => (span.sent, b.span.sent, true),
            None => (span.sent, Mono(0), false),
        };
        Self { span, tracking, update_seen, older_seen, is_update_new }
    }

    fn is_same_update(&self, later: &Tracking) -> bool {
        (self.tracking.ref_time - later.ref_time).abs() < SAME_UPDATE
    }
}
