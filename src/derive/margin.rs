//! The least share of the lease that was left just before a renewal, over the last hour.

use std::time::Duration;

use crate::observe::Mono;

/// Length of one bucket; seven of them cover at least an hour.
const BUCKET: Duration = Duration::from_secs(600);
const BUCKETS: usize = 7;

/// A sliding minimum.
#[derive(Clone, Debug, Default)]
pub struct Margins {
    buckets: [Option<(u64, f32)>; BUCKETS],
}

impl Margins {
    fn bucket(at: Mono) -> u64 {
        at.0 / (BUCKET.as_nanos() as u64)
    }

    /// Takes the ratio seen at a renewal.
    pub fn learn(&mut self, at: Mono, ratio: f64) {
        let n = Self::bucket(at);
        if let Some(slot) = self.buckets.get_mut((n % BUCKETS as u64) as usize) {
            *slot = match *slot {
                Some((m, least)) if m == n => Some((n, least.min(ratio as f32))),
                _ => Some((n, ratio as f32)),
            };
        }
    }

    /// The least ratio of the last hour.
    pub fn least(&self, now: Mono) -> Option<f64> {
        let n = Self::bucket(now);
        self.buckets
            .iter()
            .flatten()
            .filter(|(m, _)| n.saturating_sub(*m) < BUCKETS as u64)
            .map(|(_, least)| f64::from(*least))
            .reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thin_margin_is_remembered_for_an_hour() {
        let mut m = Margins::default();
        m.learn(Mono::from_secs_f64(10.0), 0.1);
        m.learn(Mono::from_secs_f64(20.0), 0.6);
        let least = |s| m.least(Mono::from_secs_f64(s)).map(|x| (x * 100.0).round());
        assert_eq!(least(3600.0), Some(10.0));
        assert_eq!(least(5000.0), None);
    }
}
