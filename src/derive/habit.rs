//! How often a lock's holder renews: the gaps between renewals, the period P, and whether renewing is the habit.

use std::collections::VecDeque;

/// Gaps remembered.
const GAPS: usize = 32;
/// First gaps of tenures remembered.
const FIRST: usize = 8;
/// Ended tenures remembered for the habit.
const TENURES: usize = 32;

/// What was learned about a lock's renewals at one lease length. Seconds.
#[derive(Clone, Debug, Default)]
pub struct Habit {
    lease: f64,
    gaps: VecDeque<f32>,
    first: VecDeque<f32>,
    /// Of ended tenures that outlived P: whether it was renewed.
    renewed: VecDeque<bool>,
}

impl Habit {
    /// Forgets the gaps when the lease length has become another one: a period belongs to a length.
    pub fn at_lease(&mut self, lease: f64, tolerance: f64) {
        if (lease - self.lease).abs() > (self.lease * 0.1).max(tolerance) {
            self.gaps.clear();
            self.first.clear();
            self.lease = lease;
        }
    }

    /// Takes the time between two renewals.
    pub fn learn_gap(&mut self, seconds: f64) {
        push(&mut self.gaps, seconds as f32, GAPS);
    }

    /// Takes the time from acquire to the first renewal: some libraries renew the first time later than afterwards.
    pub fn learn_first_gap(&mut self, seconds: f64) {
        push(&mut self.first, seconds as f32, FIRST);
    }

    /// Takes an ended tenure that lasted longer than P.
    pub fn learn_tenure(&mut self, was_renewed: bool) {
        push(&mut self.renewed, was_renewed, TENURES);
    }

    /// P: the 90th percentile of the gaps; the largest while there are under 10; none under 3.
    pub fn period(&self) -> Option<f64> {
        match self.gaps.len() {
            0..3 => None,
            3..10 => largest(&self.gaps),
            n => {
                let mut sorted: Vec<f32> = self.gaps.iter().copied().collect();
                sorted.sort_by(f32::total_cmp);
                // Nearest rank: the smallest gap that at least 90 of 100 do not exceed.
                sorted.get((n * 9).div_ceil(10) - 1).map(|g| f64::from(*g))
            }
        }
    }

    /// The period to expect before the first renewal of a tenure.
    pub fn first_period(&self) -> Option<f64> {
        let p = self.period();
        if self.first.len() < 3 { p } else { largest(&self.first).map(|f| f.max(p.unwrap_or(0.0))) }
    }

    /// At least 5 earlier tenures outlived P and 9 in 10 of them were renewed.
    pub fn renews(&self) -> bool {
        let n = self.renewed.len();
        n >= 5 && self.renewed.iter().filter(|r| **r).count() * 10 >= n * 9
    }
}

fn push<T>(ring: &mut VecDeque<T>, value: T, most: usize) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(value);
}

fn largest(gaps: &VecDeque<f32>) -> Option<f64> {
    gaps.iter().copied().max_by(f32::total_cmp).map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_needs_three_gaps_and_ignores_one_outlier_in_ten() {
        let mut h = Habit::default();
        h.learn_gap(2.0);
        h.learn_gap(2.0);
        assert_eq!(h.period(), None);
        h.learn_gap(3.0);
        assert_eq!(h.period(), Some(3.0));
        let mut h = Habit::default();
        for g in [2.0; 19] {
            h.learn_gap(g);
        }
        h.learn_gap(9.0);
        assert_eq!(h.period(), Some(2.0));
    }

    #[test]
    fn a_new_lease_length_starts_afresh() {
        let mut h = Habit::default();
        h.at_lease(30.0, 4.0);
        (0..5).for_each(|_| h.learn_gap(10.0));
        h.at_lease(28.0, 4.0);
        assert!(h.period().is_some());
        h.at_lease(60.0, 4.0);
        assert_eq!(h.period(), None);
    }

    #[test]
    fn the_first_gap_is_learned_apart() {
        let mut h = Habit::default();
        (0..3).for_each(|_| h.learn_first_gap(15.0));
        (0..10).for_each(|_| h.learn_gap(7.5));
        assert_eq!(h.period(), Some(7.5));
        assert_eq!(h.first_period(), Some(15.0));
    }
}
