//! A lock server's wall clock held against the observer's monotonic clock: offset with its error, steps, standstill.
//!
//! One `TIME` reply bounds the offset: the server read its clock somewhere between our sending and our receiving.
//! Bounds of many replies are intersected (widened by drift); when the intersection is empty, a clock moved. Must not
//! claim a bound after a move before a reply that was read after it.

mod standing;

use std::time::Duration;

use crate::observe::{Mono, ServerTime, Span};

/// Drift allowed between two clocks, in parts per million: what crystals may do and what usual slewing adds.
const DRIFT_PPM: i64 = 200;
/// The most that is allowed for a clock that was caught slewing faster: chronyd slews by 8 % at most.
const MOST_DRIFT_PPM: i64 = 100_000;
/// For how long a clock that was caught slewing is believed to go on, in microseconds.
const SLEW_MICROS: i64 = 60_000_000;
/// Smaller moves than this are slewing or jitter, not steps; a lease write has to differ by 20 ms to count.
const STEP_FLOOR_MICROS: i64 = 50_000;

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
    /// Faster drift than the usual, in parts per million, and until when.
    slew: Option<(i64, Mono)>,
    /// Tightest round trip of the present and the last sweep.
    rtt: [Option<Duration>; 2],
    /// Steps seen so far; marks of locks compare it.
    pub steps: u64,
    /// Sum of all steps in microseconds.
    pub stepped_micros: i64,
    /// Steps forward and backward, as far as they are the server's and not our own pause.
    pub forward: u64,
    /// See `forward`.
    pub backward: u64,
    /// The last step in microseconds.
    pub last_step: Option<i64>,
    /// When the last step was seen, whoever's it was.
    pub stepped_at: Option<Mono>,
    /// A forward step that may turn out to be our own pause.
    pub undecided: Option<Step>,
    /// Anchors of the last two sweeps, for the standstill test: server time, our time, steps.
    anchors: [Option<(ServerTime, Mono, u64)>; 2],
    /// A whole sweep went by since the last step.
    is_settled: bool,
    /// `TIME` stands still; `None` until two sweeps were seen.
    pub frozen: Option<bool>,
}

/// A step forward that was just seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// How far.
    pub micros: i64,
    /// How wrong that can be.
    pub error: i64,
    /// When it was seen.
    pub at: Mono,
}

fn micros(m: Mono) -> i64 {
    (m.0 / 1000) as i64
}

impl NodeClock {
    /// Takes one `TIME` reply.
    pub fn observe(&mut self, time: ServerTime, span: Span) {
        // Of an instant that was told before, or of one before that: what a feed proves of many keys comes after its proof.
        if self.last.is_some_and(|(_, last)| span.sent <= last.sent) {
            return;
        }
        let rtt = span.width();
        self.rtt[0] = Some(self.rtt[0].map_or(rtt, |r| r.min(rtt)));
        // One microsecond each way: both clocks are cut to whole microseconds. And the drift since the reading.
        let slack = 1 + self.drift(span.sent, span.done);
        let (lo, hi) = (
            time.0.saturating_sub(micros(span.done) + slack),
            time.0.saturating_sub(micros(span.sent) - slack),
        );
        if self.stands_still(time, span) {
            self.offset = Some((lo, hi, span.done));
            self.last = Some((time, span));
            return;
        }
        self.offset = match self.offset {
            Some((l, h, at)) => {
                let drift = self.drift(at, span.done);
                let (l, h) = (l.saturating_sub(drift), h.saturating_add(drift));
                if lo <= h && l <= hi {
                    Some((l.max(lo), h.min(hi), span.done))
                } else {
                    self.moved((l, h, at), (lo, hi), span.done);
                    Some((lo, hi, span.done))
                }
            }
            None => {
                self.is_settled = true;
                Some((lo, hi, span.done))
            }
        };
        self.last = Some((time, span));
    }

