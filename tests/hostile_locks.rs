//! Keys that are locks, and that somebody changes to deceive: crowds that grow beyond all bounds and shrink again, scores and
//! expiries at the ends of their range, owners and types that flap, counters that are now a number and now none. The
//! exporter claims nothing of them that is not so, and a good lock beside them is watched all the time. For keys that were
//! odd from the start see `hostile`.

use std::time::Duration;

use crate::support::{
    Driver, Exporter, Metrics, RedisServer, RedisSetup, Sampler, acl_line_of_the_readme,
    promtool_accepts, redis_py_token,
};

const SOON: Duration = Duration::from_secs(20);
const UUID: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162";
/// What the exporter may use of memory, as in `hostile`.
const MOST_MEMORY: f64 = 150e6;

// A feed would show values that stand for an instant only, and those that are too large are left alone from then on.
fn config(server: &RedisServer) -> String {
    format!(
        "poll_interval: 500ms
stores:
  main:
    url: {}
    username: dlock
    events: off
    locks:
      - {{ name: good, key: good }}
      - {{ name: crowd, key: crowd, limit: 3, max_hold: 1h }}
      - {{ name: hash, key: hash }}
      - {{ name: flaps, key: flaps }}
      - {{ name: types, key: types }}
      - {{ name: far, key: far }}
      - {{ name: tail, key: tail }}
      - {{ name: fenced, key: fenced }}
",
        server.url()
    )
}

