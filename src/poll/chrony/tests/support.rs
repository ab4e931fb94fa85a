//! A poller of one clock whose observations a test can wait for, the daemons of the live tests, and bytes that a real
//! chronyd sent.
#![allow(dead_code)]

#[path = "../../../../tests/support/children.rs"]
mod children;
#[path = "../../../../tests/support/chronyd.rs"]
mod chronyd;
#[path = "../../../../tests/support/ntp_source.rs"]
mod ntp_source;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

pub use children::Group;
pub use chronyd::{Chronyd, ChronydSetup, free_udp_port, has_ipv6, has_user};
pub use ntp_source::NtpSource;

use crate::clock;
use crate::config::{ChronyAddr, Clock};
use crate::observe::clock::{ClockFailed, Tracking};
use crate::observe::node::FailReason;
use crate::observe::poll::PollDone;
use crate::observe::{ClockRead, Observation};
use crate::poll::chrony::{ClocksHandle, spawn};

/// How long anything may take; a loaded machine is slow.
pub const SOON: Duration = Duration::from_secs(20);

/// A reply of chronyd 4.3, synchronised to a source that was 0.25 s ahead.
pub const SYNCHRONISED: [u8; 104] = [
    0x06, 0x02, 0x00, 0x00, 0x00, 0x21, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xc5, 0xa1, 0x81, 0xac, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x01,
    0x7f, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x6b, 0x0c, 0x1b, 0xc5,
    0x15, 0xde, 0xdb, 0x25, 0xfe, 0xf5, 0xab, 0x60, 0xdb, 0x3b, 0x35, 0x71, 0xe4, 0xa8, 0x3b, 0x6d,
    0x06, 0xfa, 0x05, 0xcb, 0xf9, 0x5c, 0x3d, 0xee, 0x0a, 0xa8, 0x02, 0x13, 0xf8, 0xf9, 0xc6, 0x1c,
    0xf2, 0x84, 0x4f, 0x2e, 0x06, 0x84, 0x2a, 0x9a,
];

/// Its sequence number.
pub const SEQUENCE: u32 = 0xc5a1_81ac;

/// The same reply to another request.
pub fn answer_to(request: &[u8]) -> Vec<u8> {
    let mut bytes = SYNCHRONISED.to_vec();
    bytes[16..20].copy_from_slice(&request[8..12]);
    bytes
}

pub fn wait_until<T>(
    what: &str,
    deadline: Duration,
    mut condition: impl FnMut() -> Option<T>,
) -> (T, Duration) {
    let begun = clock::mono();
    loop {
        if let Some(value) = condition() {
            return (value, clock::mono().since(begun));
        }
        assert!(clock::mono().since(begun) < deadline, "not within {deadline:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Clocks that are polled.
pub struct Polled {
    observations: mpsc::Receiver<Observation>,
    pub handle: ClocksHandle,
}

pub const POLL: Duration = Duration::from_millis(100);

impl Polled {
    pub fn start(clocks: &[(&str, ChronyAddr)]) -> Self {
        Self::every(POLL, clocks)
    }

    pub fn every(interval: Duration, clocks: &[(&str, ChronyAddr)]) -> Self {
        let (out, observations) = mpsc::channel(16);
        let clocks =
            clocks.iter().map(|(name, at)| Clock { name: (*name).into(), chrony: at.clone() });
        let handle = spawn(Arc::new(clocks.collect()), interval, out);
        Self { observations, handle }
    }

    /// The next poll of the only clock.
    pub async fn next(&mut self) -> (ClockRead, PollDone) {
        match (self.any().await, self.any().await) {
            (Observation::Clock(read), Observation::Poll(done)) if done.target == read.clock => {
                (*read, done)
            }
            other => panic!("no read and its end: {other:?}"),
        }
    }

    /// Anything that comes.
    pub async fn any(&mut self) -> Observation {
        timeout(SOON, self.observations.recv()).await.expect("a poll in time").expect("it polls")
    }

    /// The next answer; failures before it are passed over.
    pub async fn answer(&mut self) -> (ClockRead, Tracking) {
        loop {
            let (read, done) = self.next().await;
            assert_eq!(done.failure, read.seen.as_ref().err().map(|f| f.reason));
            if let Ok(tracking) = read.seen {
                return (read, tracking);
            }
        }
    }

    /// The next failure of that reason; anything before it is passed over.
    pub async fn failure(&mut self, reason: FailReason) -> (ClockRead, ClockFailed) {
        let begun = clock::mono();
        loop {
            let (read, done) = self.next().await;
            assert_eq!(done.failure, read.seen.as_ref().err().map(|f| f.reason));
            match &read.seen {
                Err(failed) if failed.reason == reason => {
                    let failed = failed.clone();
                    return (read, failed);
                }
                other => assert!(clock::mono().since(begun) < SOON, "{reason:?}: {other:?}"),
            }
        }
    }
}

pub fn udp(port: u16) -> ChronyAddr {
    ChronyAddr::Udp { host: "127.0.0.1".into(), port }
}
