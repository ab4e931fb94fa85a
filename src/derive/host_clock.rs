//! This host's wall clock held against its monotonic one: how often it was stepped, and how far.
//!
//! On Linux both are slewed alike (clock_gettime(2): `CLOCK_MONOTONIC` is "affected by frequency adjustments", and
//! `CLOCK_BOOTTIME` is the same with the time of suspend added): neither slewing, smearing nor suspending moves one
//! against the other. A small share of the time between two readings is allowed for all the same.

use super::interval::Interval;
use super::wanted::Effects;
use crate::observe::{HostClock, Mono};

/// Smaller moves are no steps.
const STEP_FLOOR: f64 = 0.050;
/// Allowed share of the time between two readings.
const SLEW: f64 = 200e-6;
/// The most that the share may allow, however long nobody read the clock.
const MOST_SLEW: f64 = 1.0;
/// From here on the wall clock was moved by something, be it too little to be called a step.
const MOVE_FLOOR: f64 = 0.001;
/// Seconds since the epoch are exact to a quarter of a microsecond in a double.
const ROUNDING: f64 = 1e-6;

/// What is known of this host's wall clock.
#[derive(Clone, Debug, Default)]
pub struct HostSteps {
    /// Steps forward.
    pub forward: u64,
    /// Steps backward.
    pub backward: u64,
    /// When the wall clock was last seen to have moved, by a step or by less.
    pub moved_at: Option<Mono>,
    /// The last step.
    pub last_step: Option<HostStep>,
    last: Option<HostClock>,
}

/// A step of this host's wall clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostStep {
    /// How far, in seconds; positive: forward.
    pub seconds: f64,
    /// How wrong that can be.
    pub error: f64,
    /// Not before this reading.
    pub after: Mono,
    /// When it was seen.
    pub seen: Mono,
}

impl HostSteps {
    /// Takes one reading.
    pub fn read(&mut self, read: &HostClock, fx: &mut Effects) {
        if !read.wall.is_finite() {
            return;
        }
        if let Some(last) = self.last {
            let time = read.span.done.secs_since(last.span.sent).max(0.0);
            let moved = read.ahead_of_mono() - last.ahead_of_mono();
            // The wall clock was read somewhere in each span.
            let least = moved.abs() - error(read) - error(&last);
            if least > MOVE_FLOOR.max(SLEW * time) {
                self.moved_at = Some(read.span.done);
            }
            if least > STEP_FLOOR.max((SLEW * time).min(MOST_SLEW)) {
                self.count(moved, fx);
                self.last_step = Some(HostStep {
                    seconds: moved,
                    error: error(read) + error(&last) + SLEW * time,
                    after: last.span.sent,
                    seen: read.span.done,
                });
            }
        }
        self.last = Some(*read);
    }

    fn count(&mut self, moved: f64, fx: &mut Effects) {
        let direction = if moved > 0.0 {
            self.forward += 1;
            "forward"
        } else {
            self.backward += 1;
            "backward"
        };
        fx.changed("", "", "host_clock_stepped", format!(
                "this host's wall clock was set {direction} by {:.3} s; its monotonic clock, by which everything here is \
                 measured, was not",
                moved.abs()
            ));
    }

    /// The last reading.
    pub fn last(&self) -> Option<&HostClock> {
        self.last.as_ref()
    }
}

/// Wall minus monotonic clock of a reading, with its error.
pub fn wall_ahead(read: &HostClock) -> Interval {
    Interval::around(read.ahead_of_mono(), error(read))
}

/// This host's wall clock at another instant, if nobody steps it in between.
pub fn wall_at(read: &HostClock, at: Mono) -> Interval {
    let wall = read.ahead_of_mono() + at.secs_since(Mono(0));
    Interval::around(wall, error(read))
}

