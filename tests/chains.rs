//! A replica of a replica: found by what the replica announces, compared with the primary only, and kept when the one
//! between dies. Its own series go while it answers no reads, because its primary is down or it loads its data, and
//! nothing else does.

use crate::replicas::{FOR_LONG, POLL, SOON, addr, config, diverged, has_role};
use crate::support::{
    Exporter, Metrics, RedisServer, RedisSetup, Steady, for_a_while, raised_besides, wait_until,
};

fn is_up(m: &Metrics, server: &RedisServer) -> bool {
    m.is("dlock_store_up", &[("addr", &addr(server))], 1.0)
}

fn lag(m: &Metrics, server: &RedisServer) -> Option<f64> {
    m.value("dlock_store_replication_lag_bytes", &[("addr", &addr(server))])
}

fn confirmed(m: &Metrics, server: &RedisServer) -> f64 {
    let at = [("addr", &*addr(server))];
    m.sum("dlock_replica_confirmations_total", &at)
        - m.sum("dlock_replica_confirm_unknown_total", &at)
}

fn kind(m: &Metrics, server: &RedisServer) -> Vec<String> {
    let all = m.all("dlock_replica_lock_diverged", &[("addr", &addr(server))]);
    all.iter().map(|s| s.label("kind").to_owned()).collect()
}

/// Errors of any of these kinds that a server ever answered. `ERR` is what this test's own connections get.
fn errors(server: &RedisServer, kinds: &[&str]) -> u64 {
    let text = server.text(&["INFO", "errorstats"]);
    let counts = text.lines().filter_map(|line| {
        let (name, count) = line.strip_prefix("errorstat_")?.split_once(":count=")?;
        kinds.contains(&name).then_some(count.trim().parse::<u64>().ok()?)
    });
    counts.sum()
}

fn failures(m: &Metrics, server: &RedisServer) -> f64 {
    let target = format!("main/{}", addr(server));
    m.sum("dlock_exporter_poll_failures_total", &[("target", &target), ("reason", "not_ready")])
}

#[test]
fn a_replica_of_a_replica_is_read_by_itself_and_judged_by_the_primary() {
    // It remembers too little for a replica that was away to go on where it was.
    let primary = RedisSetup::default().arguments(&["--repl-backlog-size", "16kb"]).start();
    // Each answers from its own clock and copy; what is in the middle is not asked about the end.
    let mut middle = RedisSetup::default().replica_of(&primary).start();
    let end = RedisSetup::default()
        .replica_of(&middle)
        .arguments(&["--replica-read-only", "no", "--replica-serve-stale-data", "no"])
        .arguments(&["--loading-process-events-interval-bytes", "1024"])
        .start();
    for name in ["still", "other"] {
        primary.cmd(&["SET", &format!("lock:{name}"), "still-1:x", "PX", FOR_LONG]);
    }
    let mut exporter = Exporter::start(&config(&primary, &["still", "other"]));
    let steady = Steady::watch(&exporter);
    exporter.wait_for("all three: dlock_store dlock_replica", SOON, |m| {
        has_role(m, &primary, "master")
            && [&middle, &end].iter().all(|r| {
                has_role(m, r, "replica")
                    && is_up(m, r)
                    && lag(m, r).is_some()
                    && confirmed(m, r) > 4.0
            })
            && diverged(m, "still") == Some(0.0)
    });

    // A write of its own shows at the end of the chain only.
    let until = primary.number(&["PEXPIRETIME", "lock:still"]).to_string();
    end.cmd(&["DEL", "lock:still"]);
    exporter.wait_for("dlock_replica_lock_diverged at the end", SOON, |m| {
        diverged(m, "still") == Some(1.0) && kind(m, &end) == ["missing"]
    });
    let m = exporter.metrics();
    assert_eq!((kind(&m, &middle).len(), diverged(&m, "other")), (0, Some(0.0)));
    end.cmd(&["SET", "lock:still", "still-1:x", "PXAT", &until]);
    exporter.wait_for("dlock_replica_diverged 0", SOON, |m| diverged(m, "still") == Some(0.0));

    // The one between stands still: what is written meanwhile reaches neither, and that is no difference.
    middle.pause();
    exporter.wait_for("dlock_store_up 0", SOON, |m| !is_up(m, &middle));
    primary.cmd(&["SET", "lock:other", "other-2:y", "PX", FOR_LONG]);
    for_a_while(POLL * 6);
    let m = exporter.metrics();
    assert!(is_up(&m, &end) && has_role(&m, &end, "replica"));
    assert!(m.is("dlock_lock_held", &[("lock", "other")], 1.0));
    assert!(m.all("dlock_replica_lock_diverged", &[]).is_empty());
    middle.resume();
    exporter.wait_for("all agree: dlock_replica_diverged", SOON, |m| {
        is_up(m, &middle) && diverged(m, "other") == Some(0.0) && lag(m, &end) < Some(500.0)
    });

    // It dies, and the end answers no reads without it. It is not forgotten, though nobody announces it.
    middle.kill();
    exporter.wait_for("dlock_store_up 0 of both", SOON, |m| !is_up(m, &middle) && !is_up(m, &end));
    exporter.wait_for("its link: dlock_store_replica_link_up", SOON, |m| {
        m.is("dlock_store_replica_link_up", &[("addr", &addr(&end))], 0.0)
    });
    // A poll that was under way.
    for_a_while(POLL * 2);
    let refusals = ["MASTERDOWN", "EXECABORT", "LOADING"];
    let (refused, failed_before) = (errors(&end, &refusals), failures(&exporter.metrics(), &end));
    assert!(refused > 0, "it was asked");
    // Longer than the patience with nodes that nobody announces.
    exporter.wait_for("polls go on: dlock_exporter_poll_failures_total", SOON, |m| {
        failures(m, &end) >= failed_before + 13.0
    });
    assert_eq!(errors(&end, &refusals), refused, "its errors do not grow");
    let m = exporter.metrics();
    assert!(!is_up(&m, &end) && has_role(&m, &end, "replica"));
    for lock in ["still", "other"] {
        assert!(m.is("dlock_lock_held", &[("lock", lock)], 1.0), "the primary is judged on");
        assert_eq!(diverged(&m, lock), None, "nobody knows what replicas show");
    }
    assert!(m.all("dlock_replica_lock_diverged", &[]).is_empty());

    // Back again, the end has to load everything, slowly.
    let filler = "x".repeat(100);
    for part in 0..15 {
        let keys: Vec<String> = (0..100).map(|n| format!("filler:{part}:{n}")).collect();
        let pairs = keys.iter().flat_map(|key| [key.as_str(), &filler]);
        primary.cmd(&["MSET"].into_iter().chain(pairs).collect::<Vec<_>>());
    }
    end.cmd(&["CONFIG", "SET", "key-load-delay", "1000"]);
    middle.restart();
    wait_until("the end of the chain loads", SOON, || {
        end.text(&["INFO", "persistence"]).contains("\nloading:1").then_some(())
    });
    exporter.wait_for("all agree: dlock_replica_diverged", SOON, |m| {
        [&middle, &end].iter().all(|r| is_up(m, r)) && diverged(m, "other") == Some(0.0)
    });
    // One read at most was under way when it began to load.
    let more = errors(&end, &refusals) - refused;
    assert!(more <= refused, "{more} more");
    let m = exporter.metrics();
    assert_eq!(m.sum("dlock_store_failovers_total", &[]), 0.0);
    assert_eq!(raised_besides(&m, "replica_diverged"), None);
    steady.finish();
}
