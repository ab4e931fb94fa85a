//! Keys without an expiry, with an absurd one, and servers whose clock is set.

use std::time::Duration;

use super::cases::{Case, OTHER, UUID, matched, plain, run_all};
use super::sim::Sim;
use crate::config::LockRules;
use crate::derive::{Evidence, Signal};

const DAY_MS: i64 = 86_400_000;

#[test]
fn keys_that_end_never_or_absurdly_late() {
    run_all(&[
        Case {
            name: "a lock of 240 s whose expiry is gone",
            poll_ms: 2_000,
            rules: matched,
            run: |s| {
                s.string("lock:x", "GxwErhZvp2QmLvacH/pVgjGj", 240_000);
                s.advance(60_000);
                assert_eq!(s.signal(Signal::LeaseWithoutTtl), Some(false));
                s.persist();
                s.until_up(Signal::LeaseWithoutTtl, 6_100, 100, |_| {});
            },
            raises: &[Signal::LeaseWithoutTtl],
        },
        Case {
            name: "a crash between SETNX and EXPIRE, the value names nobody",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                s.string("lock", "1", None);
                s.advance(10_000);
                assert_eq!(&*s.lock().holders[0].fingerprint, "");
            },
            raises: &[Signal::LeaseWithoutTtl],
        },
        Case {
            name: "SETNX and EXPIRE with a read in between",
            poll_ms: 500,
            rules: plain,
            run: |s| {
                for _ in 0..20 {
                    s.string("lock", "1", None);
                    s.read_key();
                    s.expire_in(10_000);
                    s.advance(3_100);
                    s.vanish();
                    s.advance(1_100);
                }
            },
            raises: &[],
        },
        Case {
            name: "Laravel's job lock without expiry, its default, for a while",
            poll_ms: 2_000,
            rules: || LockRules { max_hold: Some(Duration::from_secs(300)), ..plain() },
            run: |s| {
                s.string(OVERLAP, "aB3dE6gH9jK2mN5p", None);
                s.advance(290_000);
            },
            raises: &[],
        },
        Case {
            name: "and for longer than its job may take",
            poll_ms: 2_000,
            rules: || LockRules { max_hold: Some(Duration::from_secs(300)), ..plain() },
            run: |s| {
                s.string(OVERLAP, "aB3dE6gH9jK2mN5p", None);
                s.advance(400_000);
            },
            raises: &[Signal::LeaseWithoutTtl, Signal::HeldTooLong],
        },
        Case {
            name: "a unique job of which the model is gone: its lock stays for ever",
            poll_ms: 2_000,
            rules: || LockRules { max_hold: Some(Duration::from_secs(300)), ..matched() },
            run: |s| {
                s.string(
                    "app-database-laravel_unique_job:App\\Jobs\\Send:7",
                    "aB3dE6gH9jK2mN5p",
                    None,
                );
                s.advance(400_000);
            },
            raises: &[Signal::LeaseWithoutTtl, Signal::HeldTooLong],
        },
        Case {
            name: "the scheduler's day",
            poll_ms: 2_000,
            rules: matched,
            run: |s| {
                let key = "app-framework/schedule-0123456789abcdef0123456789abcdef01234567";
                s.string(key, "aB3dE6gH9jK2mN5p", DAY_MS);
                s.advance(60_000);
            },
            raises: &[],
        },
        Case {
            name: "634 years",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                s.string("lock", UUID, 19_999_999_845_000);
                s.advance(5_000);
            },
            raises: &[Signal::LeaseAbsurd],
        },
        Case {
            name: "an hour that became 41 days by milliseconds taken for seconds",
            poll_ms: 2_000,
            rules: matched,
            run: |s| {
                let value = format!("{{\"holder\":\"{UUID}\",\"resources\":[\"a\"]}}");
                s.string("lock:a", value, 3_600_000_000);
                s.advance(5_000);
            },
            raises: &[Signal::LeaseAbsurd],
        },
        Case {
            name: "a thousand times what it was before",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                earlier(s, 60_000);
                s.string("lock", UUID, 60_000_000);
                s.advance(5_000);
            },
            raises: &[Signal::LeaseAbsurd],
        },
        Case {
            name: "a thousand times its siblings'",
            poll_ms: 2_000,
            rules: || LockRules { pooled: true, ..matched() },
            run: |s| {
                s.siblings(6, 60_000);
                s.string("lock", UUID, 60_000_000);
                s.advance(5_000);
            },
            raises: &[Signal::LeaseAbsurd],
        },
        Case {
            name: "twenty times what is configured",
            poll_ms: 2_000,
            rules: || LockRules { lease: Some(Duration::from_secs(30)), ..plain() },
            run: |s| {
                s.string("lock", UUID, 590_000);
                s.advance(5_000);
                assert_eq!(s.signal(Signal::LeaseAbsurd), Some(false));
                s.expire_in(620_000);
                s.advance(5_000);
            },
            raises: &[Signal::LeaseAbsurd],
        },
        Case {
            name: "a day where minutes were usual, as some jobs ask for",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                earlier(s, 300_000);
                s.string("lock", UUID, DAY_MS);
                s.advance(5_000);
            },
            raises: &[],
        },
        Case {
            name: "an extension that adds instead of setting",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                let mut lease = 10_000;
                s.string("lock", UUID, lease);
                for _ in 0..20 {
                    s.advance(4_000);
                    lease += 10_000 - 4_000;
                    s.expire_in(lease);
                }
            },
            raises: &[Signal::LeaseAbsurd],
        },
    ]);
}

