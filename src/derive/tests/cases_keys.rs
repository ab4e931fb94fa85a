//! Locks of many holders, keys that two libraries share, keys beside the lock, and locks that nobody holds.

use std::sync::Arc;

use super::cases::{Case, GONE, OTHER, UUID, matched, plain, run_all};
use super::sim::{Sim, running};
use crate::config::LockRules;
use crate::derive::{Evidence, Liveness, Signal};
use crate::format::Raw;
use crate::observe::lock::{CompanionValue, Shape, Tells};
use crate::observe::{Expiry, ServerTime};
use crate::view::BlindReason;

#[test]
fn readers_and_permits() {
    run_all(&[
        Case {
            name: "a dead reader that another instance keeps alive",
            poll_ms: 2_000,
            rules: plain,
            run: |s| zombie_reader(s, true),
            raises: &[Signal::RenewalAfterLostLiveness, Signal::HolderStale],
        },
        Case {
            name: "a dead reader whose own key runs out",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                zombie_reader(s, false);
                let lock = s.lock();
                assert_eq!((lock.holders.len(), lock.liveness), (1, Some(Liveness::Alive)));
                assert_eq!(s.signal(Signal::HolderStale), Some(false));
            },
            raises: &[Signal::HolderStale, Signal::RenewalOverdue],
        },
        Case {
            name: "a writer whose lease is the key's",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                let field = format!("{UUID}:47:write");
                s.hash("rw", &[("mode", "write"), (&field, "1")], 30_000);
                s.renew_each(10_000, 30_000, 12);
                s.advance(2_100);
                assert_eq!(s.lock().counts.renewals, 12);
                s.until_up(Signal::RenewalOverdue, 22_000, 100, |_| {});
            },
            raises: &[Signal::RenewalOverdue],
        },
        Case {
            name: "a write lock taken again and again adds to its lease",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                let field = format!("{UUID}:47:write");
                for count in 1..=5i64 {
                    let n = count.to_string();
                    s.hash("rw", &[("mode", "write"), (&field, &n)], 30_000 * count);
                    s.advance(5_000);
                }
                assert_eq!(s.lock().counts.renewals, 0);
                assert_eq!(s.lock().holders[0].count, 5);
            },
            raises: &[],
        },
        Case {
            name: "readers in a set, whose key each of them keeps for all",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                let (a, b) = (MEDALLION, "HOST_4712_fedcba9876543210fedcba9876543210");
                for _ in 0..5 {
                    s.set("rw.readers", &[a, b], 30_000);
                    s.advance(9_000);
                }
                s.set("rw.readers", &[a], 30_000);
                s.advance(5_000);
                let lock = s.lock();
                assert_eq!((lock.holders.len(), lock.counts.renewals), (1, 0));
                assert_eq!(lock.holders[0].pid, Some(4711));
                assert_eq!(s.ends(Evidence::Released), 1, "{:#?}", lock.transitions);
                s.advance(30_000);
                assert_eq!((s.lock().held, s.ends(Evidence::Lapsed)), (Some(false), 1));
            },
            raises: &[],
        },
        Case {
            name: "a unique job's lock that turns out to let two in",
            poll_ms: 2_000,
            rules: matched,
            run: |s| {
                let key = "uniquejobs:0123456789abcdef0123456789abcdef:LOCKED";
                let (a, b) = ("b4a577edbccf1d805744efa9", "c4a577edbccf1d805744efaa");
                let (at_a, at_b) = ((a, "1604063413.6"), (b, "1604063500.1"));
                for fields in [&[at_a][..], &[at_a, at_b], &[at_b]] {
                    s.hash(key, fields, None);
                    s.advance(20_000);
                    assert_eq!(s.lock().holders.len(), fields.len());
                }
                let lock = s.lock();
                assert_eq!(lock.counts.acquisitions, 2, "{:#?}", lock.transitions);
                assert_eq!(lock.holders[0].taken_at, Some(1_604_063_500.1));
            },
            raises: &[],
        },
    ]);
}

const MEDALLION: &str = "HOST_4711_0123456789abcdef0123456789abcdef";

/// Two readers, of which the first dies; whether the other's ticks renew its key too.
fn zombie_reader(s: &mut Sim, is_kept: bool) {
    let (a, b) = (format!("{UUID}:1"), format!("{OTHER}:1"));
    s.process = Some(running(7, 0));
    s.hash("{rw}", &[("mode", "read"), (&a, "1"), (&b, "1")], 30_000);
    s.index(&[(&a, Some("a")), (&b, Some("b"))]);
    assert_eq!(s.wants_beside(), [Tells::HolderExpiry(0), Tells::HolderExpiry(1)]);
    let mut own = [0; 2];
    for k in 0..30 {
        let until = s.server_ms() + 30_000;
        own[1] = until;
        if is_kept || k < 10 {
            own[0] = until;
        }
        let beside = |i: u16, ms: i64| {
            let until = CompanionValue::Until(Expiry::At(ServerTime::from_ms(ms)));
            (Tells::HolderExpiry(i), until)
        };
        s.beside = vec![beside(0, own[0]), beside(1, own[1])];
        s.expire_in(30_000);
        s.advance(10_000);
        if k == 9 {
            assert_eq!((s.lock().holders.len(), s.lock().liveness), (2, Some(Liveness::Alive)));
            s.processes.insert("a".into(), GONE);
        }
    }
}

