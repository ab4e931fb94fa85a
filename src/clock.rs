//! The one caller of `now()`. Everything that derives or decides is given its instants, so that tests run on invented
//! time.

use rustix::time::{ClockId, clock_gettime};

use crate::observe::{HostClock, Mono, Span};

/// The observer's clock now.
pub fn mono() -> Mono {
    let t = clock_gettime(ClockId::Boottime);
    Mono((t.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(t.tv_nsec as u64))
}

/// This host's wall clock now, in seconds since the epoch.
pub fn wall_secs() -> f64 {
    let t = clock_gettime(ClockId::Realtime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// This host's wall clock, read between two readings of the observer's: the narrowest of three tries, as this thread may
/// be kept from running in the middle of one.
pub fn host() -> HostClock {
    let read = || {
        let sent = mono();
        let wall = wall_secs();
        HostClock { span: Span { sent, done: mono() }, wall }
    };
    let narrower = |a: HostClock, b: HostClock| if b.span.width() < a.span.width() { b } else { a };
    narrower(narrower(read(), read()), read())
}