const OVERLAP: &str = "app-database-app-cache-laravel-queue-overlap:Send:7";

/// Some tenures of this length before.
fn earlier(s: &mut Sim, lease_ms: i64) {
    for k in 0..8 {
        s.string("lock", format!("0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f{k:02}"), lease_ms);
        s.advance(5_000);
        s.vanish();
        s.advance(3_000);
    }
}

#[test]
fn servers_whose_clock_is_set() {
    run_all(&[
        Case {
            name: "forward by 20 s, less is left and nothing was renewed or shortened",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                s.string("lock", UUID, 30_000);
                s.renew_each(10_000, 30_000, 12);
                s.advance(1_100);
                s.offset_ms += 20_000;
                s.advance(4_000);
                assert!(s.lock().remaining_seconds.unwrap() < 6.0);
                assert!(s.lock().transitions.iter().all(|t| t.what != "shortened"));
                s.expire_in(30_000);
                s.renew_each(10_000, 30_000, 3);
            },
            raises: &[],
        },
        Case {
            name: "forward by 60 s, the lease is over at once",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                s.string("lock", UUID, 30_000);
                s.advance(5_000);
                s.offset_ms += 60_000;
                s.advance(4_000);
                assert_eq!((s.lock().held, s.ends(Evidence::ClockStep)), (Some(false), 1));
            },
            raises: &[],
        },
        Case {
            name: "forward over the end, another takes it, and back: that one has three leases",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                s.string("lock", UUID, 30_000);
                s.advance(1_100);
                s.offset_ms += 20_000;
                s.advance(500);
                s.offset_ms += 60_000;
                s.advance(2_000);
                s.string("lock", OTHER, 30_000);
                s.advance(2_500);
                s.offset_ms -= 60_000;
                s.advance(3_000);
                let lock = s.lock();
                assert_eq!((s.ends(Evidence::ClockStep), s.ends(Evidence::Lapsed)), (1, 0));
                assert!(lock.remaining_seconds.unwrap() > 80.0, "{:?}", lock.remaining_seconds);
                assert_eq!(lock.counts.renewals, 0);
            },
            raises: &[Signal::LeaseAbsurd],
        },
        Case {
            name: "back by 60 s under a lease of 30 s",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                s.string("lock", UUID, 30_000);
                s.advance(4_000);
                s.offset_ms -= 60_000;
                s.advance(5_000);
                assert!(s.lock().remaining_seconds.unwrap() > 75.0);
                assert_eq!(s.signal(Signal::LeaseAbsurd), Some(true));
                // A renewal sets that right.
                s.expire_in(30_000);
                s.advance(2_000);
                assert_eq!(s.signal(Signal::LeaseAbsurd), Some(false));
            },
            raises: &[Signal::LeaseAbsurd],
        },
    ]);
}
