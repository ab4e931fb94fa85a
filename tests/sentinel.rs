//! A store behind sentinels: its primary and replicas are the ones they name, a failover is followed and what it lost is
//! told, an old primary that is back does not take over, and sentinels that differ are seen to. What fails of them costs
//! nothing but its own series.

mod reach;

use crate::failover::contested;
use crate::replicas::{FOR_LONG, POLL, SOON, addr, has_role};
use crate::support::{
    Exporter, ExporterSetup, Metrics, RedisServer, RedisSetup, Sentinel, Steady, for_a_while,
    raised, wait_until,
};

/// The password of the sentinels' user `dlock`, from the environment.
const SENTINEL_PASSWORD: &str = "DLOCK__STORES__MAIN__SENTINEL__PASSWORD";

/// A store of these sentinels, whose line `sentinel:` has this in it besides the name.
fn config(urls: &[String], sentinel: &str) -> String {
    format!(
        "poll_interval: 200ms
stores:
  main:
    urls: {urls:?}
    topology: sentinel
    sentinel: {{ master: locks{sentinel} }}
    username: dlock
    response_timeout: 400ms
    locks:
      - {{ name: kept, key: 'lock:kept', lease: 600s }}
      - {{ name: lost, key: 'lock:lost', lease: 600s }}
"
    )
}

fn url(sentinel: &Sentinel) -> String {
    format!("redis://{}", sentinel.address())
}

fn is_up(m: &Metrics, sentinel: &Sentinel, up: f64) -> bool {
    m.is("dlock_store_up", &[("addr", &sentinel.address().to_string())], up)
}

fn is_sentinel(m: &Metrics, sentinel: &Sentinel) -> bool {
    let at = sentinel.address().to_string();
    m.is("dlock_store_role", &[("addr", &at), ("role", "sentinel")], 1.0) && is_up(m, sentinel, 1.0)
}

/// A primary with two replicas and three sentinels that know each other.
struct World {
    servers: [RedisServer; 3],
    sentinels: [Sentinel; 3],
}

