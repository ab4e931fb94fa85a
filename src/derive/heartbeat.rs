//! One worker's heartbeat: its age, its usual beat, and whether it stands still.
//!
//! Ages lie between reads, never between a read and now: an exporter, a network or a source that was away says
//! nothing about the worker.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::host::beats::{Beats, Gap};
use super::lock::recent::{MARKS, push};
use super::loss::Loss;
use super::words::Liveness;
use crate::observe::node::FailReason;
use crate::observe::worker::Beat;
use crate::observe::{Mono, Span};

/// Gaps remembered.
const GAPS: usize = 8;
/// Gaps under which what is usual is not known.
const FEWEST_GAPS: usize = 3;
/// The least default for `frozen_after`.
const LEAST_FROZEN_AFTER: f64 = 10.0;

/// What is known of a heartbeat.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat {
    /// Advances seen.
    pub advances: u64,
    mark: Option<u64>,
    /// End of the read that showed the last advance; the first read of a value counts as one.
    last_advance: Option<Mono>,
    last_good: Option<Span>,
    gaps: VecDeque<f32>,
    beats: Beats,
    /// Ends of the reads that showed the last advances, the oldest first; for a picture of the last minutes.
    pub recent: Arc<VecDeque<Mono>>,
    /// The gap between beats that the last good read showed to go on or to be over.
    pub gap: Option<Gap>,
    /// A read failed or was late since the last good one.
    broken: bool,
    /// The value was seen to change, or it has an expiry of its own: a constant without either is no heartbeat.
    lives: bool,
    loss: Option<Loss>,
    /// First advance after a loss; the loss is over for good with the next one soon after.
    returning: Option<Mono>,
    returned: bool,
    /// The last advance ended a loss: two such running are a slow heart, not a pause.
    ended_loss: bool,
    /// Why the last read failed, if it did.
    pub failure: Option<FailReason>,
}

/// What the config and the poll interval say.
#[derive(Clone, Copy, Debug)]
pub struct BeatRules {
    /// Configured threshold.
    pub frozen_after: Option<Duration>,
    /// Time between two reads.
    pub poll: Duration,
}

impl Heartbeat {
    /// Takes one read. Returns whether the loss is news.
    pub fn read(&mut self, span: Span, beat: &Beat, rules: BeatRules) -> bool {
        if let Beat::Failed { reason, .. } = beat {
            self.broken = true;
            self.failure = Some(*reason);
            return false;
        }
        self.failure = None;
        let late = self.last_good.is_some_and(|g| span.sent.since(g.done) > rules.poll * 4);
        let broken = std::mem::take(&mut self.broken) || late;
        self.gap = None;
        self.last_good = Some(span);
        if let Beat::Value { expires: true, .. } | Beat::Success = beat {
            self.lives = true;
        }
        let advanced = match *beat {
            Beat::Success => true,
            Beat::Value { mark, .. } => {
                let before = self.mark.replace(mark);
                before != Some(mark) && {
                    // The first value ever is a position, not an advance.
                    self.lives |= before.is_some();
                    self.advances += u64::from(before.is_some());
                    true
                }
            }
            Beat::None | Beat::Failed { .. } => false,
        };
        if matches!(beat, Beat::Success) {
            self.advances += 1;
        }
        self.gap = self.beats.read(span, advanced, broken);
        if advanced {
            self.advance(span, broken, rules);
        } else if broken && self.loss.is_none() && self.last_advance.is_some() {
            self.last_advance = Some(span.done);
        }
        let news = self.loss.is_none() && self.is_frozen(rules);
        if news {
            let beat = self.usual_beat(rules);
            let t_lost =
                self.last_advance.unwrap_or(span.sent).plus(Duration::from_secs_f64(2.0 * beat));
            self.loss = Some(Loss { since: t_lost, shown: span.done });
            self.returning = None;
            self.returned = false;
        }
        news
    }

