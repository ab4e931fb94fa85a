//! How long a lock (or all locks of a pattern) was held before: the typical hold and the learned limit.

use std::collections::VecDeque;
use std::time::Duration;

use crate::observe::Mono;

/// Ended holds remembered for the percentile.
const HOLDS: usize = 128;
/// Below this many the percentile says nothing.
const ENOUGH: usize = 20;
/// One bucket of the eight-day maximum.
const DAY: Duration = Duration::from_secs(86_400);

/// Ended holds, in seconds.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    ended: VecDeque<f32>,
    /// How many ended by their own doing, as far as it matters.
    own: usize,
    /// Longest hold that ended released or unknown, by day.
    days: VecDeque<(Mono, f32)>,
}

impl Holds {
    /// Takes a hold that ended; `own_end` when it ended released or unknown, not by somebody else's doing.
    pub fn learn(&mut self, seconds: f64, own_end: bool, at: Mono) {
        if self.ended.len() == HOLDS {
            self.ended.pop_front();
        }
        self.ended.push_back(seconds as f32);
        if !own_end {
            return;
        }
        self.own = (self.own + 1).min(ENOUGH);
        match self.days.back_mut() {
            Some((day, longest)) if at.since(*day) < DAY => *longest = longest.max(seconds as f32),
            _ => self.days.push_back((at, seconds as f32)),
        }
        while self.days.front().is_some_and(|(day, _)| at.since(*day) > DAY * 8) {
            self.days.pop_front();
        }
    }

    /// 99th percentile; none before 20 holds.
    pub fn typical(&self) -> Option<f64> {
        if self.ended.len() < ENOUGH {
            return None;
        }
        let mut sorted: Vec<f32> = self.ended.iter().copied().collect();
        sorted.sort_by(f32::total_cmp);
        sorted.get((sorted.len() * 99).div_ceil(100) - 1).map(|h| f64::from(*h))
    }

    /// Whether they may tell a limit.
    pub fn tells_limit(&self) -> bool {
        self.own >= ENOUGH
    }

    /// Longer than this is too long: 4 times the 99th percentile and 2 times the longest own end of eight days. `None`
    /// before 20 own ends: where all holds are cut off, none tells how long one may last.
    pub fn limit(&self, now: Mono) -> Option<f64> {
        if self.own < ENOUGH {
            return None;
        }
        let typical = self.typical()?;
        let longest = self
            .days
            .iter()
            .filter(|(day, _)| now.since(*day) <= DAY * 8)
            .map(|(_, l)| f64::from(*l))
            .fold(0.0, f64::max);
        Some((4.0 * typical).max(2.0 * longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_holds_make_a_limit() {
        let mut h = Holds::default();
        for k in 0..19 {
            h.learn(1.0, true, Mono::from_secs_f64(f64::from(k)));
        }
        assert_eq!(h.limit(Mono::from_secs_f64(20.0)), None);
        h.learn(10.0, true, Mono::from_secs_f64(20.0));
        assert_eq!(h.limit(Mono::from_secs_f64(21.0)), Some(40.0));
    }

    #[test]
    fn holds_that_are_all_cut_off_make_no_limit() {
        let mut h = Holds::default();
        for k in 0..100 {
            h.learn(8.0, k % 6 == 0, Mono::from_secs_f64(f64::from(k)));
        }
        assert_eq!(h.limit(Mono::from_secs_f64(101.0)), None, "17 ended by themselves");
        assert_eq!(h.typical(), Some(8.0));
    }

    #[test]
    fn a_long_hold_is_forgotten_after_eight_days() {
        let mut h = Holds::default();
        h.learn(1000.0, true, Mono::from_secs_f64(0.0));
        for k in 0..200 {
            h.learn(1.0, true, Mono::from_secs_f64(9.0 * 86_400.0 + f64::from(k)));
        }
        assert_eq!(h.limit(Mono::from_secs_f64(9.0 * 86_400.0 + 300.0)), Some(4.0));
    }
}
