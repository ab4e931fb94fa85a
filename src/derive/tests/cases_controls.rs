//! What is healthy and looks odd: nothing may rise.

use std::time::Duration;

use super::cases::{Case, OTHER, UUID, matched, plain, run_all};
use super::sim::rules;
use crate::config::LockRules;
use crate::format::Raw;
use crate::observe::lock::Shape;

#[test]
fn renewals_at_the_last_moment_and_holds_of_a_moment() {
    run_all(&[
        Case {
            name: "a mutex that is renewed with a fifth of its lease left",
            poll_ms: 1_000,
            rules: matched,
            run: |s| {
                s.string("mutex:job", UUID, 10_000);
                s.renew_each(8_000, 10_000, 60);
            },
            raises: &[],
        },
        Case {
            name: "and with half a second left",
            poll_ms: 500,
            rules: matched,
            run: |s| {
                s.string("job", "0123456789abcdef4123456789abcdef", 10_000);
                s.renew_each(9_500, 10_000, 60);
            },
            raises: &[],
        },
        Case {
            name: "thousands of tokens, each for a moment",
            poll_ms: 500,
            rules: matched,
            run: |s| {
                for k in 0..4_000u64 {
                    s.string("job", format!("q3JvZ+Yw0a7LkT9uXc{k:04}=="), 8_000);
                    s.advance(5 + k * 7 % 46);
                    s.vanish();
                    s.advance(k * 13 % 90);
                }
            },
            raises: &[],
        },
        Case {
            name: "a lease time of its own, never renewed, released in time",
            poll_ms: 500,
            rules: plain,
            run: |s| {
                for k in 0..40 {
                    s.hash("job", &[(&format!("{UUID}:{k}"), "1")], 10_000);
                    s.advance(3_000);
                    s.vanish();
                    s.advance(700);
                }
            },
            raises: &[],
        },
        Case {
            name: "a hand-over between threads of one client",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                for k in 0..30 {
                    let thread = if k % 2 == 0 { 47 } else { 51 };
                    s.hash("job", &[(&format!("{UUID}:{thread}"), "1")], 30_000);
                    s.renew_each(10_000, 30_000, 2);
                    s.advance(1_700);
                }
            },
            raises: &[],
        },
        Case {
            name: "re-entrant work: the hold count rises and falls",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                for k in 0..200u64 {
                    let count = (1 + k % 6).to_string();
                    s.hash("job", &[(&format!("{UUID}:47"), &count)], 30_000);
                    s.advance(3_000);
                }
            },
            raises: &[],
        },
        Case {
            name: "polls that come late or not at all",
            poll_ms: 1_000,
            rules: matched,
            run: |s| {
                s.string("mutex:job", UUID, 10_000);
                for k in 0..60 {
                    s.is_asleep = k % 5 == 4;
                    s.advance(2_000);
                    s.is_asleep = false;
                    s.advance(6_000);
                    s.expire_in(10_000);
                }
            },
            raises: &[],
        },
        Case {
            name: "the exporter restarts and asks the token when it was taken",
            poll_ms: 1_000,
            rules: matched,
            run: |s| {
                let value = format!("ADDED:2026-11-29T12:00:00.500Z@host-a:{UUID}");
                s.string("job-lock:default:report", value, 600_000);
                s.advance(20_000);
                s.restart_exporter();
                s.advance(5_000);
                let lock = s.lock();
                assert!(lock.held_seconds.unwrap() < 6.0, "since it was first seen");
                assert_eq!(lock.counts.acquisitions, 0);
                assert_eq!(lock.holders[0].taken_at, Some(1_795_953_600.5));
                assert_eq!(lock.holders[0].host.as_deref(), Some("host-a"));
            },
            raises: &[],
        },
        Case {
            name: "and where it has to go by what the token or the hash says",
            poll_ms: 1_000,
            rules: matched,
            run: |s| {
                let unique = "uniquejobs:0123456789abcdef0123456789abcdef:LOCKED";
                s.string("lock:job", "86bb5074ebf111f1930402fc00000001", 600_000);
                s.restart_exporter();
                s.advance(3_000);
                let taken = s.lock().holders[0].taken_at.unwrap();
                assert!((taken - 1_795_955_800.526).abs() < 0.001, "{taken}");
                s.vanish();
                s.restart_exporter();
                s.hash(unique, &[("b4a577edbccf1d805744efa9", "1604063413.6")], None);
                s.advance(3_000);
                assert_eq!(s.lock().holders[0].taken_at, Some(1_604_063_413.6));
                assert!(s.lock().held_seconds.unwrap() < 4.0);
            },
            raises: &[],
        },
        Case {
            name: "the primary changes and nothing is lost",
            poll_ms: 1_000,
            rules,
            run: |s| {
                s.string("lock", "a:1", 30_000);
                s.renew_each(10_000, 30_000, 10);
                (s.run_id, s.connection) = (s.run_id + 1, s.connection + 1);
                s.renew_each(10_000, 30_000, 10);
            },
            raises: &[],
        },
    ]);
}

