//! A bucket of tokens: each request takes one, and one comes in per interval.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock;
use crate::config::web::RateLimit;
use crate::observe::Mono;

/// Full at first.
pub struct Bucket {
    limit: RateLimit,
    now: Mutex<(f64, Mono)>,
}

impl Bucket {
    /// A full one.
    pub fn new(limit: RateLimit) -> Self {
        Self { limit, now: Mutex::new((f64::from(limit.burst), clock::mono())) }
    }

    /// Takes a token; if there is none, says how long it takes until there is.
    pub fn take(&self, now: Mono) -> Option<Duration> {
        let mut bucket = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let (held, last) = &mut *bucket;
        let interval = self.limit.interval.as_secs_f64();
        *held = (*held + now.since(*last).as_secs_f64() / interval).min(self.limit.burst.into());
        *last = now.max(*last);
        if *held >= 1.0 {
            *held -= 1.0;
            return None;
        }
        Some(self.limit.interval.mul_f64(1.0 - *held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_one_for_each_interval() {
        let bucket = Bucket::new(RateLimit { interval: Duration::from_secs(2), burst: 3 });
        let start = clock::mono();
        let at = |secs| start.plus(Duration::from_secs(secs));
        assert!((0..3).all(|_| bucket.take(at(0)).is_none()));
        let wait = bucket.take(at(1)).expect("it is empty");
        assert!((0.9..1.1).contains(&wait.as_secs_f64()), "{wait:?}");
        assert!(bucket.take(at(2)).is_none());
        assert!(bucket.take(at(2)).is_some());
        // It holds no more than the burst, however long nobody came.
        assert!((0..3).all(|_| bucket.take(at(1000)).is_none()));
        assert!(bucket.take(at(1000)).is_some());
    }
}
