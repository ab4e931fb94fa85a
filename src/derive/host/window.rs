//! The largest bounds of a window, in a fixed number of buckets. Time is what the facts say; nothing here reads a clock.

use std::collections::VecDeque;
use std::time::Duration;

use crate::derive::words::StallSource;
use crate::observe::Mono;

/// Buckets of a window; what is shown is of the window and at most one bucket before it.
const BUCKETS: u32 = 60;

/// A length and what showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// How long.
    pub length: Duration,
    /// What showed it, or its largest part.
    pub source: StallSource,
}

impl Bound {
    /// The longer of two; the first of equals.
    pub fn longer(self, other: Self) -> Self {
        if other.length > self.length { other } else { self }
    }
}

/// The longer of two that may not be known.
pub(super) fn longer(a: Option<Bound>, b: Option<Bound>) -> Option<Bound> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.longer(b)),
        (a, b) => a.or(b),
    }
}

/// The largest of what was recorded in the last while.
#[derive(Clone, Debug, Default)]
pub struct Window {
    buckets: VecDeque<Bucket>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    begun: Mono,
    /// When the last of it was recorded; how long it was meant to be, a new config may have changed.
    ended: Mono,
    largest: Bound,
    /// When the largest was seen.
    at: Mono,
}

impl Window {
    /// Records a bound that a read at `at` showed. Returns whether it is the largest now.
    pub fn record(&mut self, at: Mono, bound: Bound, window: Duration) -> bool {
        self.forget(at, window);
        let is_largest = self.largest(at, window).is_none_or(|(b, _)| bound.length > b.length);
        let width = window / BUCKETS;
        match self.buckets.back_mut() {
            // Facts of several sources come in no strict order; an early one belongs to the bucket that is there.
            Some(last) if at.since(last.begun) < width || at < last.begun => {
                last.ended = last.ended.max(at);
                if bound.length > last.largest.length {
                    (last.largest, last.at) = (bound, at);
                }
            }
            _ => self.buckets.push_back(Bucket { begun: at, ended: at, largest: bound, at }),
        }
        is_largest
    }

    /// The largest of the window, and when it was seen.
    pub fn largest(&self, now: Mono, window: Duration) -> Option<(Bound, Mono)> {
        let kept = self.buckets.iter().filter(|b| is_kept(b, now, window));
        // The latest of equals: its age says how long nothing as bad was seen.
        kept.max_by_key(|b| (b.largest.length, b.at)).map(|b| (b.largest, b.at))
    }

    fn forget(&mut self, now: Mono, window: Duration) {
        while self.buckets.front().is_some_and(|b| !is_kept(b, now, window)) {
            self.buckets.pop_front();
        }
    }
}

fn is_kept(bucket: &Bucket, now: Mono, window: Duration) -> bool {
    now.since(bucket.ended) <= window
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(600);

    fn bound(ms: u64) -> Bound {
        Bound { length: Duration::from_millis(ms), source: StallSource::RunQueue }
    }

    fn largest(w: &Window, now: f64) -> Option<u128> {
        w.largest(Mono::from_secs_f64(now), WINDOW).map(|(b, _)| b.length.as_millis())
    }

    #[test]
    fn the_largest_stays_for_the_window_and_goes_with_it() {
        let mut w = Window::default();
        assert_eq!(largest(&w, 5.0), None);
        assert!(w.record(Mono::from_secs_f64(10.0), bound(900), WINDOW));
        for s in 11..610 {
            let is_news = w.record(Mono::from_secs_f64(f64::from(s)), bound(5), WINDOW);
            assert!(!is_news, "{s}");
        }
        assert_eq!(largest(&w, 609.0), Some(900));
        assert_eq!(largest(&w, 630.0), Some(5));
        // Nothing recorded for longer than the window: nothing known.
        assert_eq!(largest(&w, 2000.0), None);
    }

    #[test]
    fn it_is_bounded_whatever_comes_in() {
        let mut w = Window::default();
        for i in 0..200_000u64 {
            w.record(Mono(i * 100_000_000), bound(i % 977), WINDOW);
        }
        assert!(w.buckets.len() <= BUCKETS as usize + 2, "{}", w.buckets.len());
        assert_eq!(largest(&w, 20_000.0), Some(976));
    }

    #[test]
    fn a_shorter_window_keeps_what_was_within_it() {
        let hour = Duration::from_secs(3600);
        let mut w = Window::default();
        for s in 0..=70 {
            // Buckets of an hour's window are a minute long; the stall is in the last third of one.
            let length = if s == 55 { 4000 } else { 5 };
            w.record(Mono::from_secs_f64(f64::from(s)), bound(length), hour);
        }
        let minute = Duration::from_secs(60);
        let largest = |w: &Window, now| w.largest(Mono::from_secs_f64(now), minute);
        assert_eq!(largest(&w, 100.0).map(|(b, _)| b), Some(bound(4000)));
        w.record(Mono::from_secs_f64(101.0), bound(6), minute);
        assert_eq!(largest(&w, 114.0).map(|(b, _)| b), Some(bound(4000)), "59 s ago");
        assert_eq!(largest(&w, 121.0).map(|(b, _)| b), Some(bound(6)), "and it goes in the end");
    }

    #[test]
    fn a_fact_that_comes_late_counts_in_the_bucket_that_is_there() {
        let mut w = Window::default();
        w.record(Mono::from_secs_f64(100.0), bound(5), WINDOW);
        w.record(Mono::from_secs_f64(50.0), bound(70), WINDOW);
        assert_eq!(w.buckets.len(), 1);
        assert_eq!(largest(&w, 100.0), Some(70));
    }
}
