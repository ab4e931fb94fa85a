//! The last tenures of a lock: who, between which reads each began and ended on the server's clock, the last expiry that it was
//! seen with, and how it ended. Bounded, and kept of the locks whose writes are ([`super::recent`]). Nothing is judged by it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Lock;
use super::recent::push;
use crate::derive::ends::PendingEnd;
use crate::derive::tenure::{Seen, Tenure};
use crate::derive::words::Evidence;
use crate::observe::{Expiry, Mono, ServerTime};

/// Tenures kept.
pub const TENURES: usize = 16;

/// A tenure that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct PastTenure {
    /// The worker, if something named one.
    pub worker: Option<Arc<str>>,
    /// The fingerprint of its token.
    pub fingerprint: Option<Arc<str>>,
    /// The last read before it, if no break lies between.
    pub after: Option<ServerTime>,
    /// The first read that showed it.
    pub first: ServerTime,
    /// The last read that showed it.
    pub last: ServerTime,
    /// The first read that did not.
    pub gone: ServerTime,
    /// E, as the last read had it.
    pub expiry: Expiry,
    /// How long it outlived its holder's death.
    pub overrun: Option<f64>,
    /// How it ended, once that is known.
    pub evidence: Option<Evidence>,
    /// `gone` on our clock.
    pub gone_at: Mono,
}

/// Tenures, the oldest first; shared with the views that show them.
pub type Past = Arc<VecDeque<PastTenure>>;

impl Lock {
    /// Remembers a tenure that a read showed to be over. Of locks with several holders, and of those on several servers, each
    /// of which has a clock of its own, none are.
    pub(super) fn pass(&mut self, tenure: &Tenure, gone: Seen) {
        if self.recent.is_none() || self.raised.is_some() || self.servers.is_some() {
            return;
        }
        let owner = tenure.owner.as_ref();
        let past = PastTenure {
            worker: tenure.worker().cloned(),
            fingerprint: owner.map(|o| o.token.fingerprint().into()),
            after: tenure.begun_after,
            first: tenure.first.time,
            last: tenure.last.time,
            gone: gone.time,
            expiry: tenure.expiry,
            overrun: self.overrun,
            evidence: None,
            gone_at: gone.span.done,
        };
        push(self.past.get_or_insert_default(), TENURES, past);
    }

    /// It is known now how that tenure ended.
    pub(super) fn passed(&mut self, end: &PendingEnd, evidence: Evidence) {
        let Some(past) = self.past.as_mut().filter(|_| !end.is_shared) else { return };
        let at = end.gone.span.done;
        if let Some(tenure) = Arc::make_mut(past).iter_mut().rev().find(|t| t.gone_at == at) {
            tenure.evidence = Some(evidence);
        }
    }
}
