//! What proves, or hints, that two owners had a lock at once, as the API shows it. It stays after the signal is over: somebody
//! may look later.

use serde::Serialize;

use crate::view::{Basis, ContentionView, LockView, PartyView};

#[derive(Debug, Serialize)]
pub(super) struct Contention<'a> {
    kind: &'static str,
    proof: bool,
    age_seconds: f64,
    owners: Vec<Party<'a>>,
    evidence: Option<&'static str>,
    acquired_after_offset: Option<u64>,
    kept_offset: Option<u64>,
    beats: Option<u64>,
    resource: Option<&'a str>,
    token_before: Option<u64>,
    token_now: Option<u64>,
    was: Option<&'static str>,
    detail: &'a str,
}

#[derive(Debug, Serialize)]
struct Party<'a> {
    worker: Option<&'a str>,
    fingerprint: Option<&'a str>,
    expiry_timestamp: Option<f64>,
    node: Option<&'a str>,
}

pub(super) fn describe_contention(lock: &LockView) -> Vec<Contention<'_>> {
    lock.contention.iter().map(describe).collect()
}

fn describe(proof: &ContentionView) -> Contention<'_> {
    let plain = Contention {
        kind: proof.kind.as_str(),
        proof: proof.kind.is_proof(),
        age_seconds: proof.age_seconds,
        owners: proof.owners.iter().map(party).collect(),
        evidence: None,
        acquired_after_offset: None,
        kept_offset: None,
        beats: None,
        resource: None,
        token_before: None,
        token_now: None,
        was: None,
        detail: &proof.detail,
    };
    match &proof.basis {
        Basis::Reads => plain,
        Basis::End { evidence, acquired_after, kept } => Contention {
            evidence: Some(evidence.as_str()),
            acquired_after_offset: kept.and(*acquired_after),
            kept_offset: *kept,
            ..plain
        },
        Basis::Beats(beats) => Contention { beats: Some(*beats), ..plain },
        Basis::Token { resource, from, to } => Contention {
            resource: Some(resource),
            token_before: Some(*from),
            token_now: Some(*to),
            ..plain
        },
        Basis::Stood(liveness) => Contention { was: Some(liveness.as_str()), ..plain },
    }
}

fn party(party: &PartyView) -> Party<'_> {
    Party {
        worker: party.worker.as_deref(),
        fingerprint: party.fingerprint.as_deref(),
        expiry_timestamp: party.expiry_timestamp,
        node: party.node.as_deref(),
    }
}