#[test]
fn values_that_are_no_hold() {
    run_all(&[
        Case {
            name: "an end inside the value, ahead, under a key that never expires",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                for _ in 0..10 {
                    let end = (s.server_ms() + 60_000).to_string();
                    s.string("JobLock", end, None);
                    s.advance(20_000);
                    assert_eq!(s.lock().held, Some(true));
                    s.vanish();
                    s.advance(5_000);
                }
                s.string("JobLock", (s.server_ms() - 5_000).to_string(), None);
                s.advance(5_000);
                assert_eq!(s.lock().held, Some(false));
            },
            raises: &[],
        },
        Case {
            name: "a writer that waits for readers",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                let token = "HOST_4711_0123456789abcdef0123456789abcdef";
                for _ in 0..10 {
                    s.string("rw.writer", format!("{token}_WRITERWAITING"), 30_000);
                    s.advance(9_000);
                    assert_eq!((s.lock().held, s.lock().waiters), (Some(false), Some(1)));
                }
                s.string("rw.writer", token, 30_000);
                s.renew_each(9_000, 30_000, 5);
                let lock = s.lock();
                assert_eq!((lock.held, lock.waiters), (Some(true), Some(0)));
                assert_eq!(lock.holders[0].pid, Some(4711));
            },
            raises: &[],
        },
        Case {
            name: "sorted sets of which all members are over",
            poll_ms: 1_000,
            rules: matched,
            run: |s| {
                let token = b"q3JvZ+Yw0a7LkT9uXc2hVb5Nq3JvZ+Yw0a7LkT9uXc0=";
                let end = s.server_ms() as f64 + 10_000.0;
                s.zset("resource", &[(token, end), (b"__write__", end)], 900_000);
                s.advance(5_000);
                assert_eq!((s.lock().held, s.lock().holders.len()), (Some(true), 1));
                s.advance(60_000);
                assert_eq!((s.lock().held, s.lock().holders.len()), (Some(false), 0));
            },
            raises: &[],
        },
        Case {
            name: "permits that are over, by another library's clock or by their own",
            poll_ms: 1_000,
            rules: || LockRules { lease: Some(Duration::from_secs(10)), ..matched() },
            run: |s| {
                // Whoever refreshes keeps the key; the other one's score is from long ago.
                let (now, of) = (s.server_ms() as f64, "semaphore:a");
                for k in 1..=8 {
                    let fresh = (OTHER.as_bytes(), s.server_ms() as f64);
                    s.zset(of, &[(UUID.as_bytes(), now - 1.0), fresh], 10_000);
                    s.advance(8_000);
                    let holders = if k == 1 { 2 } else { 1 };
                    assert_eq!((s.lock().held, s.lock().holders.len()), (Some(true), holders));
                }
                s.zset(of, &[(UUID.as_bytes(), now - 1.0)], 10_000);
                s.advance(1_000);
                assert_eq!((s.lock().held, s.lock().holders.len()), (Some(false), 0));
                s.vanish();
                s.advance(3_000);
                let token = b"HOST_4711_0123456789abcdef0123456789abcdef";
                s.zset("permits", &[(token, s.server_ms() as f64 - 1.0)], 90_000);
                s.advance(60_000);
                assert_eq!((s.lock().held, s.lock().counts.acquisitions), (Some(false), 2));
            },
            raises: &[],
        },
        Case {
            name: "tokens of any bytes",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                let tokens: [&[u8]; 5] = [
                    b"\xff\x00\xfe\n\"'\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d",
                    b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\xff",
                    b"\xc3\x28\xa0\xa1\xe2\x28\xa1\xe2\x82\x28\xf0\x28\x8c\xbc\xf0\x90",
                    b"a\"} 1\n{b}",
                    b"\xf0\x9f\x94\x92",
                ];
                for token in tokens {
                    s.string("{lock} \"a\"", token, 10_000);
                    s.renew_each(4_000, 10_000, 5);
                    assert_eq!(s.lock().holders.len(), 1);
                    s.vanish();
                    s.advance(2_100);
                }
            },
            raises: &[],
        },
        Case {
            name: "what stands beside locks, found by a pattern",
            poll_ms: 1_000,
            rules: matched,
            run: |s| {
                s.string("redisson_lock_token:{job}", "41", None);
                s.advance(5_000);
                s.put("redisson_lock_queue:{job}", Raw::Unread(Shape::List), None);
                s.advance(5_000);
                s.string("permits", "3", None);
                s.advance(5_000);
                s.string(
                    "redisson_unlock_latch:{job}:0123456789abcdef0123456789abcdef",
                    "0",
                    9_000,
                );
                s.advance(5_000);
                s.put("lock-signal:job", Raw::Unread(Shape::List), Some(1_000));
                s.advance(5_000);
                s.zset("redisson_lock_timeout:{job}", &[(b"waiter", 1e13)], None);
                s.advance(5_000);
                let store = &s.state.stores.values().next().unwrap();
                assert!(store.locks.values().all(|l| !l.is_lock()), "none of them is a lock");
                s.string("job", OTHER, 5_000);
                s.advance(2_000);
            },
            raises: &[],
        },
    ]);
}