#[test]
fn keys_of_the_wrong_kind() {
    run_all(&[
        Case {
            name: "a string where the config declares a hash",
            poll_ms: 2_000,
            rules: || LockRules { format: Some("redisson".into()), ..plain() },
            run: |s| {
                s.string("lock", "3", None);
                s.until_up(Signal::ShapeUnexpected, 2_100, 100, |_| {});
                let lock = s.lock();
                assert!(lock.fresh && lock.held.is_none() && lock.holders.is_empty());
                assert!(lock.blind.iter().any(|(_, r)| *r == BlindReason::Unsupported));
                let judged = lock.signals.iter().filter(|(_, v)| v.is_some()).count();
                assert_eq!(judged, 1, "nothing else can be said");
                s.hash("lock", &[(&format!("{UUID}:47"), "1")], 30_000);
                s.advance(3_000);
                assert_eq!(s.signal(Signal::ShapeUnexpected), Some(false));
                assert_eq!(s.lock().held, Some(true));
            },
            raises: &[Signal::ShapeUnexpected],
        },
        Case {
            name: "a semaphore's number under a read-write lock's key",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                s.hash("lock", &[("mode", "read"), (&format!("{UUID}:1"), "1")], 30_000);
                s.advance(9_000);
                s.string("lock", "5", None);
                s.advance(9_000);
            },
            raises: &[Signal::LeaseWithoutTtl, Signal::ShapeUnexpected],
        },
        Case {
            name: "a cached document under the lock's key",
            poll_ms: 2_000,
            rules: matched,
            run: |s| {
                s.string("lock", UUID, 10_000);
                s.advance(5_000);
                s.string("lock", "{\"name\":\"Bob\"}", 6_000_000);
                s.advance(9_000);
            },
            raises: &[Signal::ShapeUnexpected],
        },
        Case {
            name: "a list, which nobody reads",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                s.string("lock", UUID, 10_000);
                s.advance(5_000);
                s.put("lock", Raw::Unread(Shape::List), None);
                s.until_up(Signal::ShapeUnexpected, 9_000, 100, |_| {});
                s.vanish();
                s.advance(3_000);
                assert_eq!(s.signal(Signal::ShapeUnexpected), Some(false));
                assert_eq!(s.lock().held, Some(false));
            },
            raises: &[Signal::ShapeUnexpected],
        },
        Case {
            name: "another guess of the library is no other shape",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                for k in 0..20 {
                    let uuid = format!("0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f{k:02}");
                    let random: Vec<u8> = (0..20).map(|i| 128 + (k * 7 + i) as u8 % 100).collect();
                    s.string("lock", if k % 2 == 0 { uuid.as_bytes() } else { &random }, 10_000);
                    s.advance(9_000);
                    s.vanish();
                    s.advance(2_100);
                }
            },
            raises: &[],
        },
    ]);
}

#[test]
fn locks_that_nobody_holds_or_somebody_else() {
    run_all(&[
        Case {
            name: "the singleton scheduler's lock is free",
            poll_ms: 2_000,
            rules: || LockRules { always_held: true, ..plain() },
            run: |s| {
                s.string("redbeat::lock", "86bb5074ebf111f1930402fc00000001", 25_000);
                s.renew_each(5_000, 25_000, 10);
                s.vanish();
                let took = s.until_up(Signal::Unheld, 40_000, 100, |_| {});
                assert!((25_000..=33_000).contains(&took), "{took}");
            },
            raises: &[Signal::Unheld],
        },
        Case {
            name: "a fair lock is free although somebody waits for it",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                s.hash("fair", &[(&format!("{UUID}:47"), "1")], 30_000);
                s.beside = vec![(Tells::Waiters, CompanionValue::Number(2))];
                s.advance(5_000);
                s.vanish();
                let took = s.until_up(Signal::Unheld, 9_000, 100, |_| {});
                assert!((2_000..=6_100).contains(&took), "{took}");
                s.hash("fair", &[(&format!("{OTHER}:1"), "1")], 30_000);
                s.advance(2_100);
                assert_eq!(s.signal(Signal::Unheld), Some(false));
                assert!(s.lock().counts.waiting_seconds.unwrap() > 5.0);
            },
            raises: &[Signal::Unheld],
        },
        Case {
            name: "a busy fair lock is free for a moment at each hand-over",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                s.beside = vec![(Tells::Waiters, CompanionValue::Number(2))];
                let mut x = 7u64;
                for k in 0..20_000u64 {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    s.hash("fair", &[(&format!("{UUID}:{k}"), "1")], 30_000);
                    s.advance(20 + (x >> 33) % 60);
                    s.vanish();
                    s.advance(1 + (x >> 40) % 12);
                }
            },
            raises: &[],
        },
        Case {
            name: "held by a worker that nobody expects",
            poll_ms: 2_000,
            rules: || expected(&["a", "b"]),
            run: |s| {
                s.string("lock", "a:1", 10_000);
                s.advance(3_000);
                assert_eq!(s.signal(Signal::HolderUnexpected), Some(false));
                s.string("lock", "opaque", 10_000);
                s.advance(3_000);
                assert_eq!(s.signal(Signal::HolderUnexpected), None);
                let lost = &s.lock().coverage_lost;
                assert!(lost.iter().any(|(_, r)| *r == BlindReason::OpaqueToken), "{lost:?}");
                s.vanish();
                s.advance(3_000);
                assert_eq!(s.signal(Signal::HolderUnexpected), Some(false));
                s.string("lock", "c:1", 10_000);
                s.advance(3_000);
                assert_eq!(s.signal(Signal::HolderUnexpected), Some(true));
            },
            raises: &[Signal::HolderUnexpected],
        },
    ]);
}

fn expected(workers: &[&str]) -> LockRules {
    LockRules {
        workers: workers.iter().map(|w| Arc::from(*w)).collect(),
        holder: Some(crate::config::Pattern(
            regex::bytes::Regex::new("^(?P<worker>[^:]+):").unwrap(),
        )),
        ..plain()
    }
}
