//! The bytes: vectors of a real daemon, and anything else that may come.

use std::net::IpAddr;

use proptest::prelude::*;

use super::support::{SEQUENCE, SYNCHRONISED};
use crate::observe::clock::Tracking;
use crate::poll::chrony::codec::{LENGTH, Wrong, float, reply, request};

fn parsed(bytes: &[u8]) -> Result<Tracking, Wrong> {
    reply(bytes, SEQUENCE).expect("an answer to our request")
}

/// The good reply with other bytes at some place.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut reply = SYNCHRONISED.to_vec();
    reply[at..at + bytes.len()].copy_from_slice(bytes);
    reply
}

#[test]
fn the_request_is_what_chronyd_answers() {
    let bytes = request(0x9b8c_fb21);
    assert_eq!(bytes.len(), 104);
    let head = [6, 1, 0, 0, 0, 0x21, 0, 0, 0x9b, 0x8c, 0xfb, 0x21];
    assert_eq!(&bytes[..12], &head);
    assert!(bytes[12..].iter().all(|b| *b == 0));
}

#[test]
fn floats_are_those_of_a_real_daemon() {
    for (bits, value) in [
        (0x0480_0000, 1.0),
        (0xfef5_ab60, 0.239_911_556_243_896_48),
        (0xdb3b_3571, -7.331_045_139_835_624e-7),
        (0xf8f9_c61c, 0.030_489_973_723_888_397),
        (0xf284_4f2e, 0.002_018_879_633_396_864),
        (0, 0.0),
        (0xe4a8_3b6d, 2.005_483_293_032_739_3e-5),
        (0x06fa_05cb, 3.906_603_574_752_807_6),
        (0xf95c_3dee, -0.019_990_000_873_804_092),
        (0x0aa8_0213, 10.500_506_401_062_012),
        (0x0684_2a9a, 2.065_100_193_023_681_6),
    ] {
        assert_eq!(float(bits), value, "{bits:#x}");
    }
    // The largest, the smallest and the least there is.
    assert_eq!(float(0x7eff_ffff), f64::from((1 << 24) - 1) * 2f64.powi(38));
    assert_eq!(float(0x7f00_0000), -(2f64.powi(62)));
    assert_eq!(float(0x8000_0001), 2f64.powi(-89));
}

#[test]
fn a_real_reply_is_read_as_chronyc_reads_it() {
    let t = parsed(&SYNCHRONISED).unwrap();
    assert_eq!((t.ref_id, t.stratum, t.leap), (0x7f00_0001, 3, 0));
    assert_eq!(t.source, Some(IpAddr::from([127, 0, 0, 1])));
    assert!((t.ref_time - 1_795_955_653.366_926_6).abs() < 1e-6, "{}", t.ref_time);
    let printed = |value: f64, digits: usize| format!("{value:.digits$}");
    assert_eq!(printed(t.correction, 9), "0.239911556");
    assert_eq!(printed(t.last_offset, 9), "-0.000000733");
    assert_eq!(printed(t.rms_offset, 9), "0.000020055");
    assert_eq!(printed(t.frequency_ppm, 3), "3.907");
    assert_eq!(printed(t.residual_ppm, 3), "-0.020");
    assert_eq!(printed(t.skew_ppm, 3), "10.501");
    assert_eq!(printed(t.root_delay, 9), "0.030489974");
    assert_eq!(printed(t.root_dispersion, 9), "0.002018880");
    assert_eq!(printed(t.update_interval, 1), "2.1");
}

#[test]
fn sources_are_of_every_family() {
    let source = |family: u16| parsed(&with(48, &family.to_be_bytes())).map(|t| t.source);
    assert_eq!(source(0), Ok(None));
    assert_eq!(source(2), Ok(Some("7f00:1::".parse().unwrap())));
    assert_eq!(source(3), Ok(None));
    assert_eq!(source(4), Err(Wrong::Absurd("address family")));
}

/// chronyd before the year 2106 says that there is no high half in a way of its own.
#[test]
fn the_reference_time_has_two_halves() {
    let time = |high: u32| parsed(&with(56, &high.to_be_bytes())).map(|t| t.ref_time);
    assert_eq!(time(0x7fff_ffff), time(0));
    assert!((time(1).unwrap() - time(0).unwrap() - 4_294_967_296.0).abs() < 1e-3);
    assert_eq!(time(0x7fff_fffe), Err(Wrong::Absurd("reference time")));
    let nanos = with(64, &1_000_000_000u32.to_be_bytes());
    assert_eq!(parsed(&nanos), Err(Wrong::Absurd("reference time")));
}

