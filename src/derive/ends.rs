//! How a tenure ended: the first evidence that applies, and `unknown` rather than a guess.
//!
//! The counters that could tell of a flush or an eviction are read after a sweep, so an end waits for them.

use super::flushed::{Calls, Flush};
use super::lock::{Claim, Told};
use super::servers::{Losses, Settled};
use super::tenure::Seen;
use super::words::{Evidence, Liveness};
use crate::config::TokenKind;
use crate::observe::{Expiry, ServerTime, Token};

/// How close before E the owner must have been seen for its absence after E to be a lapse.
const LAPSE_WINDOW_MICROS: i64 = 50_000;

/// An end whose evidence is not settled.
#[derive(Clone, Debug)]
pub struct PendingEnd {
    /// The owner's token.
    pub token: Option<Token>,
    /// Whether its tokens are new per acquire.
    pub kind: TokenKind,
    /// Its worker's name, empty if unknown.
    pub worker: std::sync::Arc<str>,
    /// The last read that showed it.
    pub last: Seen,
    /// The read that did not.
    pub gone: Seen,
    /// The key was absent in that read (another owner otherwise).
    pub is_absent: bool,
    /// Too late, or something failed in between.
    pub is_broken: bool,
    /// The last E.
    pub expiry: Expiry,
    /// When the successor seen in that read acquired, as far as its E and the lease length tell.
    pub successor_at: Option<ServerTime>,
    /// The holder had let go early.
    pub shortened: bool,
    /// Nobody releases this lock.
    pub ends_by_expiry: bool,
    /// The holder's liveness when it was last judged.
    pub liveness: Liveness,
    /// Seconds it was held.
    pub held: f64,
    /// The server's clock was set forward since its last write: the lease ended earlier than it was meant to.
    pub is_cut: bool,
    /// A step of the server's clock showed it again: it was acquired before that.
    pub is_revived: bool,
    /// The lease length that it showed, in microseconds.
    pub largest: Option<i64>,
    /// Others may have held it at the same time.
    pub is_shared: bool,
    /// The lock was taken again soon after.
    pub is_retaken: bool,
    /// The key was absent, and the same token came back before E.
    pub has_returned: bool,
    /// Of a lock over several servers: what its owner had lost by then.
    pub losses: Option<Losses>,
    /// What its owner may go on believing.
    pub claim: Claim,
    /// The read that did not show it showed another owner.
    pub is_succeeded: bool,
    /// What the feed tells of it.
    pub told: Told,
}

/// What the node's facts, read after the end, say. `None` where the server does not show it.
#[derive(Clone, Copy, Debug, Default)]
pub struct After<'a> {
    /// Calls that empty databases.
    pub flushes: Calls<'a>,
    /// Evictions.
    pub evicted: Option<u64>,
    /// What the primary has of the one before.
    pub cut: Cut,
}

/// What a new primary, or a restarted one, has of what was written before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// Cannot be told.
    #[default]
    Unknown,
    /// All up to this offset.
    At(u64),
    /// Nothing.
    All,
}

impl PendingEnd {
    /// Whether how long it was held tells how long such locks are held; not if something cut it short.
    pub fn tells_hold(&self, evidence: Evidence) -> bool {
        !self.is_revived
            && !evidence.is_cut_short()
            && (evidence == Evidence::Released || !self.is_cut)
    }

    /// Ends that a break settles need no facts.
    pub fn is_failover(&self) -> bool {
        self.gone.marks.failovers != self.last.marks.failovers
    }

    /// The evidence, or `None` if it has to wait until the server's clock has passed E: after an eviction of some
    /// key only the return of the same token can tell whether it was this one.
    pub fn settle(&self, after: After<'_>, now: Option<ServerTime>) -> Option<Evidence> {
        match self.losses.as_ref().map(Losses::settled) {
            Some(Settled::Taken(evidence)) => return Some(evidence),
            Some(Settled::Waits) => return None,
            Some(Settled::Unknown) => return Some(Evidence::Unknown),
            Some(Settled::Not) | None => {}
        }
        if self.is_failover() {
            return Some(Evidence::Failover);
        }
        let flush = match after.flushes.between(&self.last, &self.gone) {
            None => return Some(Evidence::Unknown),
            // What somebody removed was not there any more when the database was emptied.
            Some(Flush::Ours | Flush::Perhaps) if self.told == Told::Removal => Flush::None,
            Some(Flush::Ours) if self.told == Told::NotYet => return None,
            Some(Flush::Ours) => return Some(Evidence::Flushed),
            Some(Flush::NotYet) => return None,
            Some(flush) => flush,
        };
        if self.is_broken {
            return Some(Evidence::Unknown);
        }
        if self.is_clock_step() {
            return Some(Evidence::ClockStep);
        }
        // What a flush may have deleted, nobody wrote over for certain, nor let go of.
        let is_whole = flush == Flush::None;
        match self.told {
            Told::Overwrite if !is_whole => return Some(Evidence::Unknown),
            Told::Overwrite => return Some(Evidence::Overwritten),
            Told::Eviction => return Some(Evidence::Evicted),
            Told::NotYet if self.is_succeeded => return None,
            Told::NotYet | Told::Nothing | Told::Removal => {}
        }
        let evictions = match (self.last.marks.evicted, after.evicted) {
            (Some(e0), Some(e1)) => e1 > e0,
            _ => return Some(Evidence::Unknown),
        };
        // One that is back without anything evicted was overwritten or deleted, and then written back.
        if evictions && self.has_returned && self.kind == TokenKind::PerAcquire {
            return Some(Evidence::Evicted);
        }
        if self.is_lapse() {
            return Some(if self.shortened { Evidence::Released } else { Evidence::Lapsed });
        }
        let is_before_expiry = match self.expiry {
            Expiry::Never => true,
            Expiry::At(e) => self.gone.time < e,
        };
        if evictions && is_before_expiry {
            let is_over = match (self.expiry, now) {
                (Expiry::At(e), Some(now)) => now > e,
                // What came before the read may still tell of it.
                _ => self.told != Told::NotYet,
            };
            return is_over.then_some(Evidence::Unknown);
        }
        if self.shortened || (is_whole && self.is_absent && is_before_expiry) {
            return Some(Evidence::Released);
        }
        Some(Evidence::Unknown)
    }

    /// The server's clock jumped over E between the two reads.
    fn is_clock_step(&self) -> bool {
        let stepped = self.gone.marks.stepped_micros.saturating_sub(self.last.marks.stepped_micros);
        match self.expiry {
            Expiry::At(e) => {
                stepped > 0 && self.gone.time >= e && e > self.gone.time.plus_micros(-stepped)
            }
            Expiry::Never => false,
        }
    }

    fn is_lapse(&self) -> bool {
        let Expiry::At(e) = self.expiry else { return false };
        let is_aligned = self.last.time <= e
            && e.micros_since(self.last.time) <= LAPSE_WINDOW_MICROS
            && self.gone.time >= e
            && self.gone.marks.steps == self.last.marks.steps;
        // A successor's acquire is known to the millisecond at best.
        is_aligned
            && (self.is_absent || self.successor_at.is_some_and(|s| s.plus_micros(2_000) >= e))
    }
}

#[cfg(test)]
mod tests;
