//! What of the exporter's JSON documents is read. Fields that are not named here are passed over, and one that is `null` or
//! missing is `None`: what is not known is not zero.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `/api/v1/locks/{store}/{lock}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct LockDocument {
    /// Counts the snapshots of one run of the exporter.
    pub generation: u64,
    /// When the snapshot was made, on the exporter's wall clock.
    pub taken: f64,
    /// The lock.
    pub lock: Lock,
    /// The last writes of its lease and beats of its holders.
    #[serde(default)]
    pub recent: Recent,
}

/// The lock itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Lock {
    /// Its store.
    pub store: String,
    /// Its name.
    pub lock: String,
    /// Its key.
    pub key: String,
    /// Whether it was read lately; if not, nothing below is of now.
    pub fresh: bool,
    /// `held`, `free`, `unknown`.
    pub state: String,
    /// Each signal: up, not up, or not judged.
    pub signals: BTreeMap<String, Option<bool>>,
    /// Who holds it.
    pub holders: Vec<Holder>,
    /// The worst liveness of its holders.
    pub liveness: Option<String>,
    /// Since when it is lost.
    pub lost_seconds: Option<f64>,
    /// The first read that showed its present owner, on the server's clock.
    pub held_since_timestamp: Option<f64>,
    /// Its lease.
    pub lease: Lease,
    /// Another process renews it than the one that works.
    pub renewer_separate: Option<bool>,
    /// Who held it before.
    pub previous: Option<Previous>,
    /// What is configured and cannot be judged.
    pub coverage_lost: Vec<Coverage>,
    /// The same, and what nobody configured.
    pub cannot_be_judged: Vec<Coverage>,
    /// Fencing tokens.
    pub fencing: Option<Fencing>,
    /// Side effects by resource.
    pub effects: Vec<Effects>,
    /// Proofs that two owners had it at once, and hints.
    pub contention: Vec<Contention>,
    /// What was counted.
    pub counts: Counts,
    /// What happened last, oldest first.
    pub transitions: Vec<Transition>,
}

/// One holder.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// Its worker.
    pub worker: Option<String>,
    /// Of its token.
    pub fingerprint: String,
    /// Whether it lives.
    pub liveness: String,
    /// Since when it is lost.
    pub lost_seconds: Option<f64>,
    /// How long it was seen to hold.
    pub held_seconds: Option<f64>,
    /// What is left of its lease.
    pub remaining_seconds: Option<f64>,
    /// Since it renewed.
    pub renewal_age_seconds: Option<f64>,
    /// Since its heart beat.
    pub beat_age_seconds: Option<f64>,
}

/// The lease.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// L.
    pub length_seconds: Option<f64>,
    /// `config`, `format` or `learned`.
    pub length_source: Option<String>,
    /// What is left.
    pub remaining_seconds: Option<f64>,
    /// E on the server's clock.
    pub expiry_timestamp: Option<f64>,
    /// Since the last renewal or the acquisition.
    pub renewal_age_seconds: Option<f64>,
    /// The last renewal on the server's clock.
    pub last_renewal_timestamp: Option<f64>,
    /// P.
    pub renewal_period_seconds: Option<f64>,
}

/// Who held it before, and how that ended.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Previous {
    /// Its worker.
    pub worker: Option<String>,
    /// `released`, `lapsed`, `overwritten`, ...
    pub evidence: String,
}

/// What cannot be judged, and why.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Coverage {
    /// What.
    pub aspect: String,
    /// Why.
    pub reason: String,
}

/// Fencing tokens.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Fencing {
    /// The last that was given.
    pub issued: Option<u64>,
    /// The largest that each resource accepted.
    pub accepted: BTreeMap<String, Option<u64>>,
    /// How often a token went down, by resource; under the empty name those issued.
    pub regressions: BTreeMap<String, u64>,
    /// Writes that each resource refused.
    pub rejections: BTreeMap<String, u64>,
}

/// Side effects on one resource.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Effects {
    /// The resource.
    pub resource: String,
    /// How many.
    pub total: u64,
    /// Beyond one for each request; `None` where requests are not counted.
    pub duplicates: Option<u64>,
}

/// A proof that two owners had it at once, or a hint.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Contention {
    /// Of what kind.
    pub kind: String,
    /// It proves it.
    pub proof: bool,
    /// How long ago it was complete.
    pub age_seconds: f64,
    /// In words.
    pub detail: String,
}

/// What was counted since the exporter started.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Acquisitions.
    pub acquisitions: u64,
    /// Renewals.
    pub renewals: u64,
    /// Those after the holder lost liveness.
    pub renewals_after_lost_liveness: u64,
    /// Ends by evidence.
    pub ends: BTreeMap<String, u64>,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Transition {
    /// How long ago.
    pub age_seconds: f64,
    /// In one word.
    pub what: String,
    /// In more.
    pub detail: String,
}

/// What was written lately.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Recent {
    /// Writes of the lease, oldest first; `None` where they are not kept.
    pub writes: Option<Vec<Write>>,
    /// Beats of its holders.
    pub beats: Vec<Beats>,
    /// The last tenures, oldest first, the present one last; `None` where they are not kept.
    pub tenures: Option<Vec<Tenure>>,
    /// The last read, on the server's clock.
    pub read_timestamp: Option<f64>,
}

/// An owner's time with the lock, between reads on the server's clock.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Tenure {
    /// Its worker.
    pub worker: Option<String>,
    /// Of its token.
    pub fingerprint: Option<String>,
    /// The last read before it; `None` if its begin was not seen.
    pub after_timestamp: Option<f64>,
    /// The first read that showed it.
    pub first_timestamp: Option<f64>,
    /// The last read that showed it.
    pub last_timestamp: Option<f64>,
    /// The first read that did not; `None` of the present one.
    pub gone_timestamp: Option<f64>,
    /// Its last expiry.
    pub expiry_timestamp: Option<f64>,
    /// How it ended, once that is known.
    pub evidence: Option<String>,
    /// How long it outlived its holder's death.
    pub overrun_seconds: Option<f64>,
}

/// One write of the lease.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Write {
    /// How long ago it was seen.
    pub age_seconds: f64,
    /// `held`, `renewed`, `written`, `ended`.
    pub what: String,
    /// What was left of the lease then.
    pub left_seconds: Option<f64>,
}

/// The last beats of a worker.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Beats {
    /// The worker.
    pub worker: String,
    /// How long ago each was, oldest first.
    pub ages_seconds: Vec<f64>,
}

/// `/api/v1/locks`, as far as names go.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Listing {
    /// Locks.
    pub locks: Vec<Lock>,
}

/// `/api/v1/incidents`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Incidents {
    /// The newest first.
    pub incidents: Vec<Incident>,
}

/// One of the listing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Incident {
    /// Its id.
    pub id: String,
    /// When, on the exporter's wall clock.
    pub taken: Option<f64>,
    /// The signal that rose.
    pub signal: Option<String>,
    /// What was the case.
    pub summary: Option<String>,
}
