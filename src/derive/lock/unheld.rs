//! Whether a lock is free although somebody should hold it: always, by the config, or because somebody waits for it.

use std::time::Duration;

use super::{Lock, Phase, ReadContext};
use crate::derive::fresh::is_fresh;
use crate::derive::wanted::Effects;
use crate::derive::words::Signal;
use crate::observe::{Mono, Span};

/// How long a lock that should always be held may be free while its lease is not known.
const UNKNOWN_LEASE: f64 = 30.0;
/// Two reads that show it free and wanted have to be this far apart; polls come each 2 s and not to the millisecond.
const WANTED: Duration = Duration::from_millis(1_950);
/// Reads in between: a busy lock is free for a moment at each hand-over, and must not be met in two of these.
const BETWEEN_MS: [u64; 3] = [310, 870, 1_490];

impl Lock {
    pub(super) fn judge_unheld(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let now = c.seen.span.done;
        let free = match self.phase {
            Phase::Free { since } if !self.is_ownerless => Some(c.seen.span.sent.secs_since(since)),
            _ => None,
        };
        if free.is_none() {
            self.beside.wanted = None;
        }
        let grace = self.lease_seconds(None).unwrap_or(UNKNOWN_LEASE) + 2.0 * c.poll.as_secs_f64();
        let by_config = self.rules.always_held.then(|| free.is_some_and(|f| f > grace));
        let is_told = self.beside.waiters.is_some_and(|w| is_fresh(Some(w.span.done), now, c.poll));
        let is_wanted = self.beside.wanted.is_some_and(|(_, is_long)| is_long);
        let by_waiters = is_told.then_some(is_wanted);
        let value = match (by_config, by_waiters) {
            (None, None) => None,
            (a, b) => Some(a == Some(true) || b == Some(true)),
        };
        let detail = || {
            let free = free.unwrap_or_default();
            if by_config == Some(true) {
                format!("nobody has held it for {free:.0} s")
            } else {
                format!("it has been free for {free:.0} s, and somebody waits for it")
            }
        };
        self.signal(Signal::Unheld, value, now, detail, fx);
    }

    /// Takes how many waited with a deadline ahead, as read after the key. Only a lock that is free then is free and wanted.
    pub(super) fn wanted_by(&mut self, waiters: u64, read: Span, fx: &mut Effects) {
        let is_free = matches!(self.phase, Phase::Free { .. })
            && !self.is_ownerless
            && self.unreadable.is_none()
            && self.seen.is_some_and(|seen| seen.span.done <= read.sent);
        if waiters == 0 || !is_free {
            self.beside.wanted = None;
            return;
        }
        match self.beside.wanted {
            None => {
                self.beside.wanted = Some((read.sent, false));
                for ms in BETWEEN_MS {
                    self.want_read(read.done.plus(Duration::from_millis(ms)), fx);
                }
            }
            Some((first, false)) if read.sent.since(first) >= WANTED => {
                self.beside.wanted = Some((first, true));
            }
            Some(_) => {}
        }
    }
}

/// Since when a free lock was seen to be wanted, and whether for long enough.
pub type WantedSince = Option<(Mono, bool)>;
