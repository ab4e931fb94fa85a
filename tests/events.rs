//! What a server tells of by itself between two polls: a change is seen at once although the next poll is far off, and an
//! interruption of that is counted and never taken for silence. The exporter runs as the user that the README grants.

use std::time::Duration;

use dlock_exporter::clock::mono;

use crate::support::{
    Exporter, Flavor, Metrics, RedisServer, SLACK, for_a_while, raised, wait_until,
};

const SOON: Duration = Duration::from_secs(15);
/// Far longer than any of these tests waits for a change.
const POLL: Duration = Duration::from_secs(20);
/// What a change may take to be seen, on a loaded machine.
const AT_ONCE: Duration = SLACK;
const GAP: &str = "dlock_store_event_gap_seconds_total";

fn config(server: &RedisServer, events: &str) -> String {
    let (url, poll) = (server.url(), POLL.as_secs());
    format!(
        "poll_interval: {poll}s
stores:
  main:
    url: {url}
    username: dlock
    events: {events}
    locks:
      - {{ name: orders, key: 'lock:orders', holder: '^(?P<worker>[^:]+):' }}
      - {{ match: 'lock:job:*', capture: '^lock:job:(.+)$', name: 'job-{{1}}' }}
"
    )
}

/// An exporter whose feed of that server is whole, after its first poll.
fn watching(server: &RedisServer, events: &str) -> Exporter {
    let mut exporter = Exporter::start(&config(server, events));
    exporter.wait_for("dlock_store_event_gap_seconds_total dlock_lock_held", SOON, |m| {
        m.value(GAP, &[]).is_some() && m.value("dlock_lock_held", &[("lock", "orders")]).is_some()
    });
    exporter
}

fn holds(m: &Metrics, lock: &str, held: f64) -> bool {
    m.is("dlock_lock_held", &[("lock", lock)], held)
}

/// Until the metrics say so; gives how long that took.
fn seen(exporter: &mut Exporter, what: &str, is_so: impl Fn(&Metrics) -> bool) -> Duration {
    exporter.wait_for(what, AT_ONCE, is_so)
}

/// The ids of the exporter's connections that are told of keys.
fn feeds(server: &RedisServer) -> Vec<String> {
    let list = server.text(&["CLIENT", "LIST"]);
    let lines = list.lines().filter(|l| l.contains("name=dlock_exporter"));
    let is_feed = |l: &&str| {
        let flags = l.split(' ').find_map(|w| w.strip_prefix("flags="));
        flags.is_some_and(|f| f.contains('B') && f.contains('P'))
    };
    let id = |l: &str| l.split(' ').find_map(|w| w.strip_prefix("id=")).map(str::to_owned);
    lines.filter(is_feed).filter_map(id).collect()
}

fn calls(server: &RedisServer) -> i64 {
    let stats = server.text(&["INFO", "stats"]);
    let n = stats.lines().find_map(|l| l.strip_prefix("total_commands_processed:"));
    n.and_then(|n| n.parse().ok()).expect("INFO tells it")
}

