//! A lock server's wall clock held against the observer's monotonic clock: offset with its error, steps, standstill.
//!
//! One `TIME` reply bounds the offset: the server read its clock somewhere between our sending and our receiving.
//! Bounds of many replies are intersected (widened by drift); when the intersection is empty, a clock moved.

use std::time::Duration;

use crate::observe::{Mono, ServerTime, Span};

/// Drift allowed between two clocks, in parts per million: what crystals may do and what slewing adds.
const DRIFT_PPM: i64 = 200;
/// Smaller moves than this are slewing or jitter, not steps; a lease write has to differ by 20 ms to count.
const STEP_FLOOR_MICROS: i64 = 50_000;
/// Two readings closer than this do not tell whether a clock runs.
const STANDSTILL_MICROS: i64 = 20_000;

/// Interval of (server - observer) in microseconds, and when it was last tightened.
type Offset = (i64, i64, Mono);

/// What is known of one node's clock.
#[derive(Clone, Debug, Default)]
pub struct NodeClock {
    offset: Option<Offset>,
    last: Option<(ServerTime, Span)>,
    /// The last reading by which `TIME` had not advanced; with the offset from before it stood.
    stood: Option<(ServerTime, Span, Option<Offset>)>,
    /// When `TIME` was first seen to run again after it had stood.
    running_since: Option<Mono>,
    /// Tightest round trip of the present and the last sweep.
    rtt: [Option<Duration>; 2],
    /// Steps seen so far; marks of locks compare it.
    pub steps: u64,
    /// Sum of all steps in microseconds.
    pub stepped_micros: i64,
    /// Steps forward and backward.
    pub forward: u64,
    /// See `forward`.
    pub backward: u64,
    /// The last step in microseconds.
    pub last_step: Option<i64>,
    /// Anchors of the last two sweeps, for the standstill test: server time, our time, steps.
    anchors: [Option<(ServerTime, Mono, u64)>; 2],
    /// `TIME` stands still; `None` until two sweeps were seen.
    pub frozen: Option<bool>,
}

fn micros(m: Mono) -> i64 {
    (m.0 / 1000) as i64
}

impl NodeClock {
    /// Takes one `TIME` reply.
    pub fn observe(&mut self, time: ServerTime, span: Span) {
        let rtt = span.width();
        self.rtt[0] = Some(self.rtt[0].map_or(rtt, |r| r.min(rtt)));
        // One microsecond each way: both clocks are cut to whole microseconds.
        let (lo, hi) = (time.0 - micros(span.done) - 1, time.0 - micros(span.sent) + 1);
        if self.stands_still(time, span) {
            self.offset = Some((lo, hi, span.done));
            self.last = Some((time, span));
            return;
        }
        self.offset = match self.offset {
            Some((l, h, at)) => {
                let drift = (micros(span.done) - micros(at)).max(0) * DRIFT_PPM / 1_000_000;
                let (l, h) = (l - drift, h + drift);
                if lo <= h && l <= hi {
                    Some((l.max(lo), h.min(hi), span.done))
                } else {
                    let step = (lo + hi) / 2 - (l + h) / 2;
                    let error = (hi - lo) / 2 + (h - l) / 2;
                    if step.abs() > STEP_FLOOR_MICROS.max(error) {
                        self.record_step(step);
                    }
                    Some((lo, hi, span.done))
                }
            }
            None => Some((lo, hi, span.done)),
        };
        self.last = Some((time, span));
    }

    /// Whether `TIME` has not advanced since the reading before, or since it was seen to stand. A step back by just the
    /// time between two readings looks the same in the first of them: what it is, the next one tells, by the offset
    /// from before it stood.
    fn stands_still(&mut self, time: ServerTime, span: Span) -> bool {
        let since = self.stood.map(|(t, s, _)| (t, s)).or(self.last);
        let Some((t, s)) = since else { return false };
        let theirs = time.micros_since(t).abs();
        let least = micros(span.sent) - micros(s.done);
        let most = micros(span.done) - micros(s.sent);
        match self.stood {
            None if least > STANDSTILL_MICROS && theirs < least / 10 => {
                self.stood = Some((time, span, self.offset));
                true
            }
            None => false,
            Some((_, _, before)) if theirs < least / 10 => {
                self.stood = Some((time, span, before));
                true
            }
            Some(_) if theirs < most / 2 => true,
            Some((_, _, before)) => {
                self.stood = None;
                self.running_since = Some(span.done);
                self.offset = before;
                false
            }
        }
    }

    /// Whether the last reading was of a clock that stood: nothing about leases can be judged by it.
    pub fn is_standing(&self) -> bool {
        self.stood.is_some() || self.frozen == Some(true)
    }

    /// Whether the clock stood at some time after `at`: a renewal then sets the same E again, so that nobody sees it.
    pub fn stood_after(&self, at: Mono) -> bool {
        self.running_since.is_some_and(|since| since > at)
    }

    /// Not before this instant could a write be seen, if the clock stood since `at`.
    pub fn blind_until(&self, at: Mono) -> Mono {
        self.running_since.map_or(at, |since| since.max(at))
    }

    fn record_step(&mut self, micros: i64) {
        self.steps += 1;
        self.stepped_micros = self.stepped_micros.saturating_add(micros);
        self.last_step = Some(micros);
        if micros > 0 {
            self.forward += 1;
        } else {
            self.backward += 1;
        }
    }