    /// What drift allows between two instants, in whole microseconds.
    fn drift(&self, from: Mono, to: Mono) -> i64 {
        let ppm = self.slew.filter(|(_, until)| from < *until).map_or(DRIFT_PPM, |(ppm, _)| ppm);
        let time = (micros(to) - micros(from)).max(0);
        time.saturating_mul(ppm) / 1_000_000 + i64::from(time > 0)
    }

    /// The clock is not where drift could have brought it: it was stepped, or slewed faster than usual.
    fn moved(&mut self, before: Offset, (lo, hi): (i64, i64), now: Mono) {
        let (l, h, at) = before;
        let step = middle(lo, hi).saturating_sub(middle(l, h));
        let error = (hi.saturating_sub(lo) / 2).saturating_add(h.saturating_sub(l) / 2);
        if step.saturating_abs() > STEP_FLOOR_MICROS.max(error) {
            self.record_step(Step { micros: step, error, at: now });
            return;
        }
        let missed = lo.saturating_sub(h).max(l.saturating_sub(hi));
        let time = (micros(now) - micros(at)).max(1_000_000);
        let ppm = missed.saturating_mul(1_000_000) / time;
        let ppm = DRIFT_PPM.saturating_add(ppm.saturating_mul(2)).min(MOST_DRIFT_PPM);
        self.slew = Some((ppm, Mono(now.0.saturating_add(SLEW_MICROS as u64 * 1000))));
    }

    fn record_step(&mut self, step: Step) {
        // An earlier one that nobody has decided on is the server's own: pauses of ours do not come so fast.
        self.step_is_theirs();
        self.steps += 1;
        self.stepped_micros = self.stepped_micros.saturating_add(step.micros);
        self.stepped_at = Some(step.at);
        self.is_settled = false;
        self.undecided = Some(step);
        if step.micros < 0 {
            self.step_is_theirs();
        }
    }

    /// The undecided step was made by the server's clock.
    pub fn step_is_theirs(&mut self) {
        let Some(step) = self.undecided.take() else { return };
        self.last_step = Some(step.micros);
        if step.micros > 0 {
            self.forward += 1;
        } else {
            self.backward += 1;
        }
    }

    /// The undecided step was no step: our own clock stood still.
    pub fn step_is_our_pause(&mut self) {
        self.undecided = None;
    }

    /// When the last `TIME` was asked for.
    pub fn last_asked(&self) -> Option<Mono> {
        self.last.map(|(_, span)| span.sent)
    }

    /// Marks the end of a sweep: the standstill test spans two of them.
    pub fn sweep_ended(&mut self) {
        let Some((time, span)) = self.last else { return };
        if let Some((t0, m0, steps)) = self.anchors[1] {
            let ours = micros(span.sent) - micros(m0);
            if steps == self.steps && ours > 0 {
                let theirs = time.micros_since(t0);
                self.frozen = Some(theirs.saturating_abs() <= ours / 10);
            }
        }
        if self.anchors[0].is_some_and(|(_, _, steps)| steps == self.steps) {
            self.is_settled = true;
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

    /// Server minus observer: midpoint and half-width in microseconds, as of the last reply.
    pub fn offset_micros(&self) -> Option<(i64, i64)> {
        self.offset.map(|(l, h, _)| (middle(l, h), h.saturating_sub(l) / 2))
    }

    /// Server minus observer at `now`: the interval in microseconds that contains it unless the clock was stepped since
    /// the last reply. `None` while the clock stands still.
    pub fn interval_at(&self, now: Mono) -> Option<(i64, i64)> {
        let (l, h, at) = self.offset.filter(|_| !self.is_standing())?;
        let drift = self.drift(at, now);
        Some((l.saturating_sub(drift), h.saturating_add(drift)))
    }

    /// Whether a whole sweep has confirmed the clock since it was last stepped.
    pub fn is_settled(&self) -> bool {
        self.is_settled
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

fn middle(lo: i64, hi: i64) -> i64 {
    lo.saturating_add(hi.saturating_sub(lo) / 2)
}

#[cfg(test)]
mod tests;
