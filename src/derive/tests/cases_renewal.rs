//! Renewals that come late, starve or stop, and leases that are too short for the work.

use super::cases::{Case, GONE, OTHER, UUID, matched, plain, run_all};
use super::sim::{Sim, in_state, rules, running};
use crate::config::LockRules;
use crate::derive::{Evidence, Signal};
use crate::observe::lock::{CompanionValue, Tells};
use crate::observe::worker::ProcessState;

#[test]
fn renewals_that_stop() {
    run_all(&[
        Case {
            name: "a pause that is longer than the lease",
            poll_ms: 500,
            rules,
            run: |s| {
                s.process = Some(running(7, 0));
                s.string("lock", "a:1", 5_000);
                s.renew_each(4_000, 5_000, 8);
                s.processes.insert("a".into(), in_state(7, 0, ProcessState::Stopped));
                let took = s.until_up(Signal::RenewalOverdue, 5_000, 10, |_| {});
                assert!((4_400..4_700).contains(&took), "{took}");
                s.advance(5_000 - took + 100);
                s.string("lock", "b:1", 5_000);
                s.advance(2_000);
                let lock = s.lock();
                assert_eq!(s.ends(Evidence::Lapsed), 1, "{:#?}", lock.transitions);
                assert_eq!(lock.counts.expired_under_holder.unwrap()[1].1, 1);
                assert_eq!(&*lock.holders[0].worker, "b");
                assert_eq!(s.signal(Signal::HolderStale), Some(false));
            },
            raises: &[Signal::HolderStale, Signal::RenewalOverdue],
        },
        Case {
            name: "a blocked event loop, the job runs twice",
            poll_ms: 500,
            rules: matched,
            run: |s| {
                s.process = Some(running(7, 0));
                let beside = |worker: &str, stalled| {
                    let worker = CompanionValue::Text(worker.into());
                    vec![(Tells::Worker, worker), (Tells::Stalled, CompanionValue::Number(stalled))]
                };
                let key = "bull:paint:1:lock";
                s.beside = beside("w1", 0);
                s.string(key, format!("{UUID}:1"), 4_000);
                assert_eq!(s.wants_beside(), [Tells::Worker, Tells::Stalled]);
                s.advance(2_000);
                s.expire_in(4_000);
                s.renew_each(1_000, 4_000, 10);
                s.beside = beside("w1", 1);
                s.advance(900);
                let noted =
                    |s: &Sim| s.lock().transitions.iter().any(|t| t.what == "noted_stalled");
                assert!(!noted(s), "each is marked between two renewals");
                s.expire_in(4_000);
                let took = s.until_up(Signal::RenewalOverdue, 4_000, 10, |_| {});
                assert!((2_400..=2_700).contains(&took), "{took}");
                s.advance(4_500 - took);
                let lock = s.lock();
                assert_eq!(lock.held, Some(false));
                assert_eq!(lock.counts.expired_under_holder.unwrap()[0].1, 1);
                assert!(noted(s));
                s.beside = beside("w2", 0);
                s.string(key, format!("{OTHER}:2"), 4_000);
                s.advance(1_500);
                assert_eq!(&*s.lock().holders[0].worker, "w2");
                assert_eq!(&*s.lock().previous.unwrap().0, "w1");
            },
            raises: &[Signal::RenewalOverdue],
        },
        Case {
            name: "a loop that is blocked from the first renewal on, as it was captured",
            poll_ms: 500,
            rules: matched,
            run: |s| {
                let key = "bull:paint:1:lock";
                s.string(key, format!("{UUID}:1"), 4_000);
                // By half of the lease it should have renewed; a quarter of it is left.
                let took = s.until_up(Signal::RenewalOverdue, 4_000, 10, |_| {});
                assert!((2_950..3_100).contains(&took), "{took}");
                s.advance(4_100 - took);
                assert_eq!(s.lock().held, Some(false));
                s.string(key, format!("{OTHER}:2"), 4_000);
                s.advance(1_400);
                assert_eq!(s.ends(Evidence::Lapsed), 1);
            },
            raises: &[Signal::RenewalOverdue],
        },
        Case {
            name: "a renew thread that ended at its first exception",
            poll_ms: 2_000,
            rules: matched,
            run: |s| {
                s.process = Some(running(7, 0));
                s.string("lock:job", "GxwErhZvp2QmLvacH/pVgjGj", 60_000);
                s.index(&[("GxwErhZvp2QmLvacH/pVgjGj", Some("rq-1"))]);
                s.renew_each(40_000, 60_000, 6);
                let took = s.until_up(Signal::RenewalOverdue, 60_000, 50, |_| {});
                assert!((48_000..52_100).contains(&took), "ten seconds before the end: {took}");
                s.advance(12_000);
                s.string("lock:job", "q3JvZ+Yw0a7LkT9uXc2hVb5N", 60_000);
                s.advance(10_000);
                assert_eq!(s.lock().counts.ends[1], (Evidence::Lapsed, 1));
            },
            raises: &[Signal::RenewalOverdue],
        },
        Case {
            name: "one late renewal among many, and a second owner enters",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                s.hash("job", &[(&format!("{UUID}:47"), "1")], 30_000);
                s.renew_each(10_000, 30_000, 30);
                let took = s.until_up(Signal::RenewalOverdue, 30_000, 50, |_| {});
                assert!((19_500..21_000).contains(&took), "{took}");
                s.advance(31_000 - took);
                s.hash("job", &[(&format!("{OTHER}:51"), "1")], 30_000);
                s.renew_each(10_000, 30_000, 3);
            },
            raises: &[Signal::RenewalOverdue],
        },
        Case {
            name: "an extend timer that was cancelled, whoever has the lock",
            poll_ms: 2_000,
            rules: || LockRules { format: Some("redlock-net".into()), ..plain() },
            run: |s| {
                for k in 0..5 {
                    let token = format!("0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f{k:02}");
                    s.string("redlock:job", token, 120_000);
                    s.advance(120_100);
                }
            },
            raises: &[Signal::RenewalOverdue, Signal::LeaseLapsesInUse],
        },
        Case {
            name: "the same where nothing says whose locks these are",
            poll_ms: 2_000,
            rules: matched,
            run: |s| {
                for k in 0..20 {
                    let token = format!("0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f{k:02}");
                    s.string("redlock:job", token, 120_000);
                    // Taken at once it is renewed; taken from somebody it never is.
                    if k < 10 {
                        s.renew_each(60_000, 120_000, 3);
                        s.vanish();
                        s.advance(9_000);
                    } else {
                        s.advance(120_100);
                    }
                }
            },
            raises: &[Signal::LeaseLapsesInUse],
        },
        Case {
            name: "work that is longer than a lease that nobody renews",
            poll_ms: 2_000,
            rules: plain,
            run: |s| hand_over(s, 6, 90),
            raises: &[Signal::LeaseLapsesInUse],
        },
        Case {
            name: "the same twice only",
            poll_ms: 2_000,
            rules: plain,
            run: |s| {
                hand_over(s, 2, 90);
                s.vanish();
                s.advance(10_000);
            },
            raises: &[],
        },
        Case {
            name: "leases that are left to run out, and nobody wants the lock for long",
            poll_ms: 2_000,
            rules: plain,
            run: |s| hand_over(s, 6, 20_000),
            raises: &[],
        },
        Case {
            name: "a schedule lock that is taken again as soon as it may be",
            poll_ms: 2_000,
            rules: matched,
            run: |s| {
                for k in 0..6 {
                    let value = format!("ADDED:2026-11-29T12:00:0{k}.000Z@host-a:{UUID}");
                    s.string("job-lock:default:report", value, 45_000);
                    s.advance(45_090);
                }
            },
            raises: &[],
        },
        Case {
            name: "a holder that died and left its lease to run out",
            poll_ms: 500,
            rules,
            run: |s| {
                s.process = Some(running(7, 0));
                s.string("lock", "a:1", 20_000);
                s.advance(3_000);
                s.processes.insert("a".into(), GONE);
                s.advance(20_000);
                let lock = s.lock();
                assert_eq!((lock.held, s.ends(Evidence::Lapsed)), (Some(false), 1));
                assert!(lock.counts.expired_under_holder.unwrap().iter().all(|(_, n)| *n == 0));
                assert!((15.0..18.0).contains(&lock.overrun_seconds.unwrap()));
            },
            raises: &[Signal::HolderStale],
        },
    ]);
}

/// Owners that each let their lease of 45 s run out, the next one so long after.
fn hand_over(s: &mut Sim, times: u32, gap_ms: u64) {
    for k in 0..times {
        s.string("lock", format!("q3JvZ+Yw0a7LkT9uXc2h{k:02}=="), 45_000);
        s.advance(45_000 + gap_ms);
    }
}
