//! What went wrong in the field, as the commands that the libraries sent, at a faster clock where the report's leases are
//! long: each with the signals that it must raise, which are all that it may.

use super::{Case, JOB, OTHER, READERS, TASK, TOKEN, UUID, WEB, lapses, ms, repeat};
use crate::support::{Client, Metrics};

pub const INCIDENTS: &[Case] = &[
    Case {
        name: "1 a thread is gone and the watchdog renews for ever",
        entry: "key: job, max_hold: 8s",
        play: |c| {
            c.cmd(&["HSET", "job", &format!("{UUID}:57"), "1"]);
            c.cmd(&["PEXPIRE", "job", "3000"]);
            repeat(c, ms(1_000), |c, _| _ = c.cmd(&["PEXPIRE", "job", "3000"]));
        },
        raises: &["held_too_long"],
        shows: |m, l| m.sum("dlock_lease_renewals_total", l) >= 8.0,
    },
    Case {
        name: "2 unlocked, and the renewal survives it",
        entry: "key: cancelled, max_hold: 8s",
        play: |c| {
            c.cmd(&["HSET", "cancelled", &format!("{UUID}:58"), "1"]);
            c.cmd(&["PEXPIRE", "cancelled", "2000"]);
            repeat(c, ms(667), |c, _| _ = c.cmd(&["PEXPIRE", "cancelled", "2000"]));
        },
        raises: &["held_too_long"],
        shows: |m, l| m.is("dlock_lock_held", l, 1.0),
    },
    Case {
        name: "4 the count climbs with each failed acquire",
        entry: "key: climbing",
        play: |c| {
            let field = format!("{UUID}:47");
            c.cmd(&["HSET", "climbing", &field, "1"]);
            c.cmd(&["PEXPIRE", "climbing", "3000"]);
            repeat(c, ms(1_000), |c, n| {
                if n % 2 == 1 {
                    c.cmd(&["HINCRBY", "climbing", &field, "1"]);
                }
                c.cmd(&["PEXPIRE", "climbing", "3000"]);
            });
        },
        raises: &["hold_count_creep"],
        shows: |m, l| m.value("dlock_lock_reentrancy", l).is_some_and(|n| n >= 4.0),
    },
    Case {
        // Its process, which the owner index names, is killed.
        name: "5 kill -9 under a lock that never expires",
        entry: "key: 'uniquejobs:0123456789abcdef0123456789abcdef:RUN:LOCKED', max_hold: 8s",
        play: |c| {
            let key = "uniquejobs:0123456789abcdef0123456789abcdef:RUN";
            c.cmd(&["SET", key, JOB]);
            c.cmd(&["HSET", &format!("{key}:LOCKED"), JOB, "1604063413.6"]);
            c.cmd(&["ZADD", "uniquejobs:digests", "1604063413.6", key]);
        },
        raises: &["held_too_long", "holder_stale", "lease_without_ttl"],
        shows: |m, l| {
            liveness(m, l, "dead") && m.all("dlock_lease_remaining_seconds", l).is_empty()
        },
    },
    Case {
        name: "6 OOM-killed under a lease of two hours",
        entry: "key: 'lock:pay:7', format: redis-py",
        play: |c| _ = c.cmd(&["SET", "lock:pay:7", TASK, "NX", "PX", "7200000"]),
        raises: &["holder_stale"],
        shows: |m, l| {
            let left = m.value("dlock_lease_remaining_seconds", l);
            liveness(m, l, "dead") && left.is_some_and(|s| (7_100.0..7_200.0).contains(&s))
        },
    },
    Case {
        name: "10 no TTL on a lock that had 240 s",
        entry: "key: 'lock:x'",
        play: |c| {
            c.cmd(&["SET", "lock:x", "GxwErhZvp2QmLvacH/pVgjGj", "NX", "EX", "240"]);
            c.wait(ms(1_000));
            c.cmd(&["PERSIST", "lock:x"]);
        },
        raises: &["lease_without_ttl"],
        shows: |m, l| m.all("dlock_lease_remaining_seconds", l).is_empty(),
    },
    Case {
        name: "11 crashed between SETNX and EXPIRE",
        entry: "key: horizon",
        play: |c| _ = c.cmd(&["SETNX", "horizon", "1"]),
        raises: &["lease_without_ttl"],
        shows: |m, l| m.is("dlock_lock_held", l, 1.0),
    },
    Case {
        name: "12 no expiry by default, and the job was killed at its timeout",
        entry: "key: 'app-database-app-cache-laravel-queue-overlap:Send:7', max_hold: 8s",
        play: |c| {
            let key = "app-database-app-cache-laravel-queue-overlap:Send:7";
            c.cmd(&["SETNX", key, "aB3dE6gH9jK2mN5p"]);
        },
        raises: &["held_too_long", "lease_without_ttl"],
        shows: |m, l| m.value("dlock_lock_held_seconds", l).is_some_and(|s| s > 8.0),
    },
    Case {
        name: "13 a unit error makes it 634 years",
        entry: "key: memolock",
        play: |c| _ = c.cmd(&["SET", "memolock", OTHER, "NX", "PX", "19999999845000"]),
        raises: &["lease_absurd"],
        shows: |m, l| m.value("dlock_lease_remaining_seconds", l).is_some_and(|s| s > 1.9e10),
    },
    Case {
        name: "13 a minute became a thousand",
        entry: "key: 'lock:report', lease: 60s",
        play: |c| {
            let value = format!("{{\"holder\":\"{OTHER}\",\"resources\":[\"report\"]}}");
            c.cmd(&["SET", "lock:report", &value, "NX", "PX", "59999997"]);
        },
        raises: &["lease_absurd"],
        shows: |m, l| m.is("dlock_lock_held", l, 1.0),
    },
    Case {
        name: "15 its release can never succeed",
        entry: "key: decoded, format: redis-py, max_hold: 8s",
        play: |c| {
            c.cmd(&["SET", "decoded", WEB, "NX"]);
            // The holder is told each time that it is no longer the owner; the next one waits.
            repeat(c, ms(500), |c, _| _ = c.cmd(&["SET", "decoded", TASK, "NX"]));
        },
        raises: &["held_too_long", "lease_without_ttl"],
        shows: |m, l| liveness(m, l, "alive") && m.is("dlock_holder_stale", l, 0.0),
    },
    Case {
        // Two sample workers want it; the one that has it is stopped.
        name: "17 a pause longer than the lease",
        entry: r"key: paused, holder: '^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>\d+):'",
        play: |_| {},
        raises: &["holder_stale", "lease_shorter_than_stall", "renewal_overdue"],
        shows: |m, l| {
            let new = [l, &[("worker", "pause-b")]].concat();
            let old = [l, &[("worker", "pause-a")]].concat();
            m.is("dlock_lock_holder_info", &new, 1.0)
                && m.is("dlock_holder_stale", l, 0.0)
                && m.all("dlock_lock_previous_holder_info", &old).len() == 1
                && lapses(m, l) >= 1.0
                && m.sum("dlock_lease_ends_total", &[l, &[("evidence", "released")]].concat())
                    == 0.0
        },
    },
    Case {
        name: "18 a blocked event loop, and the job runs twice",
        entry: "key: 'bull:paint:1:lock'",
        play: |c| {
            let key = "bull:paint:1:lock";
            c.cmd(&["HSET", "bull:paint:1", "pb", "w1", "ats", "1"]);
            c.cmd(&["SET", key, &format!("{UUID}:1"), "PX", "4000"]);
            c.wait(ms(3_300));
            c.cmd(&["SADD", "bull:paint:stalled", "1"]);
            c.wait(ms(1_200));
            c.cmd(&["SREM", "bull:paint:stalled", "1"]);
            c.cmd(&["HSET", "bull:paint:1", "pb", "w2", "ats", "2", "stc", "1"]);
            let second = format!("{OTHER}:2");
            c.cmd(&["SET", key, &second, "PX", "4000"]);
            c.wait(ms(1_000));
            repeat(c, ms(1_000), |c, _| _ = c.cmd(&["SET", key, &second, "PX", "4000"]));
        },
        raises: &["renewal_overdue"],
        shows: |m, l| {
            let holds = |worker| [l, &[("worker", worker)]].concat();
            m.is("dlock_lock_holder_info", &holds("w2"), 1.0)
                && m.all("dlock_lock_previous_holder_info", &holds("w1")).len() == 1
                && lapses(m, l) == 1.0
        },
    },
    Case {
        name: "21 one late renewal among many, and a second one enters",
        entry: "key: pods",
        play: |c| {
            for (owner, renewals) in [(UUID, 7), (OTHER, u64::MAX)] {
                c.cmd(&["HSET", "pods", &format!("{owner}:47"), "1"]);
                c.cmd(&["PEXPIRE", "pods", "3000"]);
                for _ in 0..renewals {
                    if !c.wait(ms(1_000)) {
                        return;
                    }
                    c.cmd(&["PEXPIRE", "pods", "3000"]);
                }
                c.wait(ms(3_050));
            }
        },
        raises: &["renewal_overdue"],
        shows: |m, l| lapses(m, l) == 1.0 && m.is("dlock_lock_held", l, 1.0),
    },
    Case {
        name: "23 the extend timer is cancelled whoever has the lock",
        entry: "key: 'redlock:job', format: redlock-net",
        play: |c| {
            hand_over(c, "redlock:job", 2_000, |n| {
                format!("0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a{n:04x}")
            })
        },
        raises: &["lease_lapses_in_use", "renewal_overdue"],
        shows: |m, l| lapses(m, l) >= 3.0,
    },
    Case {
        name: "24 work longer than a fixed lease",
        entry: "key: fixed",
        play: |c| hand_over(c, "fixed", 1_500, |n| format!("q3JvZ+Yw0a7LkT9uXc{n:04}==")),
        raises: &["lease_lapses_in_use"],
        shows: |m, l| lapses(m, l) >= 3.0 && m.sum("dlock_lease_renewals_total", l) == 0.0,
    },
    Case {
        // The first reader's process is killed; the second one's tick renews both.
        name: "32 a dead reader that another instance keeps alive",
        entry: "key: zombie_test",
        play: |c| {
            let [a, b] = READERS;
            c.cmd(&["HSET", "zombie_test", "mode", "read", a, "1", b, "1"]);
            let own = |reader| format!("{{zombie_test}}:{reader}:rwlock_timeout:1");
            let tick = |c: &mut Client| {
                c.cmd(&["PEXPIRE", "zombie_test", "6000"]);
                for reader in READERS {
                    c.cmd(&["SET", &own(reader), "1", "PX", "6000"]);
                }
            };
            tick(c);
            repeat(c, ms(2_000), |c, _| tick(c));
        },
        raises: &["holder_stale", "renewal_after_lost_liveness"],
        shows: |m, l| m.is("dlock_lock_holders", l, 2.0) && liveness(m, l, "dead"),
    },
    Case {
        name: "33 the number of a semaphore under the key of a read-write lock",
        entry: "key: resolver",
        play: |c| {
            let reader = format!("{UUID}:77");
            c.cmd(&["SET", &format!("{{resolver}}:{reader}:rwlock_timeout:1"), "1", "PX", "30000"]);
            c.cmd(&["HSET", "resolver", "mode", "read", &reader, "1"]);
            c.cmd(&["PEXPIRE", "resolver", "30000"]);
            c.wait(ms(2_000));
            c.cmd(&["DEL", "resolver"]);
            c.cmd(&["SET", "resolver", "5"]);
        },
        raises: &["lease_without_ttl", "shape_unexpected"],
        shows: |m, l| m.is("dlock_shape_unexpected", l, 1.0),
    },
    Case {
        name: "33 a cached document where a hash is declared",
        entry: "key: cached, format: redisson",
        play: |c| _ = c.cmd(&["SET", "cached", "{\"name\":\"Bob\"}", "EX", "6000"]),
        raises: &["shape_unexpected"],
        shows: |m, l| m.value("dlock_lock_held", l).is_none(),
    },
    Case {
        name: "35 nobody holds the singleton",
        entry: "key: 'redbeat::lock', expect: always_held",
        play: |c| {
            c.cmd(&["SET", "redbeat::lock", TOKEN, "NX", "PX", "5000"]);
            for _ in 0..4 {
                c.wait(ms(1_000));
                c.cmd(&["PEXPIRE", "redbeat::lock", "5000"]);
            }
            c.cmd(&["DEL", "redbeat::lock"]);
        },
        raises: &["unheld"],
        shows: |m, l| m.is("dlock_lock_held", l, 0.0) && m.is("dlock_unheld", l, 1.0),
    },
];

/// Owner after owner, each for a lease that runs out, the next one within a tenth of a second.
fn hand_over(c: &mut Client, key: &str, lease: u64, token: impl Fn(u64) -> String) {
    repeat(c, ms(lease + 80), |c, n| {
        c.cmd(&["SET", key, &token(n), "NX", "PX", &lease.to_string()]);
    });
}

fn liveness(m: &Metrics, lock: &[(&str, &str)], state: &str) -> bool {
    m.is("dlock_holder_liveness", &[lock, &[("state", state)]].concat(), 1.0)
}
