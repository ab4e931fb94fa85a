//! An NTP server of a few lines whose time differs from this host's by a known amount: what a chronyd takes for true.
//! Ends when it is dropped.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Seconds from NTP's epoch to that of Unix.
const EPOCHS: f64 = 2_208_988_800.0;
/// One second in NTP's short format.
const SHORT: f64 = 65_536.0;

/// A running server.
pub struct NtpSource {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NtpSource {
    /// A server of stratum 1 that is ahead of this host's clock by `ahead` seconds and says that its error is
    /// `dispersion` at most. `now` reads this host's clock.
    pub fn start(ahead: f64, dispersion: f64, now: fn() -> f64) -> Self {
        // Not 127.0.0.1: who follows a chronyd that follows its own address takes that for a loop.
        let own = Ipv4Addr::new(127, 0, 0, 9);
        let socket = UdpSocket::bind((own, 0)).expect("the loopback has a port");
        let address = socket.local_addr().expect("a bound socket has an address");
        socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout can be set");
        let (stop, silent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (ended, mute) = (Arc::clone(&stop), Arc::clone(&silent));
        let thread = std::thread::spawn(move || {
            let mut request = [0; 256];
            while !ended.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut request) else { continue };
                if length >= 48 && !mute.load(Ordering::Relaxed) {
                    let reply = reply(&request, now() + ahead, dispersion);
                    let _ = socket.send_to(&reply, from);
                }
            }
        });
        Self { address, stop, silent, thread: Some(thread) }
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// It answers no more, or again.
    pub fn silence(&self, on: bool) {
        self.silent.store(on, Ordering::Relaxed);
    }
}

impl Drop for NtpSource {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn reply(request: &[u8], time: f64, dispersion: f64) -> [u8; 48] {
    let mut bytes = [0; 48];
    // No leap second, version 4, server; stratum 1; the poll that was asked with; a microsecond of precision.
    bytes[0] = 0x24;
    bytes[1] = 1;
    bytes[2] = request[2];
    bytes[3] = 0xec;
    bytes[8..12].copy_from_slice(&((dispersion * SHORT) as u32).to_be_bytes());
    bytes[12..16].copy_from_slice(b"TEST");
    let now = stamp(time);
    bytes[16..24].copy_from_slice(&now);
    bytes[24..32].copy_from_slice(&request[40..48]);
    bytes[32..40].copy_from_slice(&now);
    bytes[40..48].copy_from_slice(&now);
    bytes
}

fn stamp(time: f64) -> [u8; 8] {
    let seconds = (time + EPOCHS).floor();
    let fraction = (time + EPOCHS - seconds) * 4_294_967_296.0;
    (((seconds as u64) << 32) | fraction as u64).to_be_bytes()
}