fn at(lock: &str) -> [(&'static str, &str); 2] {
    [("store", "main"), ("lock", lock)]
}

fn holders(m: &Metrics, lock: &str) -> Option<f64> {
    m.value("dlock_lock_holders", &at(lock))
}

/// It says that it cannot tell, and claims nothing else.
fn is_withheld(m: &Metrics, lock: &str) -> bool {
    let lost = [("lock", lock), ("aspect", "lease"), ("reason", "unsupported")];
    m.is("dlock_coverage_lost", &lost, 1.0) && m.value("dlock_lock_held", &at(lock)).is_none()
}

fn rises(m: &Metrics, lock: &str) -> Vec<String> {
    let all = m.all("dlock_signal_rises_total", &at(lock));
    all.iter().filter(|s| s.value > 0.0).map(|s| s.label("signal").to_owned()).collect()
}

fn ends(m: &Metrics, lock: &str, evidence: &str) -> f64 {
    let [store, lock] = at(lock);
    m.sum("dlock_lease_ends_total", &[store, lock, ("evidence", evidence)])
}

fn member(n: u32) -> String {
    format!("HOST_{n}_0123456789abcdef0123456789{n:06x}")
}

/// `ZADD` and `HSET` in one go, so that the key is small in one read and huge in the next.
const GROW_ZSET: &str = "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], ARGV[2], 'HOST_' .. i .. '_' .. string.rep('a', 32)) end";
const TO_LIST: &str = "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], 9)";
const GROW_HASH: &str =
    "for i = 1, ARGV[1] do redis.call('HSET', KEYS[1], ARGV[2] .. ':' .. i, 1) end";

#[test]
fn locks_that_are_made_to_deceive_deceive_nobody() {
    let acl = acl_line_of_the_readme().replace("ACL SETUSER", "user");
    let acl = acl.replace("%R~lock:* %R~hb:*", "%R~*").replace("PASSWORD", "watch-only");
    let server = RedisSetup::default().acl(&acl).start();
    let now = server.cmd(&["TIME"]);
    let now: Vec<i64> = redis::from_redis_value(now).expect("a time");
    let until = ((now[0] + 3_600) * 1_000).to_string();
    let mut exporter = Exporter::start(&config(&server));
    let good = Driver::start(&server, 0, |c| {
        c.cmd(&["SET", "good", "a-token", "PX", "30000"]);
        while c.wait(Duration::from_millis(1_000)) {
            c.cmd(&["PEXPIRE", "good", "30000"]);
        }
    });
    let tokens = [0, 1].map(|node| redis_py_token(dlock_exporter::clock::wall_secs(), node));
    let flaps = Driver::start(&server, 0, move |c| {
        for n in 0u64.. {
            c.cmd(&["SET", "flaps", &tokens[(n % 2) as usize], "PX", "60000"]);
            c.cmd(&["SET", "tail", &("x".repeat(4_000) + &n.to_string()), "PX", "60000"]);
            // At no fixed pace, which could keep step with the polls.
            if !c.wait(Duration::from_millis(25 + n * 7 % 30)) {
                break;
            }
        }
    });
    let types = Driver::start(&server, 0, |c| {
        for n in 0u64.. {
            let reader = format!("{UUID}:1");
            let words: &[&str] = match n % 5 {
                0 => &["SET", "types", "86bb5074ebf111f1930402fc00000001"],
                1 => &["HSET", "types", &reader, "1"],
                2 => &["ZADD", "types", "inf", "__write__", "-inf", "x"],
                3 => &["SADD", "types", "", "\r\n"],
                _ => &["RPUSH", "types", "x"],
            };
            c.cmd(&["MULTI"]);
            c.cmd(&["DEL", "types"]);
            c.cmd(words);
            c.cmd(&["EXEC"]);
            if !c.wait(Duration::from_millis(170)) {
                break;
            }
        }
    });
    exporter.wait_for("dlock_lock_held of the good one", SOON, |m| {
        m.is("dlock_lock_held", &at("good"), 1.0)
    });
    let sampler = Sampler::start(exporter.address(), |m| {
        let memory = m.value("process_resident_memory_bytes", &[]).unwrap_or(0.0);
        if memory > MOST_MEMORY {
            return Some(format!("it uses {:.0} MB", memory / 1e6));
        }
        let is_well = m.is("dlock_lock_held", &at("good"), 1.0) && rises(m, "good").is_empty();
        (!is_well).then(|| m.lines("dlock_lock_held"))
    });

    // A crowd: so many that hold, scores that are no times, a hundred thousand, and few again.
    for n in 1..=3 {
        server.cmd(&["ZADD", "crowd", &until, &member(n)]);
    }
    exporter.wait_for("dlock_lock_holders 3", SOON, |m| {
        holders(m, "crowd") == Some(3.0) && m.is("dlock_lock_limit", &at("crowd"), 3.0)
    });
    // One more than may, and one that is no holder at all: it is told, and costs the others nothing.
    server.cmd(&["ZADD", "crowd", &until, &member(4), &until, "weird"]);
    exporter.wait_for("dlock_shape_unexpected", SOON, |m| {
        m.is("dlock_shape_unexpected", &at("crowd"), 1.0) && holders(m, "crowd") == Some(4.0)
    });
    assert!(exporter.get("/").body.contains("4 hold it, and 3 may"));
    server.cmd(&["ZREM", "crowd", &member(4), "weird"]);
    exporter.wait_for("dlock_shape_unexpected", SOON, |m| {
        m.is("dlock_shape_unexpected", &at("crowd"), 0.0) && holders(m, "crowd") == Some(3.0)
    });
    server.cmd(&["ZADD", "crowd", "+inf", &member(1), "-inf", &member(2)]);
    exporter.wait_for("dlock_lock_holders 2", SOON, |m| holders(m, "crowd") == Some(2.0));
    server.cmd(&["EVAL", GROW_ZSET, "1", "crowd", "100000", &until]);
    // The two that hold for ever or not at all are among them.
    exporter.wait_for("dlock_lock_holders 100002", SOON, |m| {
        holders(m, "crowd") == Some(100_002.0)
            && m.value("dlock_coverage_lost", &[("lock", "crowd"), ("aspect", "lease")]).is_none()
    });
    server.cmd(&["DEL", "crowd"]);
    exporter.wait_for("dlock_lock_held", SOON, |m| m.is("dlock_lock_held", &at("crowd"), 0.0));
    server.cmd(&["ZADD", "crowd", &until, &member(1), &until, &member(7)]);
    exporter.wait_for("dlock_lock_holders 2 again", SOON, |m| holders(m, "crowd") == Some(2.0));

    // A hash of ten thousand fields, counts that are none, and one again.
    let owner = format!("{UUID}:1");
    server.cmd(&["HSET", "hash", &owner, "1"]);
    exporter.wait_for("dlock_lock_held", SOON, |m| m.is("dlock_lock_held", &at("hash"), 1.0));
    server.cmd(&["EVAL", GROW_HASH, "1", "hash", "10000", UUID]);
    exporter.wait_for("dlock_coverage_lost of a hash", SOON, |m| is_withheld(m, "hash"));
    server.cmd(&["DEL", "hash"]);
    exporter.wait_for("dlock_lock_held", SOON, |m| m.is("dlock_lock_held", &at("hash"), 0.0));
    server.cmd(&["HSET", "hash", &owner, "99999999999999999999"]);
    exporter.wait_for("dlock_coverage_lost of a count", SOON, |m| is_withheld(m, "hash"));
    server.cmd(&["HSET", "hash", &owner, &"9".repeat(3_000_000)]);
    server.cmd(&["HSET", "hash", &owner, "2"]);
    exporter.wait_for("dlock_lock_reentrancy", SOON, |m| {
        m.is("dlock_lock_reentrancy", &at("hash"), 2.0)
    });

    // The last instant that there is.
    server.cmd(&["SET", "far", &owner, "PXAT", "9223372036854775807"]);
    exporter.wait_for("dlock_lease_absurd", SOON, |m| m.is("dlock_lease_absurd", &at("far"), 1.0));
    server.cmd(&["PERSIST", "far"]);
    exporter.wait_for("dlock_lease_without_ttl", SOON, |m| {
        m.is("dlock_lease_without_ttl", &at("far"), 1.0)
            && m.is("dlock_lease_absurd", &at("far"), 0.0)
    });
    promtool_accepts(&exporter.get("/metrics").body);
    server.cmd(&["DEL", "far"]);

    // A fencing counter that is now a number and now none: only what went down or away counts.
    server.cmd(&["HSET", "fenced", &owner, "1"]);
    let counter = "redisson_lock_token:{fenced}";
    let issued = |m: &Metrics| m.value("dlock_fencing_token_issued", &at("fenced"));
    let regressions = |m: &Metrics| m.sum("dlock_fencing_regressions_total", &at("fenced"));
    for (odd, next) in [("", 5.0), ("abc", 6.0), ("18446744073709551616", 7.0)] {
        server.cmd(&["SET", counter, odd]);
        exporter.wait_for("dlock_fencing_token_issued of none", SOON, |m| issued(m).is_none());
        server.cmd(&["SET", counter, &next.to_string()]);
        exporter.wait_for("dlock_fencing_token_issued", SOON, |m| issued(m) == Some(next));
    }
    assert_eq!(regressions(&exporter.metrics()), 0.0, "what is no number is no regression");
    server.cmd(&["SET", counter, "4"]);
    exporter.wait_for("dlock_fencing_regressions_total", SOON, |m| regressions(m) == 1.0);
    server.cmd(&["EVAL", TO_LIST, "1", counter]);
    exporter.wait_for("dlock_fencing_token_issued of a list", SOON, |m| issued(m).is_none());
    assert_eq!(regressions(&exporter.metrics()), 1.0, "nothing is known of a list");

    exporter.wait_for("the flapping ones: dlock_lease_ends_total dlock_lock_acq", SOON, |m| {
        ends(m, "flaps", "unknown") >= 10.0
            && rises(m, "types").contains(&"shape_unexpected".to_owned())
    });
    sampler.finish();
    let m = exporter.metrics();
    for lock in ["flaps", "types"] {
        for evidence in ["released", "lapsed", "overwritten"] {
            assert_eq!(ends(&m, lock, evidence), 0.0, "{lock} {evidence}: it was never absent");
        }
    }
    assert_eq!(m.sum("dlock_store_lease_ends_total", &[("evidence", "evicted")]), 0.0);
    // Its string has no expiry, whenever it is that.
    let of_types = ["shape_unexpected", "lease_without_ttl"];
    assert!(
        rises(&m, "types").iter().all(|s| of_types.contains(&&**s)),
        "{:?}",
        rises(&m, "types")
    );
    // A token that its library draws anew for each acquire, and that comes back after another owner, is what it is.
    assert!(rises(&m, "flaps").iter().all(|s| s == "contested"), "{:?}", rises(&m, "flaps"));
    assert_eq!(rises(&m, "tail"), [""; 0]);
    assert_eq!(rises(&m, "crowd"), ["shape_unexpected"], "of the member that is none");
    let failures = m.sum("dlock_exporter_poll_failures_total", &[("poller", "redis")]);
    assert!(failures <= 2.0, "{failures} polls failed");
    assert!(!exporter.log().contains("panicked"), "{}", exporter.log());
    for driver in [good, flaps, types] {
        driver.stop();
    }
}
