//! A primary of some version with its replica, watched as one store, and what a scrape says of that store.

use super::LOCKS;
use crate::support::{Flavor, Metrics, RedisServer, RedisSetup};

/// A primary with its replica.
pub struct Pair {
    pub flavor: Flavor,
    /// The name of its store, that of the flavor.
    pub store: String,
    pub primary: RedisServer,
    pub replica: RedisServer,
}

impl Pair {
    pub fn start(flavor: Flavor) -> Self {
        let primary = RedisSetup::default().flavor(flavor).start();
        let replica = RedisSetup::default().flavor(flavor).replica_of(&primary).start();
        // What a Redisson lock keeps beside it, as the README says.
        let beside = if flavor == Flavor::Redis62 { "~redisson_*" } else { "%R~redisson_*" };
        for server in [&primary, &replica] {
            server.cmd(&["ACL", "SETUSER", "dlock", beside]);
        }
        Self { flavor, store: format!("{flavor:?}").to_lowercase(), primary, replica }
    }

    pub fn config(&self) -> String {
        let holder = "'^(?P<worker>[^:_]+)'";
        let (store, url) = (&self.store, self.primary.url());
        let locks: String = LOCKS
            .iter()
            .map(|l| format!("      - {{ name: {l}, key: 'lock:{l}', holder: {holder} }}\n"))
            .collect();
        format!(
            "  {store}:\n    url: {url}\n    username: dlock\n    response_timeout: 800ms\n    locks:\n{locks}"
        )
    }

    /// The one sample with these labels in this store.
    pub fn value(&self, m: &Metrics, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        m.value(name, &[&[("store", self.store.as_str())][..], labels].concat())
    }

    pub fn sum(&self, m: &Metrics, name: &str, labels: &[(&str, &str)]) -> f64 {
        m.sum(name, &[&[("store", self.store.as_str())][..], labels].concat())
    }

    pub fn of(&self, m: &Metrics, name: &str, lock: &str) -> Option<f64> {
        self.value(m, name, &[("lock", lock)])
    }

    pub fn ended(&self, m: &Metrics, lock: &str, evidence: &str) -> bool {
        let how = [("lock", lock), ("evidence", evidence)];
        self.value(m, "dlock_lease_ends_total", &how) == Some(1.0)
            && self.sum(m, "dlock_lease_ends_total", &[("lock", lock)]) == 1.0
    }

    pub fn has_holder(&self, m: &Metrics, lock: &str, worker: &str) -> bool {
        let who = [("lock", lock), ("worker", worker)];
        self.value(m, "dlock_lock_holder_info", &who) == Some(1.0)
    }

    /// Errors that both servers counted by kind, and what their ACLs refused.
    pub fn refusals(&self) -> Vec<(String, usize)> {
        let counted = |server: &RedisServer| {
            let redis::Value::Array(log) = server.cmd(&["ACL", "LOG"]) else { panic!("no list") };
            (server.text(&["INFO", "errorstats"]), log.len())
        };
        [counted(&self.primary), counted(&self.replica)].into()
    }
}