fn error(read: &HostClock) -> f64 {
    read.span.width().as_secs_f64() / 2.0 + ROUNDING
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::observe::Span;

    fn reading(at: f64, wall: f64, width: f64) -> HostClock {
        let sent = Mono::from_secs_f64(at);
        HostClock { span: Span { sent, done: sent.plus(Duration::from_secs_f64(width)) }, wall }
    }

    fn steps(readings: &[(f64, f64)]) -> (u64, u64, usize) {
        let (mut clock, mut fx) = (HostSteps::default(), Effects::default());
        for (at, wall) in readings {
            clock.read(&reading(*at, *wall, 0.0), &mut fx);
        }
        (clock.forward, clock.backward, fx.notices.len())
    }

    #[test]
    fn steps_are_counted_by_direction_and_told() {
        let wall = 1.7e9;
        assert_eq!(steps(&[(100.0, wall), (102.0, wall + 2.0), (104.0, wall + 4.0)]), (0, 0, 0));
        assert_eq!(steps(&[(100.0, wall), (102.0, wall + 62.0), (104.0, wall + 64.0)]), (1, 0, 1));
        assert_eq!(steps(&[(100.0, wall), (102.0, wall - 1.0), (103.0, wall)]), (0, 1, 1));
        assert_eq!(steps(&[(100.0, wall), (100.2, wall + 0.26)]), (1, 0, 1), "60 ms in 0.2 s");
    }

    #[test]
    fn slewing_smearing_and_suspending_are_no_steps() {
        let wall = 1.7e9;
        // Both clocks are slewed, by far more than the share that is allowed between them.
        let slewed: Vec<_> = (0..50).map(|k| f64::from(k) * 2.16).map(|t| (t, wall + t)).collect();
        assert_eq!(steps(&slewed), (0, 0, 0));
        let apart: Vec<_> = (0..50)
            .map(|k| f64::from(k) * 2.0)
            .map(|t| (t, wall + t * (1.0 - 1.0 / 72_000.0)))
            .collect();
        assert_eq!(steps(&apart), (0, 0, 0));
        // Both clocks run through suspend.
        assert_eq!(steps(&[(100.0, wall), (40_000.0, wall + 39_900.0)]), (0, 0, 0));
        // However long nobody looked, a second and more is a step.
        assert_eq!(steps(&[(100.0, wall), (40_000.0, wall + 39_902.0)]), (1, 0, 1));
    }

    #[test]
    fn a_step_counts_however_seldom_the_clock_is_read() {
        let wall = 1.7e9;
        for interval in [0.2, 2.0, 15.0, 60.0] {
            for by in [0.1, -0.1, 0.4, 2.0] {
                let seen = steps(&[(100.0, wall), (100.0 + interval, wall + interval + by)]);
                let expected = if by > 0.0 { (1, 0, 1) } else { (0, 1, 1) };
                assert_eq!(seen, expected, "{by} in {interval} s");
            }
        }
    }

    #[test]
    fn a_small_move_is_no_step_but_is_remembered() {
        let (mut clock, mut fx) = (HostSteps::default(), Effects::default());
        clock.read(&reading(100.0, 1.7e9, 0.0), &mut fx);
        clock.read(&reading(102.0, 1.7e9 + 2.0, 0.0), &mut fx);
        assert_eq!(clock.moved_at, None);
        clock.read(&reading(104.0, 1.7e9 + 4.01, 0.0), &mut fx);
        assert_eq!((clock.forward, clock.moved_at), (0, Some(Mono::from_secs_f64(104.0))));
    }

    proptest! {
        /// Whatever the exporter was kept from doing in the middle of a reading, that is no step.
        #[test]
        fn a_slow_reading_is_no_step(widths in proptest::collection::vec((0.0f64..5.0, 0.0f64..1.0), 2..20)) {
            let (mut clock, mut fx) = (HostSteps::default(), Effects::default());
            let mut at = 1000.0;
            for (width, share) in widths {
                let wall = 1.7e9 + at + width * share;
                clock.read(&reading(at, wall, width), &mut fx);
                at += width + 0.5;
            }
            prop_assert_eq!((clock.forward, clock.backward, clock.moved_at), (0, 0, None));
        }
    }
}
