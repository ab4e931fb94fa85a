//! Every fault that the runbooks are for, as far as it can be made here, all at the same time: stopped, killed, frozen
//! and replaced holders, lost, endless and contradicted locks, servers that are down, doubled, restarted, and whose
//! clocks jump or stand still, and an exporter that is gone. It must not know what the runbooks say.

use std::collections::BTreeMap;
use std::time::Duration;

use dlock_exporter::clock;
use tempfile::TempDir;

use super::config;
use super::odd;
use super::servers::{LONG, Servers, hold, hold_all, worker};
use super::signs;
use super::variables::Variables;
use crate::jvm::Jvm;
use crate::processes::{sleeper, unique};
use crate::support::{
    Alertmanager, Cgroup, Chronyd, ChronydSetup, Exporter, ExporterSetup, Group, Prometheus,
    PrometheusSetup, Worker, first_child, for_a_while,
};

const SOON: Duration = Duration::from_secs(20);

/// Everything. Its cgroup comes first, so that frozen processes are freed before they are ended.
pub struct World {
    pub cgroup: Option<Cgroup>,
    exporter: Exporter,
    prometheus: Prometheus,
    alertmanager: Alertmanager,
    workers: BTreeMap<&'static str, Worker>,
    sleepers: BTreeMap<&'static str, (Group, TempDir)>,
    _nested: (Group, TempDir),
    jvm: Jvm,
    clock: (Chronyd, Chronyd),
    servers: Servers,
    marks: BTreeMap<&'static str, String>,
    good_config: String,
    dir: TempDir,
}

impl World {
    /// Starts everything well, and then breaks it.
    pub fn start() -> Self {
        let servers = Servers::start();
        let dir = TempDir::new().expect("a temporary directory can be made");
        let pid_file = dir.path().join("jvm.pid");
        let jvm = Jvm::start(&[], &pid_file).expect("there is a JDK; tests/run installs it");
        let marks: BTreeMap<_, _> = ["nightly", "cold", "far"].map(|n| (n, unique())).into();
        let sleepers: BTreeMap<_, _> = marks.iter().map(|(n, mark)| (*n, sleeper(mark))).collect();
        let cgroup = Cgroup::v2(&format!("dlock-runbooks-{}", std::process::id()));
        if let Some(cgroup) = &cgroup {
            cgroup.add(sleepers["cold"].0.pid());
        }
        let clock = (ChronydSetup::unsynchronised().line("server 127.0.0.9 port 1").start(), {
            let mut gone = ChronydSetup::unsynchronised().start();
            gone.kill();
            gone
        });
        let (alone, separate) = (false, true);
        let workers = BTreeMap::from([
            ("orders-1", worker(&servers.main, "orders", 6.0, 1.0, separate)),
            ("payments-1", worker(&servers.main, "payments", 900.0, 300.0, alone)),
            ("invoices-1", worker(&servers.main, "invoices", 2.0, 0.5, alone)),
            ("reports-1", worker(&servers.main, "reports", 6.0, 1.0, alone)),
            ("batch-1", worker(&servers.main, "batch", 2.0, 0.5, separate)),
        ]);
        hold_all(&servers.main);
        for server in [&servers.split, &servers.jumped, &servers.halted] {
            hold(server, "lost", &["PX", LONG]);
        }
        for server in &servers.several {
            server.cmd(&["SET", "lock:several", "several-1:x", "PX", LONG]);
        }

        let good_config =
            config::of_the_exporter(&servers, &clock, &marks, &pid_file.display().to_string());
        let setup = |yaml: &str, stores: &[&str]| {
            let password = |s: ExporterSetup, store: &&str| {
                s.env(&format!("DLOCK__STORES__{store}__PASSWORD"), "watch-only")
            };
            stores.iter().fold(ExporterSetup::file(yaml), password).start()
        };
        let exporter = setup(&good_config, &["MAIN", "SPLIT"]);
        let far = setup(&config::of_the_far_exporter(&servers, &marks), &["FAR"]);
        let route = "route: { receiver: none }\nreceivers: [{ name: none }]\n";
        let alertmanager = Alertmanager::start(route);
        let mut prometheus =
            PrometheusSetup::new(&[exporter.address(), far.address()]).alertmanager(&alertmanager);
        for file in crate::support::shipped::rule_files() {
            prometheus = prometheus.rules(&file);
        }
        let prometheus = prometheus.start();
        let mut world = Self {
            cgroup,
            exporter,
            prometheus,
            alertmanager,
            workers,
            sleepers,
            _nested: odd::take_and_never_let_go(&servers.main),
            jvm,
            clock,
            servers,
            marks,
            good_config,
            dir,
        };
        world.wait_healthy();
        world.break_everything(far);
        world.wait_broken();
        world
    }

