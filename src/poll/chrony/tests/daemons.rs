//! Real chronyds in every state: what the poller reads is what `chronyc` prints, and what goes wrong is told apart.

use std::time::Duration;

use super::support::*;
use crate::clock;
use crate::config::ChronyAddr;
use crate::observe::clock::Tracking;
use crate::observe::node::FailReason;

/// Holds a reading against what `chronyc` printed right before and right after it.
fn compare(t: &Tracking, before: &[String], after: &[String]) {
    let number = |fields: &[String], at: usize| fields[at].parse::<f64>().unwrap();
    let between = |what: &str, value: f64, at: usize, digits: i32| {
        let (a, b) = (number(before, at), number(after, at));
        // Half of the last digit: both were made of the same bits.
        let slack = 0.501 * 10f64.powi(-digits);
        assert!(
            value >= a.min(b) - slack && value <= a.max(b) + slack,
            "{what} is {value}, chronyc says {a} and {b}"
        );
    };
    assert_eq!(format!("{:08X}", t.ref_id), before[0]);
    assert_eq!(t.source.map(|s| s.to_string()).unwrap_or_default(), before[1]);
    assert_eq!(t.stratum.to_string(), before[2]);
    between("reference time", t.ref_time, 3, 6);
    between("correction", t.correction, 4, 9);
    between("last offset", t.last_offset, 5, 9);
    between("RMS offset", t.rms_offset, 6, 9);
    between("frequency", t.frequency_ppm, 7, 3);
    between("residual frequency", t.residual_ppm, 8, 3);
    between("skew", t.skew_ppm, 9, 3);
    between("root delay", t.root_delay, 10, 9);
    between("root dispersion", t.root_dispersion, 11, 9);
    between("update interval", t.update_interval, 12, 1);
    let leap = ["Normal", "Insert second", "Delete second", "Not synchronised"];
    assert_eq!(leap[usize::from(t.leap)], before[13]);
}

/// Reads until one reading lies between two outputs of `chronyc` that belong to the same update of the clock.
async fn agrees(polled: &mut Polled, daemon: &Chronyd) -> Tracking {
    let begun = clock::mono();
    loop {
        let before = daemon.tracking().expect("chronyc reads it");
        let asked = clock::mono();
        let (read, tracking) = polled.answer().await;
        let after = daemon.tracking().expect("chronyc reads it");
        if read.span.sent >= asked && before[3] == after[3] {
            compare(&tracking, &before, &after);
            return tracking;
        }
        assert!(clock::mono().since(begun) < SOON, "it never stands still for a poll");
    }
}

fn unix(daemon: &Chronyd) -> ChronyAddr {
    ChronyAddr::Unix(daemon.socket())
}

