//! Locks of Sidekiq jobs, held by a job's id: sidekiq-unique-jobs keeps a hash of them beside many other keys, Sidekiq
//! Enterprise a string. A job that waits in a queue holds its lock, so a hold does not mean that something runs.

use serde::Deserialize;

use crate::observe::Decoded;
use crate::observe::lock::{Endless, Holding, Mode, Shape, Sharing};

use super::holder::{Named, held_by, holding};
use super::value::{after, is_hex};
use super::{Fit, Format, Kind, PLAIN, Raw, Sight};

/// sidekiq-unique-jobs.
pub static UNIQUE_JOBS: Format = Format {
    name: "sidekiq-unique-jobs",
    libraries: "sidekiq-unique-jobs 7 to 9",
    kind: Kind::Hash,
    key: "`uniquejobs:<digest>:LOCKED`, `…:RUN:LOCKED`",
    value: "fields: job ids, values: the time (8) or JSON (9)",
    endless: Endless::Usual,
    renewal: "none",
    companions: "all other `uniquejobs:` keys",
    decode: decode_unique_jobs,
    is_companion: |key| after(key, PREFIX).is_some() && !key.ends_with(LOCKED),
    reuses_tokens: true,
    ..PLAIN
};

/// Sidekiq Enterprise's unique jobs.
pub static ENTERPRISE: Format = Format {
    name: "sidekiq-enterprise",
    libraries: "Sidekiq Enterprise unique jobs",
    key: "`unique:<40 hex>`",
    value: "a job id",
    ends_by_expiry: true,
    renewal: "none",
    decode: decode_enterprise,
    reuses_tokens: true,
    ..PLAIN
};

const PREFIX: &[u8] = b"uniquejobs:";
const LOCKED: &[u8] = b":LOCKED";

/// What version 9 keeps of a job.
#[derive(Deserialize)]
struct Job {
    time: Option<f64>,
    limit: Option<u64>,
}

fn decode_unique_jobs(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Hash(fields) = sight.raw else { return None };
    let is_key = after(sight.key, PREFIX).is_some() && sight.key.ends_with(LOCKED);
    if !sight.is_declared && !is_key {
        return None;
    }
    let mut limit = None;
    let mut holders = Vec::with_capacity(fields.len());
    for (id, value) in fields {
        if !is_job(id) {
            return None;
        }
        let job = job(value)?;
        limit = limit.max(job.limit);
        let held = holding(id, Named::default(), sight.rules);
        holders.push(Holding { taken_at: job.time.filter(|t| t.is_finite()), ..held });
    }
    let mut decoded = UNIQUE_JOBS.decoded(Shape::OwnerHash);
    // The library lets a second job in only where it is told to.
    if holders.len() > 1 || limit.is_some_and(|l| l > 1) {
        decoded.sharing = Sharing::Permits(limit);
        holders.iter_mut().for_each(|h| h.mode = Mode::Permit);
    }
    Some((Fit::Certain, held_by(decoded, holders)?))
}

/// A time, or a JSON document that has one.
fn job(value: &[u8]) -> Option<Job> {
    if value.first() == Some(&b'{') {
        return serde_json::from_slice(value).ok();
    }
    let time = std::str::from_utf8(value).ok()?.parse().ok()?;
    Some(Job { time: Some(time), limit: None })
}

fn decode_enterprise(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let id = sight.whole().filter(|v| is_job(v))?;
    let digest = after(sight.key, b"unique:").unwrap_or_default();
    if !sight.is_declared && !is_hex(digest, 40) {
        return None;
    }
    let mut decoded = ENTERPRISE.decoded(Shape::Text);
    decoded.holders.push(holding(id, Named::default(), sight.rules));
    Some((Fit::Certain, decoded))
}

/// A job's id.
fn is_job(id: &[u8]) -> bool {
    is_hex(id, 24)
}
