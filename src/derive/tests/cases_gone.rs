//! The holder is gone or has lost its mind, and the key stays.

use std::time::Duration;

use super::cases::{Case, GONE, OTHER, UUID, matched, plain, run_all};
use super::sim::{Sim, running};
use crate::config::{LockRules, TokenKind};
use crate::derive::{Liveness, Signal};
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
            name: "the same, by Sidekiq's own registry: in no queue, schedule, retry or work",
            poll_ms: 10_000,
            rules: matched,
            run: |s| {
                s.has_sidekiq();
                s.hash(UNIQUE, &[(JOB, "1604063413.6")], None);
                s.listed_for(600, &["web-1:42:aabbccddeeff", JOB]);
                assert_eq!(s.lock().liveness, Some(Liveness::Alive));
                assert_eq!(s.signal(Signal::HolderStale), Some(false));
                s.listed_for(50, &["web-1:42:aabbccddeeff"]);
                assert_eq!(s.signal(Signal::HolderStale), Some(false), "on its way perhaps");
                s.listed_for(50, &["web-1:42:aabbccddeeff"]);
                assert_eq!(s.lock().liveness, Some(Liveness::Unlisted));
                s.listed_for(3_600, &["web-1:42:aabbccddeeff"]);
            },
            raises: &[Signal::HolderStale],
        },
        Case {
            name: "a lock until the job is done, which waits in its queue for a day",
            poll_ms: 10_000,
            rules: matched,
            run: |s| {
                s.has_sidekiq();
                s.hash(&UNIQUE.replace(":RUN", ""), &[(JOB, "1604063413.6")], None);
                s.listed_for(86_400, &["web-1:42:aabbccddeeff", JOB]);
            },
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
                s.string(ENTERPRISE, JOB, 600_000);
                s.advance(700_000);
            },
            raises: &[],
        },
        Case {
            name: "the same while a registry is read: it tells, and by itself nobody is called",
            poll_ms: 10_000,
            rules: plain,
            run: |s| {
                s.has_sidekiq();
                s.string(ENTERPRISE, JOB, 600_000);
                s.listed_for(200, &["web-1:42:aabbccddeeff"]);
                let lock = s.lock();
                assert_eq!(lock.liveness, Some(Liveness::Unlisted));
                assert!(lock.lost_seconds.is_some() && lock.remaining_seconds.unwrap() > 300.0);
            },
            raises: &[],
        },
        Case {
            name: "and where the config says that such locks are released",
            poll_ms: 10_000,
            rules: || LockRules { ends_by_expiry: Some(false), ..plain() },
            run: |s| {
                s.has_sidekiq();
                s.string(ENTERPRISE, JOB, 600_000);
                s.listed_for(50, &["web-1:42:aabbccddeeff", JOB]);
                s.listed_for(150, &["web-1:42:aabbccddeeff"]);
                s.advance(500_000);
                assert_eq!(s.lock().held, Some(false));
            },
            raises: &[Signal::HolderStale],
        },
        Case {
            name: "a release that can never succeed, by a holder that lives",
            poll_ms: 2_000,
            rules: limited,
            run: |s| {
                s.process = Some(running(7, 0));
                s.string("lock", TOKEN, None);
                s.index(&[(TOKEN, Some("web-1"))]);
                s.advance(700_000);
                assert_eq!(s.lock().liveness, Some(Liveness::Alive));
                assert_eq!(s.signal(Signal::HolderStale), Some(false), "no orphan");
            },
            raises: &[Signal::LeaseWithoutTtl, Signal::HeldTooLong],
        },
    ]);
}

/// redis-py's `uuid1().hex`.
const TOKEN: &str = "86bb5074ebf111f1930402fc00000001";

const UNIQUE: &str = "uniquejobs:0123456789abcdef0123456789abcdef:RUN:LOCKED";
const ENTERPRISE: &str = "unique:0123456789abcdef0123456789abcdef01234567";
const JOB: &str = "b4a577edbccf1d805744efa9";

fn token(n: u32) -> String {
    format!("{n:08x}ebf111f1930402fc00000001")
}

fn unique_job(s: &mut Sim, ms: u64) {
    s.hash(UNIQUE, &[(JOB, "1604063413.6")], None);
    s.advance(ms);
}
