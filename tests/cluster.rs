//! A cluster of three shards: locks are read at the shard that has them and on its replica, a slot that moves makes no end
//! and raises nothing, and a primary that is killed costs its own locks only, until its replica is promoted.

use std::time::Duration;

use std::collections::HashSet;

use crate::replicas::{FOR_LONG, POLL, SOON, addr, has_role};
use crate::support::{
    Cluster, Exporter, ExporterSetup, Flavor, Metrics, RedisServer, Steady, for_a_while, raised,
    wait_until,
};

/// Three locks, one in each shard, and one whose pattern has a hash tag.
struct World {
    cluster: Cluster,
    keys: Vec<String>,
}

fn name(key: &str) -> &str {
    key.strip_prefix("lock:").unwrap()
}

impl World {
    fn start(flavor: Flavor) -> Self {
        let cluster = Cluster::start(flavor);
        let keys = (0..3).map(|home| cluster.key("lock:k", home)).collect();
        let world = Self { cluster, keys };
        for key in &world.keys {
            world.set(key, "w-1:x", FOR_LONG);
        }
        world.set("lock:{user}:7", "t", FOR_LONG);
        world
    }

    fn set(&self, key: &str, token: &str, ms: &str) {
        self.cluster.nodes[self.cluster.home(key)].cmd(&["SET", key, token, "PX", ms]);
    }

    fn exporter(&self, topology: &str, urls: &[&RedisServer]) -> Exporter {
        let urls: Vec<String> = urls.iter().map(|s| s.url()).collect();
        let yaml = format!(
            "poll_interval: 200ms
stores:
  main:
    urls: {urls:?}
    {topology}
    username: dlock
    response_timeout: 400ms
    connect_timeout: 400ms
    locks:
      - {{ name: 'tagged-{{1}}', match: 'lock:{{{{user}}}}:*', capture: '([0-9]+)$' }}
      - {{ name: '{{1}}', match: 'lock:k*', capture: '^lock:(.+)$', series: full, holder: '^(?P<worker>[^:]+):' }}
      - {{ name: by-key, key: '{}', holder: '^(?P<worker>[^:]+):' }}
",
            self.cluster.key("lock:by", 2)
        ) + "workers:
  sample:
    names: [w-1, w-2, w-3, w-4]
    heartbeat: { redis: { store: main, key: 'hb:{worker}' }, frozen_after: 60s }
";
        ExporterSetup::file(&yaml.replace("{{user}}", "{user}")).password().start()
    }
}

fn is_held(m: &Metrics, key: &str) -> bool {
    m.is("dlock_lock_held", &[("lock", name(key))], 1.0)
}

fn ends(m: &Metrics, evidence: &str) -> f64 {
    m.sum("dlock_lease_ends_total", &[("evidence", evidence)])
}

/// All shards and their replicas are read; a run of each lock is seen as it is.
fn seen_in_all_shards(exporter: &mut Exporter, w: &World) {
    exporter.wait_for("all locks and nodes", SOON, |m| {
        let (primaries, replicas) = w.cluster.nodes.split_at(3);
        w.keys.iter().all(|key| is_held(m, key))
            && m.is("dlock_lock_held", &[("lock", "tagged-7")], 1.0)
            && primaries.iter().all(|node| has_role(m, node, "master"))
            && replicas.iter().all(|node| has_role(m, node, "replica"))
            && w.keys.iter().all(|k| m.is("dlock_replica_diverged", &[("lock", name(k))], 0.0))
            && m.is("dlock_store_primaries", &[], 1.0)
    });
    let m = exporter.metrics();
    let refused = m.all("dlock_store_permission_denied", &[]);
    assert!(refused.len() > 12 && refused.iter().all(|s| s.value == 0.0), "{refused:?}");
    assert_eq!(m.value("dlock_locks", &[("state", "held")]), Some(4.0), "each once");
}