#[test]
fn a_change_is_seen_at_once_and_an_interruption_is_counted() {
    let server = RedisServer::start();
    let mut exporter = watching(&server, "auto");
    assert_eq!(feeds(&server).len(), 1, "the server guards itself against it as a subscriber");
    assert_eq!(exporter.metrics().value(GAP, &[]), Some(0.0));

    // Taken, renewed, let go and taken by another, all between two polls.
    server.cmd(&["SET", "lock:orders", "w-1:x", "PX", "60000"]);
    let took = seen(&mut exporter, "dlock_lock_held 1", |m| holds(m, "orders", 1.0));
    eprintln!("an acquire was seen after {took:?}");
    server.cmd(&["PEXPIRE", "lock:orders", "90000"]);
    seen(&mut exporter, "dlock_lease_renewals_total 1", |m| {
        m.is("dlock_lease_renewals_total", &[("lock", "orders")], 1.0)
    });
    server.cmd(&["DEL", "lock:orders"]);
    seen(&mut exporter, "dlock_lock_held 0", |m| holds(m, "orders", 0.0));
    server.cmd(&["SET", "lock:orders", "w-2:y", "PX", "60000"]);
    seen(&mut exporter, "dlock_lock_acquisitions_total 2", |m| {
        m.is("dlock_lock_acquisitions_total", &[("lock", "orders")], 2.0)
    });

    // A key that no poll has found yet.
    server.cmd(&["SET", "lock:job:7", "w-1:z", "PX", "60000"]);
    seen(&mut exporter, "dlock_lock_held of job-7", |m| holds(m, "job-7", 1.0));

    // The server cuts it off: that is a gap, for a moment, and then it tells again.
    let [feed] = feeds(&server).try_into().expect("one feed");
    server.cmd(&["CLIENT", "KILL", "ID", &feed]);
    exporter.wait_for(GAP, SOON, |m| m.value(GAP, &[]) > Some(0.0));
    wait_until("the feed is back", SOON, || (feeds(&server).len() == 1).then_some(()));
    exporter.wait_for("another lock", SOON, |m| {
        // What changed meanwhile is for the next poll; what changes now is told.
        server.cmd(&["PEXPIRE", "lock:orders", "90000"]);
        m.value("dlock_lease_renewals_total", &[("lock", "orders")]) >= Some(2.0)
    });
    let gap = exporter.metrics().value(GAP, &[]).expect("there is a feed");
    assert!(gap < 5.0, "{gap}");
    assert_eq!(raised(&exporter.metrics()), None);
    assert!(exporter.log().contains("event feed is interrupted"), "{}", exporter.log());

    // A server that stands still answers no sign of life; the gap grows until it does.
    server.pause();
    exporter.wait_for(GAP, SOON, |m| m.value(GAP, &[]) > Some(gap + 1.5));
    server.resume();
    wait_until("the feed is back again", SOON, || (!feeds(&server).is_empty()).then_some(()));
    exporter.wait_for("a third lock", SOON, |m| {
        server.cmd(&["SET", "lock:job:8", "w-1:z", "PX", "60000"]);
        holds(m, "job-8", 1.0)
    });
}

#[test]
fn a_hot_lock_costs_a_few_reads_and_an_idle_store_next_to_nothing() {
    let server = RedisServer::start();
    let _exporter = watching(&server, "tracking");
    let reads = |server: &RedisServer| {
        let stats = server.text(&["INFO", "commandstats"]);
        let of = |name: &str| {
            let line =
                stats.lines().find_map(|l| l.strip_prefix(&format!("cmdstat_{name}:calls=")));
            line.and_then(|l| l.split(',').next()?.parse().ok()).unwrap_or(0_i64)
        };
        of("mget")
    };
    let (before, calls_before) = (reads(&server), calls(&server));
    let length = Duration::from_secs(3);
    for_a_while(length);
    let idle = calls(&server) - calls_before;
    eprintln!("{idle} commands in {length:?} while nothing happens");
    assert!(idle <= 12, "{idle} commands in {length:?}: a poll may be among them, and our own");
    let until = mono().plus(length);
    let mut writes = 0;
    while mono() < until {
        server.cmd(&["SET", "lock:orders", "w-1:x", "PX", "60000"]);
        writes += 1;
    }
    let cost = reads(&server) - before;
    eprintln!("{cost} reads for {writes} writes of one lock");
    assert!(writes > 100 && (2..=8).contains(&cost), "{cost} reads for {writes} writes");
}

