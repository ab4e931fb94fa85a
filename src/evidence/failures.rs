//! What became of documents: counted for the metrics, and told in the log, at most once a minute for each reason, so that
//! a full disk does not fill the log as well.

use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock;
use crate::expose::{EvidenceCounts, EvidenceFailure};
use crate::observe::Mono;

/// A reason is told again no sooner than this.
const TELL_EVERY: Duration = Duration::from_secs(60);
const N: usize = EvidenceFailure::ALL.len();

/// Counters, shared by all who can fail.
#[derive(Default)]
pub struct Counts {
    writes: AtomicU64,
    failures: [AtomicU64; N],
    /// By reason: when it was last told, and failures since.
    told: Mutex<[(Option<Mono>, u64); N]>,
}

impl Counts {
    /// What was counted.
    pub fn read(&self) -> EvidenceCounts {
        EvidenceCounts {
            writes: self.writes.load(Ordering::Relaxed),
            failures: std::array::from_fn(|i| {
                self.failures.get(i).map_or(0, |n| n.load(Ordering::Relaxed))
            }),
        }
    }

    /// A document was written.
    pub fn wrote(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// So many documents were not.
    pub fn failed(&self, reason: EvidenceFailure, times: u64, dir: &Path, why: &str) {
        let i = reason as usize;
        if let Some(count) = self.failures.get(i) {
            count.fetch_add(times, Ordering::Relaxed);
        }
        let now = clock::mono();
        let Ok(mut told) = self.told.lock() else { return };
        let Some((last, since)) = told.get_mut(i) else { return };
        *since += times;
        if last.is_none_or(|at| now.since(at) >= TELL_EVERY) {
            tracing::warn!(
                dir = %dir.display(),
                reason = reason.as_str(),
                documents = *since,
                "evidence could not be kept: {why}"
            );
            (*last, *since) = (Some(now), 0);
        }
    }
}

/// The reason for an error of the file system.
pub fn reason(error: &Error) -> EvidenceFailure {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => EvidenceFailure::Full,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => EvidenceFailure::Denied,
        ErrorKind::NotFound | ErrorKind::NotADirectory => EvidenceFailure::Missing,
        _ => EvidenceFailure::Io,
    }
}