    fn wait_healthy(&mut self) {
        self.exporter.wait_for(
            "all well: dlock_lock_held dlock_lease_renewals",
            SOON,
            signs::healthy,
        );
        for seen in [
            "dlock_worker_alive{worker='far-1'} == 1 and on () dlock_store_up{store='far'} == 1",
            // A counter that Prometheus sees for the first time when it is 1 has not risen.
            "count_over_time(dlock_store_clock_steps_total{store='jumped'}[1m]) >= 3",
        ] {
            self.prometheus.wait_for(seen, SOON);
        }
    }

    fn break_everything(&mut self, mut far: Exporter) {
        ["batch-1", "orders-1"].iter().for_each(|name| self.workers[name].pause());
        self.workers.get_mut("payments-1").expect("it was started").kill();
        self.sleepers.remove("nightly"); // and with that it is killed
        self.sleepers.insert("nightly", sleeper(&self.marks["nightly"]));
        if let Some(cgroup) = &self.cgroup {
            cgroup.freeze();
        }
        self.jvm.tell("gc 1");
        far.stop();

        let servers = &mut self.servers;
        odd::take_over(&servers.main);
        servers.replica.cmd(&["SET", "lock:mirror", "other-1:x", "PX", LONG]);
        servers.split.cmd(&["FLUSHALL"]);
        servers.promoted.cmd(&["REPLICAOF", "NO", "ONE"]);
        hold(&servers.split, "both", &["PX", LONG]);
        hold(&servers.promoted, "both", &["PX", LONG]);
        servers.several[2].cmd(&["DEL", "lock:several"]);
        servers.away.kill();
        servers.jumping.step(3.0);
        servers.halting.stop();
        self.exporter.wait_for("a step: dlock_store_clock", SOON, |m| {
            m.sum("dlock_store_clock_steps_total", &[("store", "jumped")]) > 0.0
        });
        self.servers.jumped.restart();

        // Longer than its lease of two seconds survives.
        for_a_while(Duration::from_millis(1800));
        self.workers["batch-1"].resume();
        self.lapse();
        odd::lapse_in_use(&self.servers.main, &self.exporter);
        self.exporter.rewrite(&(self.good_config.clone() + "nonsense: 1\n"));
        self.exporter.signal(rustix::process::Signal::HUP);
    }

    /// Stops the worker of the invoices until its lease has run out. On a busy machine the exporter can come too late to
    /// know how the tenure ended; then once more.
    fn lapse(&mut self) {
        let lock = [("lock", "invoices")];
        for _ in 0..5 {
            self.workers["invoices-1"].pause();
            self.exporter.wait_for("a free lock: dlock_lock_held", SOON, |m| {
                m.is("dlock_lock_held", &lock, 0.0)
            });
            let name = "dlock_lease_expired_under_holder_total";
            if self.exporter.metrics().sum(name, &lock) > 0.0 {
                return;
            }
            self.workers["invoices-1"].resume();
            self.exporter.wait_for("a healthy holder: dlock_holder_liveness", SOON, |m| {
                m.is("dlock_holder_liveness", &[("lock", "invoices"), ("state", "alive")], 1.0)
                    && m.value("dlock_lease_renewal_age_seconds", &lock).is_some_and(|a| a < 0.4)
            });
        }
        panic!("the exporter knew of no end of five");
    }

    fn wait_broken(&mut self) {
        let frozen = self.cgroup.is_some();
        self.exporter.wait_for("every fault: dlock_", SOON, move |m| signs::broken(m, frozen));
    }