#[test]
fn what_is_not_to_be_had_is_said_once_and_polls_go_on() {
    // It may not listen.
    let server = RedisServer::start();
    // 6.2 takes away commands only as a whole.
    let without: &[&str] = match Flavor::default() {
        Flavor::Redis62 => &["-client", "+client|setname"],
        _ => &["-client|tracking"],
    };
    server.cmd(&[&["ACL", "SETUSER", "dlock"], without].concat());
    let mut exporter = Exporter::start(&config(&server, "tracking"));
    let refused = [("command", "client|tracking")];
    exporter.wait_for("dlock_store_permission_denied dlock_coverage_lost", SOON, |m| {
        m.is("dlock_store_permission_denied", &refused, 1.0)
            && m.is(
                "dlock_coverage_lost",
                &[("lock", "orders"), ("aspect", "events"), ("reason", "permission")],
                1.0,
            )
    });
    let m = exporter.metrics();
    assert_eq!((m.value(GAP, &[]), holds(&m, "orders", 0.0)), (None, true));
    for_a_while(Duration::from_secs(2));
    assert_eq!(exporter.log().matches("no event feed").count(), 1, "{}", exporter.log());
    // A reload tries again.
    server.cmd(&["ACL", "SETUSER", "dlock", "+client|tracking"]);
    assert_eq!(exporter.request("POST", "/-/reload").status, 200);
    exporter.wait_for(GAP, SOON, |m| {
        m.value(GAP, &[]).is_some()
            && m.all("dlock_coverage_lost", &[("aspect", "events")]).is_empty()
    });

    // It may evict: nobody asked for a feed there.
    server.cmd(&["CONFIG", "SET", "maxmemory-policy", "volatile-lru"]);
    server.cmd(&["CONFIG", "SET", "maxmemory", "100mb"]);
    exporter.rewrite(&config(&server, "auto"));
    assert_eq!(exporter.request("POST", "/-/reload").status, 200);
    wait_until("no feed", SOON, || feeds(&server).is_empty().then_some(()));
    assert!(exporter.metrics().all("dlock_coverage_lost", &[("aspect", "events")]).is_empty());
    exporter.rewrite(&config(&server, "off"));
    assert_eq!(exporter.request("POST", "/-/reload").status, 200);
    server.cmd(&["CONFIG", "SET", "maxmemory", "0"]);
    for_a_while(Duration::from_secs(1));
    assert!(feeds(&server).is_empty());
}

