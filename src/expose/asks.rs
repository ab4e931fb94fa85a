//! When `/metrics` was asked for lately, and whether it will be soon: who scrapes does so at a steady pace, so that what he
//! will want can be made before he comes, and the other snapshots cost nothing. A guess that is wrong costs time alone.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::observe::Mono;

/// Times kept: enough for the last few rounds of two scrapers.
const KEPT: usize = 8;
/// Asks this close together are one: what is made for the first serves them all.
const AT_ONCE: Duration = Duration::from_millis(100);
/// How early or late a scrape may come.
const LOOSE: Duration = Duration::from_millis(200);
/// No scraper that keeps a pace is slower.
const SLOWEST: Duration = Duration::from_secs(300);

/// Times at which one form of the metrics was asked for.
#[derive(Debug, Default)]
pub struct Times(Mutex<VecDeque<Mono>>);

impl Times {
    fn times(&self) -> MutexGuard<'_, VecDeque<Mono>> {
        // Whoever panicked left a list of times.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody asks.
    pub fn note(&self, now: Mono) {
        let mut times = self.times();
        if times.back().is_some_and(|last| now.since(*last) < AT_ONCE) {
            return;
        }
        if times.len() >= KEPT {
            times.pop_front();
        }
        times.push_back(now);
    }

    /// Whether somebody should ask from `now` on for so long: two times were as far apart as the later one is from then.
    pub fn expects(&self, now: Mono, within: Duration) -> bool {
        let times = self.times();
        let (from, to) = (now.minus(LOOSE), now.plus(within).plus(LOOSE));
        times.iter().enumerate().any(|(i, late)| {
            let gaps = times.iter().take(i).map(|early| late.since(*early));
            let mut next = gaps.filter(|gap| *gap <= SLOWEST).map(|gap| late.plus(gap));
            next.any(|at| from <= at && at <= to)
        })
    }
}

/// Both forms of the metrics.
#[derive(Debug, Default)]
pub struct Asks {
    /// As it is.
    pub plain: Times,
    /// Compressed.
    pub gzip: Times,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Mono {
        Mono::from_secs_f64(1000.0 + seconds)
    }

    fn expected(times: &Times, from: f64) -> bool {
        times.expects(at(from), Duration::from_secs(2))
    }

    #[test]
    fn nobody_is_expected_before_a_pace_shows() {
        let times = Times::default();
        assert!(!expected(&times, 0.0));
        times.note(at(1.0));
        // Several at a time are no pace.
        times.note(at(1.02));
        assert!((0..60).all(|n| !expected(&times, f64::from(n))));
    }

    #[test]
    fn only_the_snapshots_that_a_scraper_will_meet_are_made_ahead() {
        let times = Times::default();
        (0..4).for_each(|n| times.note(at(15.0 * f64::from(n) + 0.03 * f64::from(n % 2))));
        // One every two seconds for the minute after the last one.
        let met = |from: &f64| expected(&times, *from);
        let made: Vec<f64> = (0..7).map(|n| 46.0 + 2.0 * f64::from(n)).filter(met).collect();
        assert_eq!(made, [58.0]);
    }

    #[test]
    fn a_pair_of_scrapers_is_expected_each_at_its_time() {
        let times = Times::default();
        for n in 0..6 {
            times.note(at(15.0 * f64::from(n)));
            times.note(at(15.0 * f64::from(n) + 7.0));
        }
        assert!(expected(&times, 89.0) && expected(&times, 96.0));
        assert!(!expected(&times, 92.5));
    }

    #[test]
    fn who_stays_away_is_forgotten() {
        let times = Times::default();
        (0..20).for_each(|n| times.note(at(f64::from(n))));
        assert!(expected(&times, 19.0));
        assert!(!expected(&times, 40.0) && !expected(&times, 4000.0));
    }
}
