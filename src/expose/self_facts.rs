//! What the exporter knows of itself: its build, its configuration's state and its own process. Reads `/proc/self` and
//! nothing else.

use std::time::Duration;

use procfs::process::{LimitValue, Process};

use crate::config::Shard;

/// The exporter's own facts at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfFacts {
    /// Version of this build.
    pub version: &'static str,
    /// Source revision of this build, empty if not known.
    pub revision: &'static str,
    /// Configured time between two polls; a snapshot is too old to show after ten of them.
    pub poll_interval: Duration,
    /// When the configuration in use was loaded, seconds since the epoch on this host's clock.
    pub reload_success_timestamp: f64,
    /// Why the last attempt to load it failed, if it did; the earlier one is then still in use.
    pub reload_error: Option<String>,
    /// Which of the locks it watches.
    pub shard: Shard,
    /// What became of evidence; `None` where none is written.
    pub evidence: Option<EvidenceCounts>,
    /// Its process; `None` where `/proc/self` cannot be read.
    pub process: Option<OwnProcess>,
}

impl SelfFacts {
    /// Facts of this build with a configuration loaded at `loaded`.
    pub fn new(poll_interval: Duration, loaded: f64) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            revision: option_env!("DLOCK_REVISION").unwrap_or(""),
            poll_interval,
            reload_success_timestamp: loaded,
            reload_error: None,
            shard: Shard::default(),
            evidence: None,
            process: None,
        }
    }

    /// The age at which a snapshot is no longer shown.
    pub fn snapshot_good_for(&self) -> Duration {
        self.poll_interval.saturating_mul(10)
    }
}

/// Why a document of evidence was not written, or old ones not deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceFailure {
    /// More rose at once than the disk takes.
    Queue,
    /// The file system, or a quota, is full.
    Full,
    /// The directory or its file system may not be written to.
    Denied,
    /// The directory is not there.
    Missing,
    /// The document is larger than one may be.
    TooLarge,
    /// Anything else that the system said.
    Io,
}

impl EvidenceFailure {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Queue, Self::Full, Self::Denied, Self::Missing, Self::TooLarge, Self::Io];

    /// The label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Full => "full",
            Self::Denied => "denied",
            Self::Missing => "missing",
            Self::TooLarge => "too_large",
            Self::Io => "io",
        }
    }
}

/// What became of evidence since the exporter started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvidenceCounts {
    /// Documents written.
    pub writes: u64,
    /// Failures, in the order of [`EvidenceFailure::ALL`].
    pub failures: [u64; EvidenceFailure::ALL.len()],
}

/// The exporter's own process. Seconds are fractions here, unlike in the client library's own collector, whose whole
/// seconds make every rate a staircase.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnProcess {
    /// CPU time, user and system.
    pub cpu_seconds: f64,
    /// Start on this host's clock, seconds since the epoch.
    pub start_timestamp: f64,
    /// Resident memory.
    pub resident_bytes: u64,
    /// Virtual memory.
    pub virtual_bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Open file descriptors.
    pub open_fds: Option<u64>,
    /// Most file descriptors; `None` if unlimited or not known.
    pub max_fds: Option<u64>,
}

impl OwnProcess {
    /// Reads `/proc/self`; `None` where that fails, as nothing else depends on it.
    pub fn read() -> Option<Self> {
        let process = Process::myself().ok()?;
        let stat = process.stat().ok()?;
        let ticks = procfs::ticks_per_second() as f64;
        let boot = procfs::boot_time_secs().ok()?;
        let max_fds = process.limits().ok().and_then(|l| match l.max_open_files.soft_limit {
            LimitValue::Value(n) => Some(n),
            LimitValue::Unlimited => None,
        });
        Some(Self {
            cpu_seconds: stat.utime.saturating_add(stat.stime) as f64 / ticks,
            start_timestamp: boot as f64 + stat.starttime as f64 / ticks,
            resident_bytes: stat.rss.saturating_mul(procfs::page_size()),
            virtual_bytes: stat.vsize,
            threads: u64::try_from(stat.num_threads).unwrap_or(0),
            open_fds: process.fd_count().ok().map(|n| n as u64),
            max_fds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn our_own_process_can_be_read() {
        let own = OwnProcess::read().expect("/proc/self");
        assert!(own.resident_bytes > 100_000 && own.virtual_bytes >= own.resident_bytes);
        assert!(own.threads >= 1 && own.open_fds.is_some_and(|n| n >= 3));
        let age = clock::wall_secs() - own.start_timestamp;
        assert!((-2.0..86_400.0).contains(&age), "started {age} s ago");
    }
}