const QUICK: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronised_one_is_read_over_both_ways() {
    // The first follows a source that is 0.25 s ahead of this host, the second follows the first.
    let source = NtpSource::start(0.25, 0.001, clock::wall_secs);
    let first = ChronydSetup::following(source.address()).start();
    first.wait_synchronised();
    let second = ChronydSetup::following(first.ntp()).start();
    second.wait_synchronised();
    // Without its source it has no updates, says the same as before, and its leap status stays normal.
    first.pause();
    for at in [udp(second.port()), unix(&second)] {
        let mut polled = Polled::every(QUICK, &[("a", at)]);
        let t = agrees(&mut polled, &second).await;
        assert_eq!((t.leap, t.stratum), (0, 3));
        let bound = t.correction.abs() + t.root_dispersion + t.root_delay / 2.0;
        assert!((t.correction - 0.25).abs() < 0.05 && bound >= 0.249, "{t:?}");
        assert!((clock::wall_secs() - t.ref_time).abs() < 10.0, "{t:?}");
        polled.handle.stop().await;
    }
    assert_eq!(second.strangers(), Vec::<String>::new());
    if has_ipv6() {
        let at = ChronyAddr::Udp { host: "::1".into(), port: second.port() };
        agrees(&mut Polled::every(QUICK, &[("a", at)]), &second).await;
    }

    // Only its age and its dispersion tell.
    let mut polled = Polled::every(QUICK, &[("a", udp(second.port()))]);
    let (_, last) = polled.answer().await;
    let begun = clock::mono();
    loop {
        let (read, t) = polled.answer().await;
        assert_eq!((t.leap, t.ref_id, t.stratum), (0, last.ref_id, last.stratum));
        if clock::wall_secs() - t.ref_time > 3.0 && t.root_dispersion > last.root_dispersion {
            break;
        }
        assert!(read.span.done.since(begun) < SOON, "{t:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_source_it_is_local_or_not_synchronised() {
    let local = ChronydSetup::local(7).start();
    let none = ChronydSetup::unsynchronised().start();
    let mut polled = Polled::every(QUICK, &[("a", udp(local.port()))]);
    let t = agrees(&mut polled, &local).await;
    assert_eq!((t.ref_id, t.stratum, t.leap, t.source), (0x7f7f_0101, 7, 0, None));
    assert_eq!((t.root_delay, t.root_dispersion, t.correction), (0.0, 0.0, 0.0));
    let mut polled = Polled::every(QUICK, &[("a", udp(none.port()))]);
    let t = agrees(&mut polled, &none).await;
    assert_eq!((t.ref_id, t.stratum, t.leap, t.source), (0, 0, 3, None));
    assert_eq!((t.root_delay, t.root_dispersion), (1.0, 1.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_one_is_silent_and_answers_again() {
    let daemon = ChronydSetup::local(5).start();
    for at in [udp(daemon.port()), unix(&daemon)] {
        let mut polled = Polled::every(QUICK, &[("a", at)]);
        polled.answer().await;
        daemon.pause();
        let (read, failed) = polled.failure(FailReason::Timeout).await;
        assert!(failed.detail.starts_with("timeout: chronyd not answering"), "{failed:?}");
        assert!(read.span.width() >= QUICK, "{:?}", read.span.width());
        // Longer than the queue of its socket: a full one must not hang anything.
        for _ in 0..15 {
            polled.failure(FailReason::Timeout).await;
        }
        daemon.resume();
        polled.answer().await;
        polled.handle.stop().await;
    }
    assert_eq!(daemon.strangers(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_port_and_a_dead_daemon_refuse() {
    let mut polled = Polled::every(QUICK, &[("a", udp(free_udp_port()))]);
    let (_, failed) = polled.failure(FailReason::Refused).await;
    assert!(failed.detail.contains("is chronyd running"), "{failed:?}");
    let mut daemon = ChronydSetup::local(5).start();
    let mut polled = Polled::every(QUICK, &[("a", unix(&daemon))]);
    polled.answer().await;
    daemon.kill();
    let (_, failed) = polled.failure(FailReason::Refused).await;
    assert!(failed.detail.contains("left it behind"), "{failed:?}");
    daemon.restart();
    polled.answer().await;
    daemon.stop();
    let (_, failed) = polled.failure(FailReason::Missing).await;
    assert!(failed.detail.contains("is chronyd running"), "{failed:?}");
    daemon.restart();
    polled.answer().await;
}

/// chronyd says nothing to who is not allowed to ask: 127.0.0.1 always is, another address of this host is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_cmdallow_it_is_silent() {
    let Some(address) = own_address() else {
        eprintln!("not tested: this host has no address but the loopback's");
        return;
    };
    let closed = ChronydSetup::local(5).line("bindcmdaddress 0.0.0.0").start();
    let open = ChronydSetup::local(5).line("bindcmdaddress 0.0.0.0").line("cmdallow all").start();
    let at = |daemon: &Chronyd| ChronyAddr::Udp { host: address.clone(), port: daemon.port() };
    let mut polled = Polled::every(QUICK, &[("a", at(&open))]);
    agrees(&mut polled, &open).await;
    let mut polled = Polled::every(QUICK, &[("a", at(&closed))]);
    let (_, failed) = polled.failure(FailReason::Timeout).await;
    assert!(failed.detail.contains("is cmdallow/bindcmdaddress set?"), "{failed:?}");
}

/// As packages run it: another user, who owns the directory, and no UDP port at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_another_user_answers_root() {
    if !rustix::process::geteuid().is_root() || !has_user("_chrony") {
        eprintln!("not tested: needs root and the user _chrony");
        return;
    }
    let daemon = ChronydSetup::local(5).user("_chrony").without_port().start();
    let mut polled = Polled::every(QUICK, &[("a", unix(&daemon))]);
    let (_, t) = polled.answer().await;
    assert_eq!((t.ref_id, t.stratum), (0x7f7f_0101, 5));
    polled.handle.stop().await;
    assert_eq!(daemon.strangers(), Vec::<String>::new());
}

/// Ended in the middle of a poll, by stopping it or by dropping it, it leaves nothing behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_own_socket_is_gone_with_it() {
    let daemon = ChronydSetup::local(5).start();
    for stopped in [true, false] {
        daemon.pause();
        let polled = Polled::every(Duration::from_secs(1), &[("a", unix(&daemon))]);
        wait_until("a socket of our own", SOON, || (!daemon.strangers().is_empty()).then_some(()));
        if stopped {
            polled.handle.stop().await;
        } else {
            drop(polled);
        }
        wait_until("none any more", SOON, || daemon.strangers().is_empty().then_some(()));
        daemon.resume();
    }
}

/// The address that this host would send from, if it has one. Nothing is sent.
fn own_address() -> Option<String> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then(|| ip.to_string())
}