fn world() -> World {
    let primary = RedisServer::start();
    let replicas = [0, 1].map(|_| RedisSetup::default().replica_of(&primary).start());
    for replica in &replicas {
        wait_until("the replica is linked", SOON, || {
            replica.text(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
        });
    }
    let sentinels = [0, 1, 2].map(|_| Sentinel::watch(&primary, 2));
    wait_until("the sentinels know all", SOON, || {
        let all = sentinels.iter().all(|s| s.knows("REPLICAS") == 2 && s.knows("SENTINELS") == 2);
        all.then_some(())
    });
    let [a, b] = replicas;
    World { servers: [primary, a, b], sentinels }
}

/// An exporter that cannot ask, and why; it ends here.
fn is_refused(setup: ExporterSetup, sentinel: &str, reason: &str, words: &[&str]) {
    let mut exporter = setup.spawn();
    exporter.wait_for("dlock_store_up 0", SOON, |m| {
        let labels = [("poller", "redis"), ("reason", reason)];
        m.is("dlock_store_up", &[("addr", sentinel)], 0.0)
            && m.sum("dlock_exporter_poll_failures_total", &labels) >= 1.0
    });
    assert!(exporter.metrics().all("dlock_store_sentinels_disagree", &[]).is_empty());
    let log = exporter.log();
    words.iter().for_each(|word| assert!(log.contains(word), "no '{word}' in:\n{log}"));
}

fn mistakes_are_told(w: &World) {
    let (urls, at) = ([url(&w.sentinels[0])], w.sentinels[0].address().to_string());
    let without = ExporterSetup::file(&config(&urls, "")).password();
    is_refused(without, &at, "auth", &["sentinel.password_file"]);
    let other = config(&urls, ", username: dlock").replace("master: locks", "master: lokcs");
    let other = ExporterSetup::file(&other).password().env(SENTINEL_PASSWORD, "watch-only");
    is_refused(other, &at, "missing", &["knows no master `lokcs`", "sentinel.master"]);
    let server = ExporterSetup::file(&config(&[w.servers[0].url()], "")).password();
    is_refused(server, &addr(&w.servers[0]), "protocol", &["this is no sentinel"]);
    let yaml = format!("stores: {{ main: {{ url: '{}', username: dlock }} }}\n", urls[0]);
    let plain = ExporterSetup::file(&yaml).password();
    is_refused(plain, &at, "protocol", &["this is a sentinel", "`topology: sentinel`"]);
}

/// All that sentinels name is watched, each sentinel answers, and nothing was refused to the README's user.
fn seen_through_sentinels(exporter: &mut Exporter, w: &World) {
    exporter.wait_for("dlock_store dlock_lock_held 1", SOON, |m| {
        let [primary, a, b] = &w.servers;
        has_role(m, primary, "master")
            && [a, b].iter().all(|replica| has_role(m, replica, "replica"))
            && w.sentinels.iter().all(|s| is_sentinel(m, s))
            && m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
            && m.is("dlock_replica_diverged", &[("lock", "kept")], 0.0)
            && m.is("dlock_store_sentinels_disagree", &[], 0.0)
            && m.is("dlock_store_primaries", &[], 1.0)
    });
    let m = exporter.metrics();
    for sentinel in &w.sentinels {
        let at = sentinel.address().to_string();
        let refused = m.all("dlock_store_permission_denied", &[("addr", &at)]);
        assert!(refused.len() > 2 && refused.iter().all(|s| s.value == 0.0), "{refused:?}");
        let at = [("addr", at.as_str())];
        assert!(m.all("dlock_store_restart_unsafe", &at).is_empty(), "a sentinel holds no locks");
        assert!(m.all("dlock_store_clock_steps_total", &at).is_empty(), "and tells no time");
    }
}

/// The primary stands; gives the one that was promoted and the other replica.
fn fail_over<'a>(exporter: &mut Exporter, w: &'a World) -> (&'a RedisServer, &'a RedisServer) {
    let [primary, a, b] = &w.servers;
    // `lost` is granted by the primary and reaches no replica.
    for replica in [a, b] {
        replica.cmd(&["CONFIG", "SET", "masteruser", "nobody"]);
        replica.cmd(&["CONFIG", "SET", "masterauth", "wrong"]);
    }
    primary.cmd(&["CLIENT", "KILL", "TYPE", "replica"]);
    // Only an acquire that a read before it shows to be beyond the replicas' last offset is surely lost.
    primary.cmd(&["SET", "beyond", "1"]);
    for_a_while(POLL * 3);
    primary.cmd(&["SET", "lock:lost", "lost-1:x", "PX", FOR_LONG]);
    exporter.wait_for("dlock_lock_held of lost", SOON, |m| {
        m.value("dlock_lock_held_seconds", &[("lock", "lost")]) > Some(POLL.as_secs_f64() * 3.0)
    });
    primary.pause();
    for replica in [a, b] {
        replica.cmd(&["CONFIG", "SET", "masteruser", ""]);
        replica.cmd(&["CONFIG", "SET", "masterauth", ""]);
    }
    let old = primary.address().port();
    wait_until("all sentinels name another", SOON, || {
        w.sentinels.iter().all(|s| s.names() != old).then_some(())
    });
    let promoted = w.sentinels[0].names();
    if a.address().port() == promoted { (a, b) } else { (b, a) }
}

