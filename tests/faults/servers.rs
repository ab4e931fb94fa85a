//! The servers that are parts: one that stands alone, a replica, a sentinel, a node of a cluster.

use std::time::Duration;

use super::node::{Node, Server};
use super::world::World;
use crate::support::{Exporter, Gate, RedisServer, RedisSetup, Sentinel, wait_until};

const SOON: Duration = Duration::from_secs(10);
/// What a store needs besides, so that a fault shows within its cell.
const TIMES: &str =
    "    username: dlock\n    connect_timeout: 300ms\n    response_timeout: 300ms\n";

fn hold(server: &mut dyn Server) {
    server.cmd(&["SET", "lock:own", "part-1:x", "PX", "600000"]);
}

fn linked(replica: &mut dyn Server) {
    wait_until("the replica is linked", SOON, || {
        replica.text(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
    });
}

/// A server alone.
pub fn redis(world: &World) -> (Node, Exporter) {
    let (gate, mut server) = (Gate::start(), RedisServer::start());
    gate.lead_to(server.address());
    hold(&mut server);
    let store = format!(
        "  part:\n    url: redis://{}\n{TIMES}    locks: [{{ name: own, key: 'lock:own', lease: 10m }}]\n",
        gate.address()
    );
    let exporter = world.setup(&store, "", "").start();
    let node = Node {
        addr: gate.address().to_string(),
        gate,
        server: Box::new(server),
        is_sentinel: false,
        lock: Some("own"),
        others: &[],
        _others: Vec::new(),
        again: Box::new(hold),
        after_kill: &["network", "refused"],
    };
    (node, exporter)
}

/// A replica, whose primary must not notice.
pub fn replica(world: &World) -> (Node, Exporter) {
    let (gate, mut primary) = (Gate::start(), RedisServer::start());
    hold(&mut primary);
    let port = gate.address().port().to_string();
    let announce = ["--replica-announce-ip", "127.0.0.1", "--replica-announce-port", &port];
    let mut server = RedisSetup::default().replica_of(&primary).arguments(&announce).start();
    linked(&mut server);
    gate.lead_to(server.address());
    let store = format!(
        "  part:\n    url: {}\n    replicas: ['{}']\n{TIMES}    locks: [{{ name: beside, key: 'lock:own', lease: 10m }}]\n",
        primary.url(),
        gate.address()
    );
    let exporter = world.setup(&store, "", "").start();
    let node = Node {
        addr: gate.address().to_string(),
        gate,
        server: Box::new(server),
        is_sentinel: false,
        lock: None,
        others: &["beside"],
        _others: vec![primary],
        again: Box::new(linked),
        after_kill: &["network", "refused"],
    };
    (node, exporter)
}

/// The only sentinel of a store: its servers are watched on.
pub fn sentinel(world: &World) -> (Node, Exporter) {
    let (gate, mut primary) = (Gate::start(), RedisServer::start());
    hold(&mut primary);
    let sentinel = Sentinel::watch(&primary, 1);
    gate.lead_to(sentinel.address());
    let store = format!(
        "  part:\n    urls: ['redis://{}']\n    topology: sentinel\n    sentinel: {{ master: locks, username: dlock }}\n{TIMES}    locks: [{{ name: beside, key: 'lock:own', lease: 10m }}]\n",
        gate.address()
    );
    let exporter = world.setup(&store, "", "").start();
    let node = Node {
        addr: gate.address().to_string(),
        gate,
        server: Box::new(sentinel),
        is_sentinel: true,
        lock: None,
        others: &["beside"],
        _others: vec![primary],
        again: Box::new(|_| {}),
        after_kill: &["network", "refused"],
    };
    (node, exporter)
}

/// One of two shards of a cluster; the other goes on.
pub fn cluster_node(world: &World) -> (Node, Exporter) {
    let gate = Gate::start();
    let words = ["--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"];
    let start = || {
        let grants = "+cluster|slots +readonly +asking";
        RedisSetup::default().cluster().arguments(&words).grant(grants).start()
    };
    let (here, mut there) = (start(), start());
    gate.lead_to(there.address());
    let (port, real) = (gate.address().port().to_string(), there.address().port());
    let bus = (real + 10_000).to_string();
    announce(&mut there, &port, &bus);
    for (node, epoch, slots) in [(&here, "1", 0..8192), (&there, "2", 8192..16_384)] {
        node.cmd(&["CLUSTER", "SET-CONFIG-EPOCH", epoch]);
        let slots: Vec<String> = slots.map(|slot: u16| slot.to_string()).collect();
        let words = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str));
        node.cmd(&words.collect::<Vec<_>>());
    }
    here.cmd(&["CLUSTER", "MEET", "127.0.0.1", &real.to_string(), &bus]);
    wait_until("the cluster serves", SOON, || {
        let ok = |n: &RedisServer| n.text(&["CLUSTER", "INFO"]).contains("cluster_state:ok");
        let map = here.text(&["CLUSTER", "NODES"]).contains(&format!(":{port}@"));
        (ok(&here) && ok(&there) && map).then_some(())
    });
    // Slots 3300 and 15495.
    here.cmd(&["SET", "lock:{b}", "x", "PX", "600000"]);
    there.cmd(&["SET", "lock:{a}", "part-1:x", "PX", "600000"]);
    let store = format!(
        "  part:\n    urls: ['redis://{}']\n    topology: cluster\n{TIMES}    locks:\n      - {{ name: own, key: 'lock:{{a}}', lease: 10m }}\n      - {{ name: beside, key: 'lock:{{b}}', lease: 10m }}\n",
        here.address()
    );
    let exporter = world.setup(&store, "", "").start();
    let node = Node {
        addr: gate.address().to_string(),
        gate,
        server: Box::new(there),
        is_sentinel: false,
        lock: Some("own"),
        others: &["beside"],
        _others: vec![here],
        again: Box::new(move |server| {
            announce(server, &port, &bus);
            wait_until("it serves in its cluster again", SOON, || {
                server.text(&["CLUSTER", "INFO"]).contains("cluster_state:ok").then_some(())
            });
            server.cmd(&["SET", "lock:{a}", "part-1:x", "PX", "600000"]);
        }),
        after_kill: &["network", "refused"],
    };
    (node, exporter)
}

/// What others find it by.
fn announce(server: &mut dyn Server, port: &str, bus: &str) {
    server.cmd(&["CONFIG", "SET", "cluster-announce-bus-port", bus]);
    server.cmd(&["CONFIG", "SET", "cluster-announce-port", port]);
}