    /// Which of these alerts neither fire nor wait for their `for`, after so long.
    pub fn alerts_missing(&self, names: &[&'static str], within: Duration) -> Vec<&'static str> {
        let begun = clock::mono();
        loop {
            let active: Vec<_> = self.prometheus.alerts().into_iter().map(|a| a.name).collect();
            let missing = names.iter().copied().filter(|n| !active.iter().any(|a| a == n));
            let missing: Vec<_> = missing.collect();
            if missing.is_empty() || clock::mono().since(begun) > within {
                return missing;
            }
            for_a_while(Duration::from_millis(100));
        }
    }

    /// Puts a configuration without mistakes in the place of the one that was refused.
    pub fn mend_config(&self) {
        self.exporter.rewrite(&self.good_config);
    }

    /// What the README's variables are for this runbook.
    pub fn variables(&self, runbook: &str) -> Variables {
        let s = &self.servers;
        let mut v = Variables::new(self.dir.path());
        v.set("EXPORTER", format!("http://{}", self.exporter.address()));
        v.set("PROMETHEUS", format!("http://{}", self.prometheus.address()));
        v.set("ALERTMANAGER", format!("http://{}", self.alertmanager.address()));
        v.set("CONFIG", self.exporter.config().display().to_string());
        v.set("CHRONYC", format!("-h {}", self.clock.0.socket().display()));
        v.set(
            "CGROUP",
            self.cgroup.as_ref().map_or_else(
                || "/sys/fs/cgroup".to_owned(),
                |cgroup| cgroup.path().display().to_string(),
            ),
        );
        v.node("REDIS", &s.main);
        v.node("REPLICA", &s.replica);
        v.set("ADDR", s.main.address().to_string());
        let lock = match runbook {
            "DlockHolderStale" => "payments",
            "DlockExpiredUnderHolder" | "DlockRenewalOverdue" => "invoices",
            "DlockHolderReplaced" | "DlockHolderRestarting" => "nightly",
            "DlockLeaseMarginThin" | "DlockHeldTooLong" => "reports",
            "DlockLeaseShorterThanStall" | "DlockLeaseMayBeShorterThanStall" => "batch",
            "DlockReplicaDiverged" => "mirror",
            "DlockLeaseWithoutTtl" => "forever",
            "DlockUnheld" => "leader",
            "DlockLeaseAbsurd" => "ages",
            "DlockLeaseLapsesInUse" => "again",
            "DlockHoldCountCreep" => "nested",
            "DlockHolderUnexpected" => "stranger",
            "DlockShapeUnexpected" => "mixed",
            "DlockHolderGcPause" => "jvm",
            "DlockHolderCgroupFrozen" => "cold",
            "DlockHolderUnobserved" => "far",
            _ => "orders",
        };
        self.aim(&mut v, lock);
        match runbook {
            "DlockLocksLost"
            | "DlockStoreEvictsLocks"
            | "DlockStoreTwoPrimaries"
            | "DlockContested"
            | "DlockPermissionDenied" => {
                v.set("STORE", "split");
                v.node("REDIS", &s.split);
                v.node("REPLICA", &s.promoted);
                v.set("ADDR", s.split.address().to_string());
                v.set("KEY", "lock:both");
                v.set("LOCK", "lost");
                v.set("PATTERN", "lock:*");
            }
            "DlockQuorumDegraded" => {
                v.set("STORE", "several");
                v.node("REDIS", &s.several[2]);
                v.set("KEY", "lock:several");
                v.set("LOCK", "several");
            }
            "DlockStoreDown" => {
                v.set("STORE", "away");
                v.node("REDIS", &s.away);
                v.set("ADDR", s.away.address().to_string());
            }
            "DlockStoreClockStepped" | "DlockStoreRestartUnsafe" => {
                v.set("STORE", "jumped");
                v.node("REDIS", &s.jumped);
                v.set("ADDR", s.jumped.address().to_string());
            }
            "DlockStoreClockFrozen" => {
                v.set("STORE", "halted");
                v.node("REDIS", &s.halted);
                v.set("ADDR", s.halted.address().to_string());
            }
            "DlockStoreReplicaLinkDown" => v.node("REPLICA", &s.cut_off),
            "DlockStoreUnwatched" => v.set("STORE", "far"),
            "DlockClockDown" => v.set("CLOCK", "gone"),
            _ => {}
        }
        v
    }

    /// The variables of one lock: key, worker, its process and what renews for it, and the owner's fingerprint.
    pub fn aim(&self, v: &mut Variables, lock: &str) {
        let worker = format!("{lock}-1");
        let pid = match lock {
            "jvm" => self.jvm.pid(),
            "nightly" | "cold" | "far" => self.sleepers[lock].0.pid(),
            _ => self.workers.get(worker.as_str()).map_or_else(|| self.exporter.pid(), Worker::pid),
        };
        v.set("LOCK", lock);
        v.set("KEY", format!("lock:{lock}"));
        v.set("WORKER", worker);
        v.set("PID", pid.to_string());
        v.set("RENEWER", first_child(pid).map(|pid| pid.to_string()).unwrap_or_default());
        let lock = self.exporter.get(&format!("/api/v1/locks/main/{lock}")).body;
        let lock: serde_json::Value = serde_json::from_str(&lock).expect("it is JSON");
        let fingerprint = lock["lock"]["holders"][0]["fingerprint"].as_str();
        v.set("FINGERPRINT", fingerprint.unwrap_or_default());
    }
}