#[test]
fn a_failover_by_sentinels_is_followed_and_what_it_lost_is_told() {
    let mut w = world();
    w.servers[0].cmd(&["SET", "lock:kept", "kept-1:x", "PX", FOR_LONG]);
    mistakes_are_told(&w);
    // The second is found from the others.
    let urls = [url(&w.sentinels[0]), url(&w.sentinels[2])];
    let setup = ExporterSetup::file(&config(&urls, ", username: dlock")).password();
    let mut exporter = setup.env(SENTINEL_PASSWORD, "watch-only").start();
    let steady = Steady::watch(&exporter);
    seen_through_sentinels(&mut exporter, &w);

    let (new, other) = fail_over(&mut exporter, &w);
    let took = exporter.wait_for("dlock_store_failovers_total 1 dlock_store", SOON, |m| {
        m.is("dlock_store_failovers_total", &[], 1.0)
            && has_role(m, new, "master")
            && m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
            && m.is("dlock_lock_held", &[("lock", "lost")], 0.0)
    });
    assert!(took < POLL * 20, "the failover was seen {took:?} after the sentinels' own word");
    exporter.wait_for("dlock_store_failover_lost_bytes_total dlock_store_role", SOON, |m| {
        m.sum("dlock_store_failover_lost_bytes_total", &[]) > 0.0 && has_role(m, other, "replica")
    });
    assert_eq!(raised(&exporter.metrics()), None);
    new.cmd(&["SET", "lock:lost", "lost-2:y", "PX", FOR_LONG]);
    contested(&mut exporter, "lost", "lost");

    // The old one is back, and writable until the sentinels have told it.
    let old = &w.servers[0];
    old.resume();
    exporter.wait_for("dlock_store_primaries 2: dlock_store", SOON, |m| {
        m.is("dlock_store_primaries", &[], 2.0) && has_role(m, old, "master")
    });
    wait_until("it answers", SOON, || old.try_cmd(&["DEL", "lock:kept"]).ok());
    exporter.never("the old primary judged", POLL * 8, |m| {
        // A poll that is late on a busy machine shows no lock at all.
        m.is("dlock_lock_held", &[("lock", "kept")], 0.0)
            || m.sum("dlock_store_failovers_total", &[]) > 1.0
    });
    sentinels_differ_and_end(&mut exporter, &mut w);
    steady.finish();
}

/// One sentinel watches another server by that name, then none; then all of them are gone.
fn sentinels_differ_and_end(exporter: &mut Exporter, w: &mut World) {
    let foreign = RedisServer::start();
    let follower = RedisSetup::default().replica_of(&foreign).start();
    let port = foreign.address().port().to_string();
    let last = &w.sentinels[2];
    last.cmd(&["SENTINEL", "REMOVE", "locks"]);
    // The others would tell it the truth as long as they know where it is.
    w.sentinels[..2].iter().for_each(|s| drop(s.cmd(&["SENTINEL", "RESET", "locks"])));
    last.cmd(&["SENTINEL", "MONITOR", "locks", "127.0.0.1", &port, "1"]);
    exporter.wait_for("dlock_store_sentinels_disagree 1: dlock_store", SOON, |m| {
        m.is("dlock_store_sentinels_disagree", &[], 1.0)
            && has_role(m, &foreign, "master")
            && has_role(m, &follower, "replica")
    });
    let told = format!("{} names {}", last.address(), foreign.address());
    wait_until("who names whom is told", SOON, || exporter.log().contains(&told).then_some(()));
    exporter.never("the foreign server judged", POLL * 4, |m| {
        // A poll that is late on a busy machine shows no lock at all.
        m.is("dlock_lock_held", &[("lock", "kept")], 0.0)
            || m.sum("dlock_store_failovers_total", &[]) > 1.0
    });
    last.cmd(&["SENTINEL", "REMOVE", "locks"]);
    exporter.wait_for("dlock_store_sentinels_disagree 0: dlock_store", SOON, |m| {
        m.is("dlock_store_sentinels_disagree", &[], 0.0) && is_up(m, &w.sentinels[2], 0.0)
    });
    assert!(exporter.log().contains("knows no master `locks`"), "{}", exporter.log());
    // Nobody names the foreign ones any more.
    exporter.wait_for("the foreign ones let go: dlock_store_role", SOON, |m| {
        let is_gone = |s| m.all("dlock_store_role", &[("addr", &addr(s))]).is_empty();
        is_gone(&foreign) && is_gone(&follower)
    });
    w.sentinels.iter_mut().for_each(Sentinel::kill);
    exporter.wait_for("no dlock_store_sentinels_disagree", SOON, |m| {
        m.all("dlock_store_sentinels_disagree", &[]).is_empty()
            && w.sentinels.iter().all(|s| is_up(m, s, 0.0))
    });
    exporter.never("the locks lost", POLL * 5, |m| {
        // A poll that is late on a busy machine shows no lock at all.
        m.is("dlock_lock_held", &[("lock", "kept")], 0.0)
            || m.sum("dlock_store_failovers_total", &[]) > 1.0
    });
    exporter.wait_for("the locks in sight: dlock_lock_held", SOON, |m| {
        m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
    });
}