    fn advance(&mut self, span: Span, broken: bool, rules: BeatRules) {
        let frozen_after = self.frozen_after(rules);
        let ends_loss = self.loss.is_some();
        let is_slow = std::mem::replace(&mut self.ended_loss, ends_loss) && ends_loss;
        if let Some(before) = self.last_advance.filter(|_| !broken) {
            let gap = span.done.secs_since(before);
            if self.advances > 0 && (is_slow || (!ends_loss && gap <= frozen_after)) {
                if self.gaps.len() == GAPS {
                    self.gaps.pop_front();
                }
                self.gaps.push_back(gap as f32);
            }
        }
        match self.returning {
            Some(first) if self.loss.is_none() => {
                self.returned |= span.done.secs_since(first) <= frozen_after;
                self.returning = Some(span.done);
            }
            _ if self.loss.is_some() => self.returning = Some(span.done),
            _ => {}
        }
        self.loss = None;
        push(&mut self.recent, MARKS, span.done);
        self.last_advance = Some(span.done);
    }

    fn is_frozen(&self, rules: BeatRules) -> bool {
        self.is_judged(rules) && self.age().is_some_and(|a| a > self.frozen_after(rules))
    }

    /// Whether anything can be said: a heart that beats, and a threshold it can keep.
    pub fn is_judged(&self, rules: BeatRules) -> bool {
        self.lives && self.last_advance.is_some() && self.is_threshold_sane(rules)
    }

    /// A configured threshold under two usual beats would call every healthy pause a loss.
    pub fn is_threshold_sane(&self, rules: BeatRules) -> bool {
        match (rules.frozen_after, self.longest_gap()) {
            (Some(f), Some(gap)) => f.as_secs_f64() >= 2.0 * gap,
            _ => true,
        }
    }

    fn longest_gap(&self) -> Option<f64> {
        self.gaps.iter().copied().max_by(f32::total_cmp).map(f64::from)
    }

    /// Seconds from which it counts as frozen.
    pub fn frozen_after(&self, rules: BeatRules) -> f64 {
        rules.frozen_after.map_or_else(
            || {
                LEAST_FROZEN_AFTER
                    .max(3.0 * self.longest_gap().unwrap_or(0.0))
                    .max(3.0 * rules.poll.as_secs_f64())
            },
            |f| f.as_secs_f64(),
        )
    }

    /// Longest of the last gaps, else a third of the threshold.
    pub fn usual_beat(&self, rules: BeatRules) -> f64 {
        self.longest_gap().unwrap_or_else(|| self.frozen_after(rules) / 3.0)
    }

    /// The usual beat, once it is known.
    pub fn known_beat(&self) -> Option<Duration> {
        let gap = self.longest_gap().filter(|_| self.gaps.len() >= FEWEST_GAPS)?;
        Duration::try_from_secs_f64(gap).ok()
    }

    /// Seconds from the last advance to the last good read; `None` before the first.
    pub fn age(&self) -> Option<f64> {
        Some(self.last_good?.sent.secs_since(self.last_advance?).max(0.0))
    }

    /// End of the read that showed the last advance.
    pub fn last_advance(&self) -> Option<Mono> {
        self.last_advance
    }

    /// The loss, while it lasts; kept while the source cannot be read.
    pub fn loss(&self) -> Option<Loss> {
        self.loss
    }

    /// Whether a loss ended and a second advance came soon after the first; or nothing is known of this source, as
    /// after a reload that changed it, so that nothing can be held against the worker.
    pub fn has_returned(&self) -> bool {
        self.returned || self.last_advance.is_none()
    }

    /// End of the last good read.
    pub fn last_read(&self) -> Option<Mono> {
        self.last_good.map(|g| g.done)
    }

    /// Alive, frozen or unknown.
    pub fn liveness(&self, rules: BeatRules) -> Liveness {
        if self.loss.is_some() {
            Liveness::Frozen
        } else if self.is_judged(rules) {
            Liveness::Alive
        } else {
            Liveness::Unknown
        }
    }

    /// Whether this source ever saw the worker.
    pub fn was_seen(&self) -> bool {
        self.last_advance.is_some() && self.lives
    }
}

#[cfg(test)]
#[path = "heartbeat_tests.rs"]
mod tests;
