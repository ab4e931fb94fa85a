//! What a worker itself says it holds. Kept as facts: since when each claim stands, and which beat of the worker it was
//! last read with. Whether another holds the lock meanwhile is the lock's to judge.

use std::sync::Arc;
use std::time::Duration;

use super::fencing::Reads;
use super::fresh::is_fresh;
use crate::observe::Mono;
use crate::observe::node::FailReason;
use crate::observe::source::Claimed;

/// One lock that a worker says it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The store's name.
    pub store: Arc<str>,
    /// The lock's name.
    pub lock: Arc<str>,
    /// The fingerprint of the token it says it has.
    pub fingerprint: Option<String>,
    /// End of the first read in a row that names it.
    pub since: Mono,
    /// The worker's beat as of the last read: a claim counts as written again when that has advanced.
    pub beat: u64,
    /// End of the first read with that beat.
    pub written: Mono,
}

/// All that a worker says it holds.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// In the order in which it says so.
    pub list: Vec<Claim>,
    /// How reading goes.
    pub reads: Reads,
}

impl Claims {
    /// Takes a good read; no document is no claim. `beat` counts the advances of the worker's heartbeat. Returns the claims
    /// that are not there any more.
    pub fn read(&mut self, claims: &[Claimed], beat: u64, at: Mono) -> Vec<Claim> {
        self.reads.succeeded(at);
        let before = std::mem::take(&mut self.list);
        for claimed in claims {
            let is_known =
                self.list.iter().any(|c| c.store == claimed.store && c.lock == claimed.lock);
            if is_known {
                continue;
            }
            let known = before.iter().find(|c| is_same(c, claimed));
            self.list.push(Claim {
                store: claimed.store.clone(),
                lock: claimed.lock.clone(),
                fingerprint: claimed.fingerprint.clone(),
                since: known.map_or(at, |c| c.since),
                beat,
                written: known.filter(|c| c.beat == beat).map_or(at, |c| c.written),
            });
        }
        let now = &self.list;
        let is_gone = |c: &Claim| !now.iter().any(|n| n.store == c.store && n.lock == c.lock);
        before.into_iter().filter(is_gone).collect()
    }

    /// A read failed. Returns whether that is news.
    pub fn failed(&mut self, reason: FailReason) -> bool {
        self.reads.failed(reason)
    }

    /// What it says now, unless that was read too long ago.
    pub fn now(&self, now: Mono, poll: Duration) -> &[Claim] {
        if is_fresh(self.reads.last, now, poll) { &self.list } else { &[] }
    }
}

/// The same claim; another token is another hold.
fn is_same(claim: &Claim, claimed: &Claimed) -> bool {
    claim.store == claimed.store
        && claim.lock == claimed.lock
        && claim.fingerprint == claimed.fingerprint
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(lock: &str, fingerprint: Option<&str>) -> Claimed {
        Claimed {
            store: "main".into(),
            lock: lock.into(),
            fingerprint: fingerprint.map(str::to_owned),
        }
    }

    fn at(seconds: u64) -> Mono {
        Mono(seconds * 1_000_000_000)
    }

    #[test]
    fn a_claim_stands_since_its_first_read_and_is_written_with_each_beat() {
        let mut claims = Claims::default();
        claims.read(&[claimed("a", None), claimed("b", Some("x"))], 7, at(1));
        claims.read(&[claimed("a", None), claimed("b", Some("y"))], 7, at(2));
        let facts = |c: &Claims| {
            c.list
                .iter()
                .map(|c| (c.lock.to_string(), c.since, c.written, c.beat))
                .collect::<Vec<_>>()
        };
        assert_eq!(facts(&claims), [("a".into(), at(1), at(1), 7), ("b".into(), at(2), at(2), 7)]);
        claims.read(&[claimed("a", None)], 8, at(3));
        assert_eq!(facts(&claims), [("a".into(), at(1), at(3), 8)]);
        assert_eq!(claims.read(&[], 8, at(4)).len(), 1);
        claims.read(&[claimed("a", None)], 8, at(5));
        assert_eq!(facts(&claims), [("a".into(), at(5), at(5), 8)]);
    }

    #[test]
    fn two_claims_of_one_lock_are_one() {
        let mut claims = Claims::default();
        claims.read(&[claimed("a", Some("x")), claimed("a", Some("y"))], 0, at(1));
        assert_eq!(claims.list.len(), 1);
    }

    #[test]
    fn what_was_read_three_intervals_ago_is_withheld_and_a_failure_keeps_it_until_then() {
        let poll = Duration::from_secs(2);
        let mut claims = Claims::default();
        claims.read(&[claimed("a", None)], 0, at(10));
        assert!(claims.failed(FailReason::Timeout) && !claims.failed(FailReason::Timeout));
        assert_eq!(claims.now(at(16), poll).len(), 1);
        assert!(claims.now(at(18), poll).is_empty());
    }
}