fn a_run_is_seen(exporter: &mut Exporter, w: &World) {
    let renewals = |m: &Metrics| m.sum("dlock_lease_renewals_total", &[]);
    let before = exporter.metrics();
    for key in &w.keys {
        w.set(key, "w-1:x", "700000");
    }
    exporter.wait_for("renewals of all", SOON, |m| renewals(m) >= renewals(&before) + 3.0);
    for key in &w.keys {
        w.cluster.nodes[w.cluster.home(key)].cmd(&["DEL", key]);
    }
    exporter.wait_for("releases of all", SOON, |m| {
        ends(m, "released") == ends(&before, "released") + 3.0
    });
    for key in &w.keys {
        w.set(key, "w-2:x", FOR_LONG);
    }
    exporter.wait_for("all held again", SOON, |m| w.keys.iter().all(|key| is_held(m, key)));
}

/// Beats in all shards: keys that are no locks are found by their slots too.
fn heartbeats_are_read_where_they_are(exporter: &mut Exporter, w: &World) {
    let mut beat = 0;
    let workers = ["w-1", "w-2", "w-3", "w-4"];
    let homes: HashSet<usize> =
        workers.iter().map(|worker| w.cluster.home(&format!("hb:{worker}"))).collect();
    assert!(homes.len() > 1, "they are in several shards");
    wait_until("beats of all", SOON, || {
        beat += 1;
        for worker in workers {
            w.set(&format!("hb:{worker}"), &beat.to_string(), FOR_LONG);
        }
        let m = exporter.metrics();
        let beats = |worker| m.value("dlock_worker_heartbeats_total", &[("worker", worker)]);
        workers.iter().all(|worker| beats(*worker) >= Some(2.0)).then_some(())
    });
}

/// Without the right to ask for the slots nothing is known, and it is told why.
fn what_is_not_granted_is_told(w: &World) {
    let node = &w.cluster.nodes[0];
    let yaml = format!(
        "poll_interval: 200ms\nstores:\n  main:\n    url: {}\n    topology: cluster\n    username: bare\n    locks:\n      - {{ name: job, key: 'lock:job' }}\n",
        node.url()
    );
    let mut exporter = ExporterSetup::file(&yaml).password().start();
    exporter.wait_for("dlock_store_up 0", SOON, |m| {
        let reason = [("poller", "redis"), ("reason", "permission")];
        m.is("dlock_store_up", &[("addr", &addr(node))], 0.0)
            && m.sum("dlock_exporter_poll_failures_total", &reason) >= 1.0
            && m.value("dlock_lock_held", &[]).is_none()
    });
    assert!(exporter.log().contains("CLUSTER SLOTS was answered by"), "{}", exporter.log());
}

/// The slot of the first lock goes to the second shard while the lock is held.
fn a_slot_moves(exporter: &mut Exporter, w: &World) {
    let key = &w.keys[0];
    let slot = w.cluster.slot(key);
    let before = exporter.metrics();
    let all = |m: &Metrics| m.sum("dlock_lease_ends_total", &[]);
    let acquired = |m: &Metrics| m.sum("dlock_lock_acquisitions_total", &[("lock", name(key))]);
    let is_same = |m: &Metrics| all(m) == all(&before) && acquired(m) == acquired(&before);
    let check = |exporter: &mut Exporter, what: &str| {
        for_a_while(POLL * 4);
        exporter.wait_for(what, SOON, |m| is_held(m, key));
        let m = exporter.metrics();
        assert!(is_same(&m), "{what}: {}", m.lines("dlock_lease_ends"));
    };
    w.cluster.begin_move(slot, 0, 1);
    check(exporter, "held while its slot is on its way");
    w.cluster.migrate(key, 0, 1);
    check(exporter, "held when it has gone before its slot");
    w.cluster.end_move(slot, 0, 1);
    check(exporter, "held in its new shard");
    // It goes on there as before.
    w.cluster.nodes[1].cmd(&["PEXPIRE", key, "700000"]);
    let renewed = |m: &Metrics| m.value("dlock_lease_renewals_total", &[("lock", name(key))]);
    exporter.wait_for("a renewal there", SOON, |m| renewed(m) > renewed(&before));
    w.cluster.nodes[1].cmd(&["DEL", key]);
    exporter.wait_for("a release there", SOON, |m| {
        ends(m, "released") == ends(&before, "released") + 1.0
    });
    assert_eq!(raised(&exporter.metrics()), None);
}