#[test]
fn an_overwrite_is_proven_by_keyspace_events_that_the_operator_turned_on() {
    let server = RedisServer::start();
    // Lists the channels, as the README says.
    let channels = ["&__keyspace@0__:lock:orders", "&__keyspace@0__:lock:job:*", "+psubscribe"];
    server.cmd(&[&["ACL", "SETUSER", "dlock"], &channels[..]].concat());
    let sends = |classes| server.cmd(&["CONFIG", "SET", "notify-keyspace-events", classes]);
    for events in ["auto", "notifications"] {
        server.cmd(&["FLUSHALL"]);
        // Often enough that each of these changes may be read.
        let yaml = config(&server, events).replace("poll_interval: 20s", "poll_interval: 1s");
        let mut exporter = Exporter::start(&yaml);
        let overwrites = [("lock", "orders"), ("kind", "overwrite")];
        exporter.wait_for("dlock_lock_held 0", SOON, |m| holds(m, "orders", 0.0));
        // Turned on after the start, for one.
        sends("Kg$xe");
        exporter.wait_for("dlock_contention_events_total 0", SOON, |m| {
            m.is("dlock_contention_events_total", &overwrites, 0.0)
        });
        // Hand-overs as they should be: released, and run out.
        for n in 0..5 {
            let (before, token) = (n % 3 + 1, format!("w-{n}:x"));
            server.cmd(&["SET", "lock:orders", &token, "NX", "PX", "60000"]);
            let taken = f64::from(n + 1);
            exporter.wait_for("dlock_lock_acquisitions_total", SOON, |m| {
                m.is("dlock_lock_acquisitions_total", &[("lock", "orders")], taken)
            });
            match before {
                1 => drop(server.cmd(&["DEL", "lock:orders"])),
                _ => drop(server.cmd(&["PEXPIRE", "lock:orders", "1"])),
            }
            for_a_while(Duration::from_millis(20));
        }
        server.cmd(&["SET", "lock:orders", "w-8:x", "NX", "PX", "60000"]);
        exporter.wait_for("dlock_lock_held 1", SOON, |m| {
            holds(m, "orders", 1.0)
                && m.is("dlock_lock_acquisitions_total", &[("lock", "orders")], 6.0)
        });
        for_a_while(Duration::from_secs(1));
        assert_eq!(raised(&exporter.metrics()), None, "{events}");
        // Somebody does not ask whether it is free.
        server.cmd(&["SET", "lock:orders", "w-9:y", "PX", "60000"]);
        let took = seen(&mut exporter, "dlock_contested dlock_contention dlock_lease_ends", |m| {
            m.is("dlock_contested", &[("lock", "orders")], 1.0)
                && m.is("dlock_contention_events_total", &overwrites, 1.0)
                && m.is(
                    "dlock_lease_ends_total",
                    &[("lock", "orders"), ("evidence", "overwritten")],
                    1.0,
                )
        });
        eprintln!("{events}: an overwrite was proven after {took:?}");
        // The server stops to tell what removes a key: that it told of none says nothing any more.
        sends("K$");
        let hand_over =
            "redis.call('DEL', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)";
        server.cmd(&["EVAL", hand_over, "1", "lock:orders", "w-10:x"]);
        let ended = [("lock", "orders"), ("worker", "w-9"), ("evidence", "unknown")];
        exporter.wait_for("dlock_lock_previous_holder_info", SOON, |m| {
            m.is("dlock_lock_previous_holder_info", &ended, 1.0)
        });
        let m = exporter.metrics();
        assert!(m.is("dlock_contention_events_total", &overwrites, 1.0), "{events}");
        wait_until("it is said", SOON, || exporter.log().contains("lacks some").then_some(()));
        // And tells again.
        sends("Kg$xe");
        wait_until("it is said", SOON, || exporter.log().contains("are proven").then_some(()));
        server.cmd(&["EVAL", hand_over, "1", "lock:orders", "w-11:x"]);
        exporter.wait_for("dlock_lock_acquisitions_total", SOON, |m| {
            m.is("dlock_lock_acquisitions_total", &[("lock", "orders")], 9.0)
        });
        server.cmd(&["SET", "lock:orders", "w-12:y", "PX", "60000"]);
        exporter.wait_for("dlock_contention_events_total 2", SOON, |m| {
            m.is("dlock_contention_events_total", &overwrites, 2.0)
        });
        assert_eq!(exporter.log().matches("lacks some").count(), 1, "{}", exporter.log());
        exporter.stop();
    }
}

#[test]
fn what_a_feed_may_not_do_is_told() {
    let server = RedisServer::start();
    server.cmd(&["CONFIG", "SET", "notify-keyspace-events", "Kg$xe"]);
    // Broadcasts go on without the keyspace events that the README's line does not grant.
    let denied = |command| [("command", command)];
    let mut exporter = watching(&server, "auto");
    exporter.wait_for("dlock_store_permission_denied of psubscribe", SOON, |m| {
        m.is("dlock_store_permission_denied", &denied("psubscribe"), 1.0)
    });
    let lost = [("lock", "orders"), ("aspect", "events"), ("reason", "permission")];
    assert!(exporter.metrics().all("dlock_coverage_lost", &lost).is_empty());
    exporter.stop();
    // Alone they are something to rely on only where it may ask whether they are sent.
    let grants = ["&__keyspace@0__:lock:orders", "&__keyspace@0__:lock:job:*", "+psubscribe"];
    server.cmd(&[&["ACL", "SETUSER", "dlock"], &grants[..]].concat());
    let mut exporter = watching(&server, "notifications");
    assert!(exporter.metrics().all("dlock_coverage_lost", &lost).is_empty());
    server.cmd(&["ACL", "SETUSER", "dlock", "-config"]);
    exporter.wait_for("dlock_coverage_lost of events", SOON, |m| {
        m.is("dlock_coverage_lost", &lost, 1.0)
    });
    exporter.stop();
    let mut exporter = watching(&server, "notifications");
    exporter.wait_for("dlock_coverage_lost of events", SOON, |m| {
        m.is("dlock_coverage_lost", &lost, 1.0)
    });
}
