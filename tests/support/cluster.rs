//! A private Redis Cluster: three primaries with a replica each. Its default user may do everything; the user `dlock` has the
//! README's lines. `bare` may not do what only a cluster needs. Slots are moved by the commands that `redis-cli --cluster reshard` sends.

use std::time::Duration;

use super::{Flavor, RedisServer, RedisSetup, repository, wait_until};

const SOON: Duration = Duration::from_secs(20);
const SLOTS: u16 = 16_384;
/// A user who may not ask for the map of the slots, and may read otherwise.
const BARE: &str = "user bare on >watch-only resetchannels ~* -@all +@read +@connection +multi +exec +time +info +role";

/// A running cluster.
pub struct Cluster {
    /// The primaries, then their replicas in the same order.
    pub nodes: Vec<RedisServer>,
}

impl Cluster {
    /// Starts it and waits until it serves and is replicated.
    pub fn start(flavor: Flavor) -> Self {
        let start = |_| {
            let words = ["--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"];
            let setup = RedisSetup::default().flavor(flavor).cluster().arguments(&words);
            setup.grant(&line_of_the_readme()).acl(BARE).start()
        };
        let cluster = Self { nodes: (0..6).map(start).collect() };
        let nodes = &cluster.nodes;
        for (i, node) in nodes.iter().enumerate() {
            node.cmd(&["CLUSTER", "SET-CONFIG-EPOCH", &(i + 1).to_string()]);
            if i < 3 {
                // There is a command for ranges since 7.0.
                let slots: Vec<String> = (share(i).0..=share(i).1).map(|s| s.to_string()).collect();
                let mut words = vec!["CLUSTER", "ADDSLOTS"];
                words.extend(slots.iter().map(String::as_str));
                node.cmd(&words);
            }
        }
        for node in &nodes[1..] {
            let port = node.address().port().to_string();
            nodes[0].cmd(&["CLUSTER", "MEET", "127.0.0.1", &port]);
        }
        cluster.wait_until_all("all know each other", "CLUSTER INFO", "cluster_known_nodes:6");
        for i in 0..3 {
            let id = cluster.id(i);
            nodes[i + 3].cmd(&["CLUSTER", "REPLICATE", &id]);
        }
        cluster.wait_until_all("the cluster serves", "CLUSTER INFO", "cluster_state:ok");
        for replica in &nodes[3..] {
            wait_until("the replica is linked", SOON, || {
                let text = replica.text(&["INFO", "replication"]);
                text.contains("master_link_status:up").then_some(())
            });
        }
        cluster
    }

    fn wait_until_all(&self, what: &str, command: &str, part: &str) {
        let words: Vec<&str> = command.split(' ').collect();
        wait_until(what, SOON, || {
            self.nodes.iter().all(|n| n.text(&words).contains(part)).then_some(())
        });
    }

    /// The id of a node.
    pub fn id(&self, node: usize) -> String {
        self.nodes[node].text(&["CLUSTER", "MYID"])
    }

    /// The slot of a key.
    pub fn slot(&self, key: &str) -> u16 {
        self.nodes[0].number(&["CLUSTER", "KEYSLOT", key]).try_into().unwrap()
    }

    /// The primary that has a key's slot at the start.
    pub fn home(&self, key: &str) -> usize {
        let slot = self.slot(key);
        (0..3).find(|i| (share(*i).0..=share(*i).1).contains(&slot)).unwrap()
    }

    /// A key of this shard that begins so.
    pub fn key(&self, start: &str, home: usize) -> String {
        (0..).map(|i| format!("{start}{i}")).find(|key| self.home(key) == home).unwrap()
    }

    /// A slot begins to move between two primaries: its keys are asked for one by one from now on.
    pub fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let (slot, source, target) = (slot.to_string(), self.id(from), self.id(to));
        self.nodes[to].cmd(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source]);
        self.nodes[from].cmd(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target]);
    }

    /// One of its keys goes.
    pub fn migrate(&self, key: &str, from: usize, to: usize) {
        let port = self.nodes[to].address().port().to_string();
        self.nodes[from].cmd(&["MIGRATE", "127.0.0.1", &port, key, "0", "2000"]);
    }

    /// All of them have gone.
    pub fn end_move(&self, slot: u16, from: usize, to: usize) {
        let (slot, target) = (slot.to_string(), self.id(to));
        for node in [to, from].into_iter().chain((0..3).filter(|n| *n != from && *n != to)) {
            self.nodes[node].cmd(&["CLUSTER", "SETSLOT", &slot, "NODE", &target]);
        }
    }
}

/// The slots of a primary at the start.
fn share(node: usize) -> (u16, u16) {
    let size = SLOTS / 3;
    let first = size * u16::try_from(node).unwrap();
    (first, if node == 2 { SLOTS - 1 } else { first + size - 1 })
}

/// What the README grants besides in a cluster.
fn line_of_the_readme() -> String {
    let readme = std::fs::read_to_string(repository("README.md")).expect("README.md can be read");
    let line = readme.lines().find_map(|l| l.strip_prefix("ACL SETUSER dlock +cluster"));
    format!("+cluster{}", line.expect("README.md grants what a cluster needs"))
}
