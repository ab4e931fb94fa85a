//! What chronyd said of a host's clock, and readings of this host's own wall clock. Numbers as they came: which of them
//! can be believed in which state is decided elsewhere.

use core::net::IpAddr;
use std::sync::Arc;

use super::node::FailReason;
use super::time::{Mono, Span};

/// One request for a chronyd's tracking data.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockRead {
    /// The configured clock's name.
    pub clock: Arc<str>,
    /// From the request to the reply or the failure.
    pub span: Span,
    /// What came back.
    pub seen: Result<Tracking, ClockFailed>,
}

/// Why there is no tracking data.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockFailed {
    /// For the label.
    pub reason: FailReason,
    /// What exactly and what to do.
    pub detail: String,
}

/// A tracking report of chronyd, field by field as in `chronyc tracking`. Seconds unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracking {
    /// Reference id: 7F7F0101 in local mode, 0 when unsynchronised.
    pub ref_id: u32,
    /// Address of the source, if it has one.
    pub source: Option<IpAddr>,
    /// Stratum, 0 when unsynchronised.
    pub stratum: u16,
    /// Leap status: 0 normal, 1 insert, 2 delete, 3 not synchronised.
    pub leap: u16,
    /// Last update of the clock from a source, since the epoch on that host's corrected clock: its
    /// wall clock showed that minus the remaining correction.
    pub ref_time: f64,
    /// Remaining correction; positive: the system clock is behind true time.
    pub correction: f64,
    /// Offset at the last update; positive: the clock was ahead.
    pub last_offset: f64,
    /// Long-term average of offsets.
    pub rms_offset: f64,
    /// Frequency error without correction, parts per million; positive: gains time.
    pub frequency_ppm: f64,
    /// Residual frequency, parts per million.
    pub residual_ppm: f64,
    /// Estimated error bound of the frequency, parts per million.
    pub skew_ppm: f64,
    /// Total round trip to the stratum-1 source.
    pub root_delay: f64,
    /// Total dispersion to the stratum-1 source, as of the reply.
    pub root_dispersion: f64,
    /// Time between the last two updates (not since the last).
    pub update_interval: f64,
}

/// This host's wall clock between two readings of its monotonic one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostClock {
    /// Around the reading.
    pub span: Span,
    /// Seconds since the epoch.
    pub wall: f64,
}

impl HostClock {
    /// Wall minus monotonic in seconds, read in the middle of the span.
    pub fn ahead_of_mono(&self) -> f64 {
        let middle = self.span.sent.plus(self.span.width() / 2);
        self.wall - middle.secs_since(Mono(0))
    }
}
