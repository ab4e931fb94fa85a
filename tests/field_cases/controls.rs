//! What is healthy and looks odd, as the commands that the libraries send: nothing may rise. Those of renewals in each
//! library's rhythm, with a missed one at the end, are in `controls` of the suite.

use super::{Case, OTHER, TOKEN, UUID, ms, repeat};
use crate::support::Metrics;

pub const CONTROLS: &[Case] = &[
    Case {
        name: "c1 renewed with a fifth of the lease left",
        entry: "key: 'mutex:job'",
        play: |c| {
            c.cmd(&["SET", "mutex:job", UUID, "NX", "PX", "5000"]);
            repeat(c, ms(4_000), |c, _| _ = c.cmd(&["PEXPIRE", "mutex:job", "5000"]));
        },
        raises: &[],
        shows: |m, l| m.sum("dlock_lease_renewals_total", l) >= 3.0,
    },
    Case {
        name: "c3 held for a moment by owner after owner",
        entry: "key: moments",
        play: |c| {
            repeat(c, ms(0), |c, n| {
                c.cmd(&[
                    "SET",
                    "moments",
                    &format!("q3JvZ+Yw0a7LkT9u{n:06}=="),
                    "NX",
                    "PX",
                    "8000",
                ]);
                c.wait(ms(5 + n * 7 % 46));
                c.cmd(&["DEL", "moments"]);
                c.wait(ms(n * 13 % 40));
            });
        },
        raises: &[],
        shows: |m, l| m.sum("dlock_lock_acquisitions_total", l) >= 20.0,
    },
    Case {
        name: "c4 a lease time of its own, released before",
        entry: "key: explicit",
        play: |c| {
            repeat(c, ms(300), |c, n| {
                c.cmd(&["HSET", "explicit", &format!("{UUID}:{n}"), "1"]);
                c.cmd(&["PEXPIRE", "explicit", "4000"]);
                c.wait(ms(1_200));
                c.cmd(&["DEL", "explicit"]);
            });
        },
        raises: &[],
        shows: |m, l| m.sum("dlock_lock_acquisitions_total", l) >= 5.0,
    },
    Case {
        name: "c6 handed over between threads of one client",
        entry: "key: threads",
        play: |c| {
            let script = "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], ARGV[1], 1) \
                          redis.call('PEXPIRE', KEYS[1], 30000)";
            repeat(c, ms(700), |c, n| {
                let owner = format!("{UUID}:{}", [47, 51][(n % 2) as usize]);
                c.cmd(&["EVAL", script, "1", "threads", &owner]);
            });
        },
        raises: &[],
        shows: |m, l| m.sum("dlock_lock_acquisitions_total", l) >= 10.0,
    },
    Case {
        name: "c10 its end is inside the value",
        entry: "key: JobLock",
        play: |c| {
            repeat(c, ms(400), |c, _| {
                let time: Vec<String> = redis::from_redis_value(c.cmd(&["TIME"])).expect("a time");
                let end = time[0].parse::<u64>().expect("seconds") * 1_000 + 60_000;
                c.cmd(&["SETNX", "JobLock", &end.to_string()]);
                c.wait(ms(1_700));
                c.cmd(&["DEL", "JobLock"]);
            });
        },
        raises: &[],
        shows: |m, l| m.sum("dlock_lock_acquisitions_total", l) >= 3.0,
    },
    Case {
        name: "c11 a writer waits for readers and gets in",
        entry: "key: rw.writer",
        play: |c| {
            let token = "HOST_4711_0123456789abcdef0123456789abcdef";
            let waiting = format!("{token}_WRITERWAITING");
            c.cmd(&["SET", "rw.writer", &waiting, "NX", "PX", "9000"]);
            for _ in 0..3 {
                c.wait(ms(1_000));
                c.cmd(&["PEXPIRE", "rw.writer", "9000"]);
            }
            c.cmd(&["SET", "rw.writer", token, "PX", "9000"]);
            repeat(c, ms(2_700), |c, _| _ = c.cmd(&["PEXPIRE", "rw.writer", "9000"]));
        },
        raises: &[],
        shows: |m, l| {
            // While it waited the lock was free.
            let free = m.value("dlock_lock_free_seconds_total", l);
            m.is("dlock_lock_held", l, 1.0) && free.is_some_and(|s| s > 2.0)
        },
    },
    Case {
        name: "c13 a sorted set of which all members are over",
        entry: "key: resource",
        play: |c| {
            let token = "q3JvZ+Yw0a7LkT9uXc2hVb5Nq3JvZ+Yw0a7LkT9uXc0=";
            c.cmd(&["ZADD", "resource", "1795955800526", token, "1795955800526", "__write__"]);
            c.cmd(&["ZADD", "resource", "1500000000000", token, "1500000000000", "__write__"]);
            c.cmd(&["PEXPIRE", "resource", "900000"]);
        },
        raises: &[],
        shows: |m, l| m.is("dlock_lock_held", l, 0.0),
    },
    Case {
        name: "c14 debris of rounds that failed elsewhere",
        entry: "key: debris",
        play: |c| {
            repeat(c, ms(250), |c, n| {
                c.cmd(&[
                    "SET",
                    "debris",
                    &format!("0123456789abcdef4123456789{n:06x}"),
                    "NX",
                    "PX",
                    "8000",
                ]);
                c.wait(ms(40 + n * 37 % 600));
                c.cmd(&["DEL", "debris"]);
            });
        },
        raises: &[],
        shows: |m, l| m.sum("dlock_lock_acquisitions_total", l) >= 8.0,
    },
    Case {
        name: "c15 a token of any bytes under a key of any",
        entry: r#"key: '{lock} "a" b'"#,
        play: |c| {
            let set = [
                &b"SET"[..],
                b"{lock} \"a\" b",
                b"\xff\x00\xfe\n\"'\x80\x81rslock\x00of 20",
                b"PX",
                b"9000",
            ];
            c.cmd(&set);
            repeat(c, ms(1_500), |c, _| _ = c.cmd(&set));
        },
        raises: &[],
        shows: |m, l| m.sum("dlock_lease_renewals_total", l) >= 6.0 && one_holder(m, l),
    },
    Case {
        name: "c16 a key that is set and expires in two commands",
        entry: "key: two-steps",
        play: |c| {
            repeat(c, ms(200), |c, _| {
                c.cmd(&["SETNX", "two-steps", "1"]);
                c.wait(ms(2));
                c.cmd(&["PEXPIRE", "two-steps", "9000"]);
                c.wait(ms(500));
                c.cmd(&["DEL", "two-steps"]);
            });
        },
        raises: &[],
        shows: |m, l| m.sum("dlock_lock_acquisitions_total", l) >= 10.0,
    },
    Case {
        // In another database the same key goes through other hands; see `the_other_database`.
        name: "c19 the same name in two databases",
        entry: "key: twice, format: redis-py",
        play: |c| {
            c.cmd(&["SET", "twice", TOKEN, "NX", "PX", "9000"]);
            repeat(c, ms(1_500), |c, _| _ = c.cmd(&["PEXPIRE", "twice", "9000"]));
        },
        raises: &[],
        shows: |m, l| {
            let other = [("store", "five"), ("lock", "twice")];
            m.sum("dlock_lease_renewals_total", l) >= 6.0
                && m.sum("dlock_lock_acquisitions_total", l) == 1.0
                && m.sum("dlock_lock_acquisitions_total", &other) >= 5.0
                && m.sum("dlock_lease_renewals_total", &other) == 0.0
        },
    },
];

/// Keys beside locks, which a pattern finds: none of them is one.
pub const BESIDE: &[&[&str]] = &[
    &["RPUSH", "redisson_lock_queue:{job}", "0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f10:2"],
    &["ZADD", "redisson_lock_timeout:{job}", "1895955800526", OTHER],
    &["SET", "redisson_lock_token:{job}", "17"],
    &["SET", "redisson_unlock_latch:{job}:0123456789abcdef0123456789abcdef", "0", "PX", "60000"],
    &["RPUSH", "lock-signal:job", "1"],
    &["SET", "semaphore-permits", "3"],
    &["SADD", "bull:q:stalled", "1"],
];

fn one_holder(m: &Metrics, lock: &[(&str, &str)]) -> bool {
    m.is("dlock_lock_holders", lock, 1.0)
}