#[test]
fn what_is_no_good_reply_says_why() {
    assert_eq!(reply(&SYNCHRONISED, SEQUENCE + 1), None);
    assert_eq!(reply(&SYNCHRONISED[..19], SEQUENCE), None);
    assert_eq!(parsed(&SYNCHRONISED[..103]), Err(Wrong::Short(103)));
    assert_eq!(parsed(&SYNCHRONISED[..20]), Err(Wrong::Short(20)));
    assert_eq!(parsed(&with(0, &[5])), Err(Wrong::Head("version")));
    assert_eq!(parsed(&with(1, &[1])), Err(Wrong::Head("packet type")));
    assert_eq!(parsed(&with(4, &[0, 14])), Err(Wrong::Head("command")));
    assert_eq!(parsed(&with(6, &[0, 1])), Err(Wrong::Head("reply code")));
    // An error has no body, and another reply code.
    let mut refused = with(6, &[0, 1, 0, 2]);
    refused.truncate(28);
    assert_eq!(parsed(&refused), Err(Wrong::Status(2)));
    let mut longer = SYNCHRONISED.to_vec();
    longer.extend([7; 300]);
    assert_eq!(parsed(&longer), parsed(&SYNCHRONISED));
}

#[test]
fn values_that_no_clock_has_are_refused() {
    let huge = 0x7eff_ffffu32.to_be_bytes();
    for at in (68..=100).step_by(4) {
        assert!(matches!(parsed(&with(at, &huge)), Err(Wrong::Absurd(_))), "{at}");
    }
    let negative = 0xf95c_3deeu32.to_be_bytes();
    for (at, name) in [
        (76, "RMS offset"),
        (88, "skew"),
        (92, "root delay"),
        (96, "root dispersion"),
        (100, "update interval"),
    ] {
        assert_eq!(parsed(&with(at, &negative)), Err(Wrong::Absurd(name)));
    }
    for at in [68, 72, 80, 84] {
        assert!(parsed(&with(at, &negative)).is_ok(), "{at}");
    }
    assert_eq!(parsed(&with(52, &[0, 17])), Err(Wrong::Absurd("stratum")));
    assert_eq!(parsed(&with(54, &[0, 4])), Err(Wrong::Absurd("leap status")));
}

/// Nothing that is accepted may be a number that a clock cannot have.
fn sane(t: &Tracking) -> bool {
    let seconds = [t.ref_time, t.correction, t.last_offset, t.rms_offset];
    let more = [t.root_delay, t.root_dispersion, t.update_interval];
    let ppm = [t.frequency_ppm, t.residual_ppm, t.skew_ppm];
    let positive = [t.ref_time, t.rms_offset, t.skew_ppm].into_iter().chain(more);
    seconds.into_iter().chain(more).all(|v| v.is_finite() && v.abs() <= 1e10)
        && ppm.into_iter().all(|v| v.is_finite() && v.abs() <= 1e7)
        && positive.into_iter().all(|v| v >= 0.0)
        && t.leap <= 3
        && t.stratum <= 16
}

proptest! {
    #[test]
    fn any_bytes_are_an_error_or_a_sane_reply(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        sequence: u32,
    ) {
        if let Some(Ok(t)) = reply(&bytes, sequence) {
            prop_assert!(sane(&t), "{t:?}");
        }
    }

    #[test]
    fn a_spoilt_reply_is_an_error_or_sane(
        changes in proptest::collection::vec((20..LENGTH, any::<u8>()), 1..8),
        length in 0..=LENGTH,
        cut: bool,
    ) {
        let mut bytes = SYNCHRONISED.to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        if cut {
            bytes.truncate(length);
        }
        match reply(&bytes, SEQUENCE) {
            Some(Ok(t)) => prop_assert!(bytes.len() == LENGTH && sane(&t), "{t:?}"),
            Some(Err(wrong)) => prop_assert!(!wrong.to_string().is_empty()),
            None => prop_assert!(bytes.len() < 20),
        }
    }

    /// Every pattern of bits is a finite number of the size that the format allows.
    #[test]
    fn any_float_is_finite(bits: u32) {
        let value = float(bits);
        prop_assert!(value.is_finite() && value.abs() <= 2f64.powi(62), "{value}");
        prop_assert!(value == 0.0 || value.abs() >= 2f64.powi(-89), "{value}");
    }
}
