//! How far a clock can be from true time, by what chronyd says of it: `|correction| + root dispersion + root delay / 2`
//! at the moment of the report, and what may have been added since. True as far as the stratum-1 server is right and the
//! clock drifts no faster than chronyd allows for.

use crate::derive::interval::Interval;
use crate::observe::clock::Tracking;

/// Drift allowed since a report, as a share of its age.
pub const DRIFT: f64 = 50e-6;
/// How fast chronyd may slew the correction away: `maxslewrate` is 83,333 ppm unless configured.
pub(super) const SLEW: f64 = 0.1;
/// What is larger is no measurement.
const ABSURD: f64 = 1e6;

/// That host's clock minus true time, `age` seconds after a report of it. `None` for numbers that cannot be.
pub fn error(t: &Tracking, age: f64) -> Option<Interval> {
    let is_sane = t.correction.abs() <= ABSURD
        && (0.0..=ABSURD).contains(&t.root_dispersion)
        && (0.0..=ABSURD).contains(&t.root_delay)
        && age.is_finite();
    if !is_sane {
        return None;
    }
    let age = age.max(0.0);
    // Positive: the clock is behind true time.
    let then = -t.correction;
    // Since then it was brought nearer to true time, by how much nobody said.
    let nearest = then - then.signum() * (SLEW * age).min(then.abs());
    let (lo, hi) = (then.min(nearest), then.max(nearest));
    let half = t.root_dispersion + t.root_delay / 2.0;
    Some(Interval { lo, hi }.widened(half + DRIFT * age))
}
