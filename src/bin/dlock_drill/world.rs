//! What all scenarios share: the lock server, the exporter that watches it, the protected resource, and the directory of pid files.
//! It must not inject faults.

use std::path::PathBuf;
use std::time::Duration;

use dlock_exporter::clock::mono;

use crate::exporter::Metrics;
use crate::failure::Failure;
use crate::keys;
use crate::lockserver::{Address, Asked};
use crate::observed::Observed;
use crate::resource::Resource;
use crate::scenario::Scenario;

/// Workers of one lock at most, as far as their keys are cleaned up.
const MOST_WORKERS: u32 = 6;

/// The world of a rehearsal.
pub struct World {
    /// The lock server.
    pub server: Address,
    /// The exporter's name for it.
    pub store: String,
    /// The exporter.
    pub exporter: Observed,
    /// The protected resource.
    pub resource: Resource,
    /// Where workers write their process ids.
    pub dir: PathBuf,
    /// The exporter's poll interval.
    pub poll: Duration,
    /// What a busy machine is given beyond the worst delay.
    pub slack: Duration,
    /// A program that can be started as another exporter, for worlds of a scenario's own.
    pub exporter_program: Option<PathBuf>,
    /// The program of lock servers for such worlds.
    pub server_program: PathBuf,
}

/// One run of a scenario.
#[derive(Clone, Copy)]
pub struct Run {
    /// Which.
    pub scenario: &'static dyn Scenario,
    /// The n-th of it, from 1.
    pub number: u32,
}

impl Run {
    /// Its lock.
    pub fn lock(&self) -> String {
        keys::lock_name(self.scenario.name(), self.number)
    }
}

impl World {
    /// The keys of these runs are not there: nobody else rehearses on this server. Nothing is written before that is known.
    pub async fn check_empty(&self, runs: &[Run]) -> Result<(), Failure> {
        let mut server = Asked::new(&self.server);
        for run in runs {
            let key = keys::lock_key(&run.lock());
            if server.call::<bool>(&["EXISTS", &key]).await? {
                return Err(Failure::new(format!(
                    "the key {key} is there: another rehearsal runs on this server, or one was killed; then its lease is over \
                     in a few seconds"
                )));
            }
        }
        // Tokens that never go down: an old resource's would be larger than those that begin with 1.
        let first = format!("{}", dlock_exporter::clock::wall_secs() as u64);
        for run in runs {
            let set = server.call::<()>(&["SET", &keys::fence_key(&run.lock()), &first]).await;
            if let Err(failure) = set {
                let _ = self.clean(runs).await;
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Waits until the exporter shows the locks of all runs, or says what to add to its config.
    pub async fn check_watched(&self, runs: &[Run]) -> Result<(), Failure> {
        let begun = mono();
        let limit = self.poll * 3 + self.slack;
        loop {
            let seen = self.exporter.now();
            let missing = runs.iter().map(Run::lock).find(|lock| {
                let labels = [("store", self.store.as_str()), ("lock", lock)];
                seen.metrics.value("dlock_lock_held", &labels).is_none()
            });
            let Some(missing) = missing else { return Ok(()) };
            if mono().since(begun) > limit {
                self.check_store(&seen.metrics)?;
                self.check_readable(&seen.metrics, &missing)?;
                return Err(Failure::new(format!(
                    "the exporter at {} does not watch the lock {missing} of the store {}: add to its config what `dlock_drill config` \
                     prints (with the same --store, --dir, --resource and --repeat), let its user read dlock_drill:*, and reload \
                     it; or let the drill start one with --start-exporter",
                    self.exporter.url(),
                    self.store
                )));
            }
            let _ = self.exporter.after(seen.at, limit).await;
        }
    }

    /// The store is one of the exporter's, and it can be read: without that, nothing of its locks can be told.
    fn check_store(&self, metrics: &Metrics) -> Result<(), Failure> {
        let (url, store) = (self.exporter.url(), &self.store);
        let own = [("store", store.as_str())];
        let mut nodes = metrics.all("dlock_store_up", &own).peekable();
        if nodes.peek().is_none() {
            let mut known: Vec<&str> =
                metrics.all("dlock_store_up", &[]).filter_map(|s| s.label("store")).collect();
            known.dedup();
            return Err(Failure::new(format!(
                "the exporter at {url} has no store {store}, but {known:?}: name with --store the one of this server"
            )));
        }
        if nodes.all(|s| s.value == 0.0) {
            return Err(Failure::new(format!(
                "the exporter at {url} cannot read the store {store} (dlock_store_up 0): its log says why"
            )));
        }
        Ok(())
    }

    /// A lock that is configured and cannot be read says so itself.
    fn check_readable(&self, metrics: &Metrics, lock: &str) -> Result<(), Failure> {
        let own = [("store", self.store.as_str()), ("lock", lock)];
        let Some(lost) = metrics.all("dlock_coverage_lost", &own).find(|s| s.value == 1.0) else {
            return Ok(());
        };
        let label = |name| lost.label(name).unwrap_or_default();
        Err(Failure::new(format!(
            "the exporter at {} has the lock {lock} of the store {} in its config and cannot judge it (dlock_coverage_lost, aspect {}, reason \
             {}): may its user read dlock_drill:* (%R~dlock_drill:*)?",
            self.exporter.url(),
            self.store,
            label("aspect"),
            label("reason")
        )))
    }

    /// Removes every key and file that these runs can have left. What fails does not keep the rest.
    pub async fn clean(&self, runs: &[Run]) -> Result<(), Failure> {
        let mut server = Asked::new(&self.server);
        let mut cleaned = Ok(());
        for run in runs {
            let lock = run.lock();
            let mut left = vec![keys::lock_key(&lock), keys::fence_key(&lock)];
            for n in 1..=MOST_WORKERS {
                let worker = keys::worker_name(&lock, n);
                left.push(keys::heartbeat_key(&worker));
                for end in ["pid", "pid.renewer", "log"] {
                    let _ = std::fs::remove_file(self.dir.join(format!("{worker}.{end}")));
                }
            }
            // One by one: in a cluster several keys at once are refused.
            for key in left {
                let gone = server.call::<()>(&["DEL", &key]).await;
                cleaned = cleaned.and(gone);
            }
        }
        cleaned
    }
}
