//! Every parser with what kernels write, with what they never write, and with anything.

use super::*;
use proptest::prelude::*;

const MEMORY: &[u8] = b"some avg10=12.50 avg60=0.93 avg300=0.84 total=4477588\n\
                        full avg10=0.00 avg60=0.00 avg300=0.00 total=31\n";

#[test]
fn pressure_of_every_kernel() {
    let p = pressure(MEMORY).unwrap();
    assert_eq!(p.some, Waiting { share: 0.125, total: Duration::from_micros(4_477_588) });
    assert_eq!(p.full, Some(Waiting { share: 0.0, total: Duration::from_micros(31) }));
    // CPU before 5.13.
    let p = pressure(b"some avg10=100.00 avg60=0.00 avg300=0.00 total=7\n").unwrap();
    assert_eq!((p.some.share, p.full), (1.0, None));
    // Fields to come, and in another order.
    let p = pressure(b"new avg10=1\nsome total=7 avg9=3 avg10=50.00\n").unwrap();
    assert_eq!((p.some.share, p.some.total), (0.5, Duration::from_micros(7)));
}

#[test]
fn what_is_no_pressure_is_malformed() {
    for text in [
        "",
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        "some\n",
        "some avg10=0.00\n",
        "some avg10=nan total=1\n",
        "some avg10=inf total=1\n",
        "some avg10=-1.00 total=1\n",
        "some avg10=250.00 total=1\n",
        "some avg10=0.00 total=-1\n",
        "some avg10=0.00 total=18446744073709551615\n",
        "some avg10=0.00 total=99999999999999999999999\n",
        "some avg10=0.00 total=1\nfull avg10=0.00 total=x\n",
        "\u{fffd}",
    ] {
        assert_eq!(pressure(text.as_bytes()), Err(Malformed), "{text:?}");
    }
}

#[test]
fn values_are_found_by_their_whole_key() {
    let events = b"low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n";
    assert_eq!(value(events, "oom_kill"), Ok(Some(2)));
    assert_eq!(value(events, "oom"), Ok(Some(3)));
    assert_eq!(value(events, "nr_throttled"), Ok(None));
    assert_eq!(value(b"", "oom"), Ok(None));
    let v1 = b"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n";
    assert_eq!(value(v1, "oom_kill"), Ok(Some(1)));
    for bad in ["oom_kill x", "oom_kill ", "oom_kill -1", "oom_kill 1 2", "oom_kill +1"] {
        assert_eq!(value(bad.as_bytes(), "oom_kill"), Err(Malformed), "{bad}");
    }
    assert_eq!(value(b"oom_kill 18446744073709551615\n", "oom_kill"), Err(Malformed));
}

#[test]
fn limits_and_quotas_of_both_versions() {
    assert_eq!(limit(b"max\n"), Ok(None));
    assert_eq!(limit(b"1073741824\n"), Ok(Some(1 << 30)));
    // No limit with pages of 4 and of 64 KiB.
    assert_eq!(limit(b"9223372036854771712\n"), Ok(None));
    assert_eq!(limit(b"9223372036854710272\n"), Ok(None));
    assert_eq!(limit(b"-1\n"), Err(Malformed));
    assert_eq!(limit(b"\n"), Err(Malformed));
    assert_eq!(quota_period(b"max 100000\n"), Ok(None));
    assert_eq!(quota_period(b"20000 400000\n"), Ok(Some(Duration::from_millis(400))));
    for bad in ["", "max", "20000", "x 100000", "20000 0", "20000 99999999999"] {
        assert_eq!(quota_period(bad.as_bytes()), Err(Malformed), "{bad}");
    }
    assert_eq!(is_quota(b"-1\n"), Ok(false));
    assert_eq!(is_quota(b"20000\n"), Ok(true));
    assert_eq!(is_quota(b"-2\n"), Err(Malformed));
}

#[test]
fn freezes_of_both_versions() {
    assert_eq!(frozen(b"populated 1\nfrozen 1\n"), Ok(Some(true)));
    assert_eq!(frozen(b"populated 1\nfrozen 0\n"), Ok(Some(false)));
    assert_eq!(frozen(b"populated 1\n"), Ok(None));
    assert_eq!(frozen(b"populated 1\nfrozen 2\n"), Err(Malformed));
    assert_eq!(frozen(b"FROZEN\n"), Ok(Some(true)));
    assert_eq!(frozen(b"FREEZING\n"), Ok(Some(false)));
    assert_eq!(frozen(b"THAWED\n"), Ok(Some(false)));
}

fn anything() -> impl Strategy<Value = Vec<u8>> {
    let words = "(some|full|avg10=|total=|max|frozen|oom_kill|nr_throttled|-|\\.|[0-9]{0,25}|e|inf|nan| |\n){0,12}";
    prop_oneof![any::<Vec<u8>>(), words.prop_map(String::into_bytes)]
}

proptest! {
    #[test]
    fn nothing_absurd_comes_of_any_bytes(text in anything()) {
        if let Ok(p) = pressure(&text) {
            for w in [Some(p.some), p.full].into_iter().flatten() {
                prop_assert!((0.0..=1.0).contains(&w.share));
                prop_assert!(w.total <= Duration::from_micros(MAX_MICROS));
            }
        }
        if let Ok(Some(n)) = limit(&text) {
            prop_assert!(n < NO_LIMIT);
        }
        if let Ok(Some(period)) = quota_period(&text) {
            prop_assert!(!period.is_zero() && period <= Duration::from_secs(1000));
        }
        for n in [number(&text).ok(), value(&text, "oom_kill").ok().flatten()].into_iter().flatten() {
            prop_assert!(i64::try_from(n).is_ok());
        }
        let _ = (frozen(&text), is_quota(&text), period(&text));
    }

    #[test]
    fn what_a_kernel_writes_is_read_back(some in 0u64..1 << 50, full in 0u64..1 << 50, share in 0u32..=10_000) {
        let avg = f64::from(share) / 100.0;
        let text = format!(
            "some avg10={avg:.2} avg60=0.00 avg300=0.00 total={some}\n\
             full avg10=0.00 avg60=0.00 avg300=0.00 total={full}\n"
        );
        let p = pressure(text.as_bytes()).unwrap();
        prop_assert!((p.some.share - avg / 100.0).abs() < 1e-9);
        prop_assert_eq!(p.some.total.as_micros(), u128::from(some));
        prop_assert_eq!(p.full.unwrap().total.as_micros(), u128::from(full));
        let text = format!("nr_periods 9\nnr_throttled {some}\nthrottled_usec {full}\n");
        prop_assert_eq!(value(text.as_bytes(), "throttled_usec"), Ok(Some(full)));
    }
}
