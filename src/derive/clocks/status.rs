//! What a report of chronyd means. What the wire says in a state in which it cannot know is made up (1.0 s of delay and
//! dispersion when unsynchronised, 0 in local mode) and must not become a bound.

use super::Report;
use super::bound::{self, SLEW};
use super::walls::Wall;
use crate::derive::interval::Interval;
use crate::derive::words::ClockStatus;
use crate::observe::Mono;

/// Reference id of chronyd's `local` mode.
const LOCAL: u32 = 0x7F7F_0101;
/// Leap status from which on a clock is not synchronised.
const UNSYNCHRONIZED: u16 = 3;
/// After so many intervals without an update, chronyd's register of answers (eight deep) is empty.
const INTERVALS: f64 = 8.0;
/// Assumed before the second update: chronyd's usual shortest.
const USUAL_INTERVAL: f64 = 64.0;
/// How far in the future an update may lie on the clock that it is of, beyond what slewing may have done meanwhile.
const AHEAD: f64 = 1.0;
/// How far apart two hosts' clocks may be before the time of an update of one says something of its age on the other. Only
/// a hint until the next update is seen.
const HINT_TOLERANCE: f64 = 300.0;

/// What a report means at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The state.
    pub status: ClockStatus,
    /// Why, for a person.
    pub why: &'static str,
    /// That host's clock minus true time, where that is known.
    pub error: Option<Interval>,
}

/// Judges a report at `now`.
pub fn judge(report: &Report, wall: Wall, now: Mono) -> Judged {
    let t = &report.tracking;
    let without = |status, why| Judged { status, why, error: None };
    if t.leap >= UNSYNCHRONIZED || t.ref_id == 0 {
        return without(
            ClockStatus::Unsynchronized,
            "its chronyd has no source: how wrong its host's clock is, nobody knows",
        );
    }
    if t.ref_id == LOCAL {
        return without(
            ClockStatus::Local,
            "its chronyd serves its own clock as if it were true (`local`): how wrong that is, nobody knows",
        );
    }
    if let Wall::Known { wall, .. } = wall
        && updated(report) - wall.hi - slewed(report, now) > AHEAD
    {
        return without(
            ClockStatus::Unsynchronized,
            "its last update lies in the future of its own clock: something other than chronyd set that clock back",
        );
    }
    let has_moved = match wall {
        Wall::Known { moved_at, .. } => moved_at.is_some_and(|at| at >= report.older_seen),
        Wall::Foreign { .. } => false,
    };
    let (status, why) = if least_age(report, wall, now) > most_age(t.update_interval) {
        (
            ClockStatus::FreeRunning,
            "its chronyd has heard nothing from its source for eight intervals: the bound rests on how well its clock \
             runs alone",
        )
    } else {
        (ClockStatus::Synchronized, "its chronyd follows a source")
    };
    // Until chronyd measures again, what it says is of the clock before it was moved.
    let error = bound::error(t, now.secs_since(report.span.sent)).filter(|_| !has_moved);
    Judged { status, why, error }
}

fn most_age(interval: f64) -> f64 {
    INTERVALS * if interval > 0.0 && interval.is_finite() { interval } else { USUAL_INTERVAL }
}

/// Seconds since the last update, no more than the true ones.
fn least_age(report: &Report, wall: Wall, now: Mono) -> f64 {
    let seen = now.secs_since(report.update_seen);
    match wall {
        Wall::Known { wall, .. } => wall.lo - slewed(report, now) - updated(report),
        // Which of the two hosts' clocks is wrong, nobody knows here: the reading that makes the update younger.
        Wall::Foreign { ours: Some(ours) } if !report.is_update_new => {
            seen.max(ours - report.tracking.ref_time.max(updated(report)) - HINT_TOLERANCE)
        }
        Wall::Foreign { .. } => seen,
    }
}

/// The instant of the update on that host's wall clock. What chronyd says is on its corrected clock, which is ahead of the
/// wall clock by the correction that is still to be made.
fn updated(report: &Report) -> f64 {
    report.tracking.ref_time - report.tracking.correction
}

/// How much of the correction may have been made since the report: by so much the wall clock is elsewhere.
fn slewed(report: &Report, now: Mono) -> f64 {
    (SLEW * now.secs_since(report.span.sent).max(0.0)).min(report.tracking.correction.abs())
}
