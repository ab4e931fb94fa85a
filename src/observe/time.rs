//! The clocks that facts carry: the observer's monotonic clock and a lock server's wall clock. They are different
//! types so that nobody subtracts one from the other; only `derive` maps between them, with a stated error.

use std::time::Duration;

/// An instant of the observer's clock: nanoseconds of `CLOCK_BOOTTIME`, which runs on through suspend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Mono(pub u64);

impl Mono {
    /// The instant `seconds` after boot; for tests and fixtures.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9) as u64)
    }

    /// Time since `earlier`, zero if `earlier` is later.
    pub fn since(self, earlier: Mono) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Time since `earlier` in seconds, negative if `earlier` is later.
    pub fn secs_since(self, earlier: Mono) -> f64 {
        (self.0 as f64 - earlier.0 as f64) / 1e9
    }

    /// The instant `d` later; saturates.
    pub fn plus(self, d: Duration) -> Mono {
        Mono(self.0.saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The instant `d` earlier; saturates at boot.
    pub fn minus(self, d: Duration) -> Mono {
        Mono(self.0.saturating_sub(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Between the start of a read and the arrival of its reply; what it showed was true at some instant in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Just before the request left.
    pub sent: Mono,
    /// Just after the reply was complete.
    pub done: Mono,
}

impl Span {
    /// How long the read took.
    pub fn width(self) -> Duration {
        self.done.since(self.sent)
    }
}

/// An instant of a lock server's wall clock: microseconds since the epoch, from `TIME` or `PEXPIRETIME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerTime(pub i64);

impl ServerTime {
    /// From milliseconds since the epoch (`PEXPIRETIME`); saturates.
    pub fn from_ms(ms: i64) -> Self {
        Self(ms.saturating_mul(1000))
    }

    /// Microseconds from `earlier` to this; both must be of the same server's clock. Saturates.
    pub fn micros_since(self, earlier: ServerTime) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Seconds from `earlier` to this; both must be of the same server's clock.
    pub fn secs_since(self, earlier: ServerTime) -> f64 {
        self.micros_since(earlier) as f64 / 1e6
    }

    /// The instant `micros` later (earlier if negative); saturates.
    pub fn plus_micros(self, micros: i64) -> ServerTime {
        ServerTime(self.0.saturating_add(micros))
    }

    /// Seconds since the epoch of that server's clock.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}
