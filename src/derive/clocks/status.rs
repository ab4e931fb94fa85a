//! What a report of chronyd means. What the wire says in a state in which it cannot know is made up (1.0 s of delay and
//! dispersion when unsynchronised, 0 in local mode) and must not become a bound.

use super::Report;
use super::bound;
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
/// How far in the future an update may lie on the clock that it is of.
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
        && t.ref_time - wall.hi > AHEAD
    {
        return without(
            ClockStatus::Unsynchronized,
            "its last update lies in the future of its own clock: something other than chronyd set that clock back",
        );
    }
    let has_moved = match wall {
        Wall::Known { moved_at, .. } => moved_at.is_some_and(|at| at >= report.update_seen),
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
        Wall::Known { wall, .. } => wall.lo - report.tracking.ref_time,
        Wall::Foreign { ours: Some(ours) } if !report.is_update_new => {
            seen.max(ours - report.tracking.ref_time - HINT_TOLERANCE)
        }
        Wall::Foreign { .. } => seen,
    }
}
