//! The holder is gone or has lost its mind, and the key stays.

use std::time::Duration;

use super::cases::{Case, GONE, OTHER, UUID, matched, plain, run_all};
use super::sim::{Sim, running};
use crate::config::{LockRules, TokenKind};
use crate::derive::Signal;
use crate::observe::lock::{CompanionValue, Tells};

fn limited() -> LockRules {
    LockRules { max_hold: Some(Duration::from_secs(600)), ..plain() }
}

#[test]
fn holders_that_are_gone_or_hang() {
    run_all(&[
        Case {
            name: "a thread ended without unlock, its client's watchdog renews for ever",
            poll_ms: 2_000,
            rules: limited,
            run: |s| {
                let owner = format!("{UUID}:57");
                s.hash("job", &[(&owner, "1")], 30_000);
                assert!(s.wants_beside().contains(&Tells::Waiters));
                s.beside = vec![(Tells::Waiters, CompanionValue::Number(1))];
                s.renew_each(10_000, 30_000, 70);
                assert_eq!((s.lock().held, s.lock().waiters), (Some(true), Some(1)));
            },
            raises: &[Signal::HeldTooLong],
        },
        Case {
            name: "the same, found by what earlier holds taught, where tokens are said to be fresh",
            poll_ms: 2_000,
            rules: || LockRules { token: Some(TokenKind::PerAcquire), ..plain() },
            run: |s| {
                for k in 0..25 {
                    s.hash("job", &[(&format!("{UUID}:{k}"), "1")], 30_000);
                    s.advance(8_000);
                    s.vanish();
                    s.advance(3_000);
                }
                s.hash("job", &[(&format!("{UUID}:57"), "1")], 30_000);
                s.renew_each(10_000, 30_000, 12);
            },
            raises: &[Signal::HeldTooLong],
        },
        Case {
            name: "unlock happened and the renewal survived it",
            poll_ms: 200,
            rules: limited,
            run: |s| {
                s.hash("job", &[(&format!("{UUID}:57"), "1")], 1_000);
                s.renew_each(333, 1_000, 1_900);
            },
            raises: &[Signal::HeldTooLong],
        },
        Case {
            name: "the hold count climbs with each failed acquire after a failover",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                for k in 0..6 {
                    let owner = format!("{}:47", if k % 2 == 0 { UUID } else { OTHER });
                    s.hash("job", &[(&owner, "1")], 30_000);
                    s.advance(8_000);
                    s.vanish();
                    s.advance(2_000);
                }
                (s.run_id, s.connection) = (s.run_id + 1, s.connection + 1);
                for count in 1..=8 {
                    s.hash("job", &[(&format!("{UUID}:47"), &count.to_string())], 30_000);
                    s.renew_each(8_000, 30_000, 2);
                }
            },
            raises: &[Signal::HoldCountCreep],
        },
        Case {
            name: "kill -9 under a lock that never expires by default, held beyond the limit",
            poll_ms: 10_000,
            rules: limited,
            run: |s| unique_job(s, 900_000),
            raises: &[Signal::LeaseWithoutTtl, Signal::HeldTooLong],
        },
        Case {
            name: "the same while its job may still be queued, and nothing says how long is too long",
            poll_ms: 10_000,
            rules: matched,
            run: |s| unique_job(s, 3_600_000),
            raises: &[],
        },
        Case {
            name: "an OOM-killed worker with a TTL of two hours, which the owner index names",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                s.process = Some(running(7, 0));
                s.string("lock:pay:7", TOKEN, 7_200_000);
                s.index(&[(TOKEN, Some("celery-1"))]);
                s.advance(20_000);
                assert_eq!(s.signal(Signal::HolderStale), Some(false));
                s.process = Some(GONE);
                s.until_up(Signal::HolderStale, 4_100, 100, |_| {});
                s.advance(60_000);
                let lock = s.lock();
                assert!(lock.lost_seconds.unwrap() > 58.0);
                assert!((7_000.0..7_130.0).contains(&lock.remaining_seconds.unwrap()));
            },
            raises: &[Signal::HolderStale],
        },
        Case {
            name: "the same, attributed to nobody, by the holds before it",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                for k in 0..25 {
                    s.string("lock:pay:7", token(k), 7_200_000);
                    s.advance(9_000);
                    s.vanish();
                    s.advance(3_000);
                }
                s.string("lock:pay:7", token(99), 7_200_000);
                s.advance(60_000);
            },
            raises: &[Signal::HeldTooLong],
        },
        Case {
            name: "a unique lock of a job that does not exist runs down by itself",
            poll_ms: 10_000,
            rules: plain,
            run: |s| {
                let key = "unique:0123456789abcdef0123456789abcdef01234567";
                s.string(key, "b4a577edbccf1d805744efa9", 600_000);
                s.advance(700_000);
            },
            raises: &[],
        },
        Case {
            name: "a release that can never succeed",
            poll_ms: 2_000,
            rules: limited,
            run: |s| {
                s.string("lock", TOKEN, None);
                s.advance(700_000);
            },
            raises: &[Signal::LeaseWithoutTtl, Signal::HeldTooLong],
        },
    ]);
}

/// redis-py's `uuid1().hex`.
const TOKEN: &str = "86bb5074ebf111f1930402fc00000001";

fn token(n: u32) -> String {
    format!("{n:08x}ebf111f1930402fc00000001")
}

fn unique_job(s: &mut Sim, ms: u64) {
    let key = "uniquejobs:0123456789abcdef0123456789abcdef:RUN:LOCKED";
    s.hash(key, &[("b4a577edbccf1d805744efa9", "1604063413.6")], None);
    s.advance(ms);
}