/// The third primary is killed: its locks cannot be read, the others can, and its replica takes over.
fn a_primary_is_killed(exporter: &mut Exporter, w: &mut World) {
    let lost = w.keys[2].clone();
    let failovers = |m: &Metrics| m.value("dlock_store_failovers_total", &[]);
    assert_eq!(failovers(&exporter.metrics()), Some(0.0));
    // It does not take over before we have looked.
    let replica = 5;
    w.cluster.nodes[replica].cmd(&["CONFIG", "SET", "cluster-replica-no-failover", "yes"]);
    w.cluster.nodes[2].kill();
    exporter.wait_for("only its locks are unreadable", SOON, |m| {
        let blind = [("aspect", "lease"), ("reason", "unreachable")];
        m.value("dlock_lock_held", &[("lock", name(&lost))]).is_none()
            && is_held(m, &w.keys[1])
            && m.value("dlock_locks_blind", &blind) >= Some(1.0)
            && m.is("dlock_store_up", &[("addr", &addr(&w.cluster.nodes[2]))], 0.0)
    });
    w.cluster.nodes[replica].cmd(&["CONFIG", "SET", "cluster-replica-no-failover", "no"]);
    exporter.wait_for("they are read from the promoted replica", SOON * 2, |m| {
        is_held(m, &lost)
            && is_held(m, &w.keys[1])
            && has_role(m, &w.cluster.nodes[replica], "master")
            && failovers(m) == Some(1.0)
    });
    assert_eq!(raised(&exporter.metrics()), None);
    // Judged as before.
    w.cluster.nodes[replica].cmd(&["DEL", &lost]);
    exporter.wait_for("a release there", SOON, |m| {
        m.is("dlock_lock_held", &[("lock", name(&lost))], 0.0)
    });
    // It comes back as a replica, and its shard goes on as one.
    w.cluster.nodes[2].restart();
    exporter.wait_for("it is back", SOON * 2, |m| has_role(m, &w.cluster.nodes[2], "replica"));
    assert_eq!(failovers(&exporter.metrics()), Some(1.0));
}

#[test]
fn locks_are_read_at_their_shards_through_a_move_and_a_failover() {
    let mut w = World::start(Flavor::Installed);
    let nodes = &w.cluster.nodes;
    let mut exporter = w.exporter("topology: cluster", &[&nodes[4], &nodes[0]]);
    let mut auto = w.exporter("", &[&nodes[1]]);
    let steady = Steady::watch(&exporter);
    seen_in_all_shards(&mut exporter, &w);
    seen_in_all_shards(&mut auto, &w);
    drop(auto);
    what_is_not_granted_is_told(&w);
    heartbeats_are_read_where_they_are(&mut exporter, &w);
    a_run_is_seen(&mut exporter, &w);
    a_slot_moves(&mut exporter, &w);
    a_primary_is_killed(&mut exporter, &mut w);
    assert!(steady.finish() > 50);
    for_a_while(Duration::ZERO);
}

/// The same on the other servers, all at once.
#[test]
fn every_server_is_read_as_a_cluster() {
    let all = Flavor::ALL.into_iter().filter(|f| *f != Flavor::Installed);
    std::thread::scope(|scope| {
        for flavor in all {
            scope.spawn(move || {
                let w = World::start(flavor);
                let mut exporter = w.exporter("topology: cluster", &[&w.cluster.nodes[3]]);
                seen_in_all_shards(&mut exporter, &w);
                a_slot_moves(&mut exporter, &w);
            });
        }
    });
}