    /// Marks the end of a sweep: the standstill test spans two of them.
    pub fn sweep_ended(&mut self) {
        let Some((time, span)) = self.last else { return };
        if let Some((t0, m0, steps)) = self.anchors[1] {
            let ours = micros(span.sent) - micros(m0);
            if steps == self.steps && ours > 0 {
                let theirs = time.micros_since(t0);
                self.frozen = Some(theirs.abs() <= ours / 10);
            }
        }
        self.anchors = [Some((time, span.done, self.steps)), self.anchors[0]];
        self.rtt = [None, self.rtt[0].or(self.rtt[1])];
    }

    /// Forgets everything that does not survive a restart of the server.
    pub fn server_restarted(&mut self) {
        self.anchors = [None, None];
        self.stood = None;
        self.frozen = None;
    }

    /// Server minus observer: midpoint and half-width in microseconds.
    pub fn offset_micros(&self) -> Option<(i64, i64)> {
        self.offset.map(|(l, h, _)| ((l + h) / 2, (h - l) / 2))
    }

    /// The tightest recent round trip.
    pub fn rtt(&self) -> Option<Duration> {
        match self.rtt {
            [Some(a), Some(b)] => Some(a.min(b)),
            [a, b] => a.or(b),
        }
    }

    /// When, on our clock, a request should leave so that the server executes it at `time` of its clock.
    pub fn send_at(&self, time: ServerTime) -> Option<Mono> {
        let (mid, _) = self.offset_micros()?;
        let ours = time.0.checked_sub(mid)?.checked_mul(1000)?;
        let half = self.rtt().unwrap_or_default() / 2;
        Some(Mono(u64::try_from(ours).unwrap_or(0)).minus(half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(at_ms: u64, rtt_ms: u64) -> Span {
        Span { sent: Mono(at_ms * 1_000_000), done: Mono((at_ms + rtt_ms) * 1_000_000) }
    }

    #[test]
    fn an_asymmetric_path_widens_the_bound_but_never_excludes_the_truth() {
        let mut c = NodeClock::default();
        // True offset 5 s; the request takes 40 ms, the reply 5 ms.
        for k in 0..20 {
            let sent = 10_000 + k * 1000;
            c.observe(ServerTime(((sent + 40) * 1000 + 5_000_000) as i64), span(sent, 45));
        }
        let (mid, half) = c.offset_micros().unwrap();
        assert!((mid - half..=mid + half).contains(&5_000_000), "{mid} +- {half}");
        assert_eq!(c.steps, 0);
    }

    #[test]
    fn a_step_is_counted_and_sized() {
        let mut c = NodeClock::default();
        c.observe(ServerTime(1_000_000), span(1000, 1));
        c.observe(ServerTime(3_000_500), span(3000, 1));
        c.observe(ServerTime(25_000_500), span(5000, 1));
        assert_eq!((c.forward, c.backward), (1, 0));
        assert!((c.last_step.unwrap() - 20_000_000).abs() < 3000);
        c.observe(ServerTime(-33_000_000), span(7000, 1));
        assert_eq!((c.forward, c.backward), (1, 1));
    }

    #[test]
    fn our_own_pause_inside_a_read_is_no_step() {
        let mut c = NodeClock::default();
        c.observe(ServerTime(1_000_000), span(1000, 1));
        c.observe(ServerTime(2_001_000), span(2000, 60_000));
        c.observe(ServerTime(63_000_500), span(63_000, 1));
        assert_eq!(c.steps, 0);
    }

    #[test]
    fn a_step_back_by_just_the_time_between_two_readings_is_counted_by_the_next() {
        let mut c = NodeClock::default();
        c.observe(ServerTime(1_000_000), span(1000, 1));
        c.observe(ServerTime(2_000_500), span(2000, 1));
        c.observe(ServerTime(2_000_700), span(3000, 1));
        assert!(c.is_standing(), "it may as well stand");
        assert_eq!(c.steps, 0);
        c.observe(ServerTime(2_007_700), span(3007, 1));
        assert!(!c.is_standing());
        assert_eq!((c.forward, c.backward), (0, 1));
        assert!((c.last_step.unwrap() + 1_000_000).abs() < 3000);
        assert!(c.stood_after(Mono(0)));
    }

    #[test]
    fn what_a_clock_stood_still_it_is_behind_by_unless_it_jumps() {
        for (jump, steps) in [(0, (0, 1)), (60_000_000, (0, 0))] {
            let mut c = NodeClock::default();
            c.observe(ServerTime(1_000_000), span(1000, 1));
            for k in 2..=61 {
                c.observe(ServerTime(1_000_500), span(k * 1000, 1));
                assert!(c.is_standing());
            }
            c.observe(ServerTime(2_000_500 + jump), span(62_000, 1));
            assert!(!c.is_standing());
            assert_eq!((c.forward, c.backward), steps);
            let (mid, half) = c.offset_micros().unwrap();
            assert!((mid - (jump - 60_000_000)).abs() <= half + 1000, "{mid} +- {half}");
        }
    }

    #[test]
    fn a_clock_that_stands_still_is_frozen_and_not_stepping() {
        let mut c = NodeClock::default();
        for k in 0..6 {
            c.observe(ServerTime(500), span(1000 + k * 2000, 1));
            c.sweep_ended();
        }
        assert_eq!(c.frozen, Some(true));
        assert_eq!(c.steps, 0);
    }
}
