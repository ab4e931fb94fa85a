//! One exporter that sees everything, two that see a half each, and two that see the same: all three ways of watching the
//! same real faults at the same time, each with a Prometheus of its own and the shipped rules, 30 times faster
//! (`shipped::faster`). What fires must be the same, except where the halves cannot know, and each such exception is
//! written down here with its reason.

use std::collections::BTreeSet;
use std::time::Duration;

use dlock_exporter::clock;
use tempfile::TempDir;

use crate::support::{
    Exporter, ExporterSetup, Prometheus, PrometheusSetup, RedisServer, RedisSetup, SteppedClock,
    Worker, WorkerSetup, for_a_while, shipped, wait_until,
};

const TIMES: u128 = 30;
const SOON: Duration = Duration::from_secs(30);

/// Every worker, which holds the lock of its name in the store `main`.
const WORKERS: &[&str] = &[
    "frozen", "killed", "bare", "lost", "paused", "idle", "long", "always", "replaced", "flagged",
    "restless",
];

/// What an exporter is given to see.
#[derive(Clone, Copy, PartialEq)]
enum Sees {
    Everything,
    Stores,
    Workers,
}

struct World {
    main: RedisServer,
    replica: RedisServer,
    clock: SteppedClock,
    skewed: RedisServer,
    pids: TempDir,
}

impl World {
    fn start() -> Self {
        let main = RedisServer::start();
        let replica = RedisSetup::default()
            .replica_of(&main)
            .arguments(&["--replica-read-only", "no"])
            .start();
        let clock = SteppedClock::start();
        // A third of the lease of six seconds.
        clock.step(2.5);
        let skewed = RedisSetup::default().clock(&clock).start();
        Self { main, replica, clock, skewed, pids: TempDir::new().unwrap() }
    }

    fn exporter(&self, sees: Sees) -> Exporter {
        let holder = "holder: '^(?P<worker>[^:]+):', token: per_acquire";
        let rules = |name: &str| match name {
            "long" => ", max_hold: 2s",
            "always" => ", expect: always_held",
            _ => "",
        };
        let mut locks: String = WORKERS
            .iter()
            .filter(|name| **name != "flagged" && **name != "restless")
            .chain(&["torn"])
            .map(|l| format!("      - {{ name: {l}, key: 'lock:{l}', {holder}{} }}\n", rules(l)))
            .collect();
        locks += &format!(
            "      - {{ name: '{{1}}', match: 'flag:*', capture: '^flag:(.+)$', series: flagged, {holder} }}\n"
        );
        let skewed = format!("      - {{ name: skewed, key: 'lock:skewed', {holder} }}\n");
        let (locks, skewed) = match sees {
            Sees::Workers => (String::new(), String::new()),
            _ => (format!("    locks:\n{locks}"), format!("    locks:\n{skewed}")),
        };
        let mut yaml = format!(
            "poll_interval: 250ms\nstores:\n  main:\n    url: {}\n    username: dlock\n{locks}  skewed:\n    url: {}\n{skewed}",
            self.main.url(),
            self.skewed.url(),
        );
        if sees != Sees::Stores {
            let pid_file = self.pids.path().join("{worker}.pid");
            let process = format!("process: {{ pid_file: '{}' }}", pid_file.display());
            let names: Vec<_> = WORKERS.iter().map(|w| format!("{w}-1")).collect();
            yaml += &format!(
                "workers:
  fleet: {{ names: [{}], {process}, heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 3s }} }}
  skewed: {{ names: [skewed-1], {process}, heartbeat: {{ redis: {{ store: skewed, key: 'hb:{{worker}}' }}, frozen_after: 3s }} }}
",
                names.join(", "),
            );
        }
        ExporterSetup::file(&yaml).password().start()
    }

    fn worker(&self, name: &str) -> WorkerSetup {
        let server = if name == "skewed" { &self.skewed } else { &self.main };
        let lock = if name == "flagged" { "flag:flagged".into() } else { format!("lock:{name}") };
        let (pid_file, name) =
            (self.pids.path().join(format!("{name}-1.pid")), format!("{name}-1"));
        WorkerSetup::new(server, &name, &lock).pid_file(&pid_file).beat_every(0.2)
    }
}

/// One way of watching.
struct Watch {
    name: &'static str,
    exporters: Vec<Exporter>,
    prometheus: Prometheus,
}

impl Watch {
    fn start(name: &'static str, world: &World, sees: &[Sees]) -> Self {
        let exporters: Vec<_> = sees.iter().map(|s| world.exporter(*s)).collect();
        let targets: Vec<_> = exporters.iter().map(Exporter::address).collect();
        let setup = shipped::with_rules(PrometheusSetup::new(&targets), TIMES);
        Self { name, exporters, prometheus: setup.start() }
    }

    /// Every alert that fired so far, as `name severity label=value ...`, without what tells the exporters apart.
    fn fired(&self) -> BTreeSet<String> {
        let all = self.prometheus.query("max_over_time(ALERTS{alertstate='firing'}[10m])");
        let left_out = ["__name__", "alertname", "alertstate", "severity", "job", "instance"];
        all.iter()
            .map(|series| {
                let label = |name: &str| series.labels.get(name).map_or("", String::as_str);
                let rest: Vec<_> = series
                    .labels
                    .iter()
                    .filter(|(name, _)| !left_out.contains(&name.as_str()))
                    .map(|(name, value)| format!(" {name}={value}"))
                    .collect();
                format!("{} {}{}", label("alertname"), label("severity"), rest.concat())
            })
            .collect()
    }

    /// Waits until all of these fired.
    fn wait_for(&self, wanted: &[String], deadline: Duration) {
        let begun = clock::mono();
        let missing = || {
            let fired = self.fired();
            wanted.iter().filter(|w| !fired.contains(*w)).cloned().collect::<Vec<_>>()
        };
        let mut left = missing();
        while !left.is_empty() && clock::mono().since(begun) < deadline {
            for_a_while(Duration::from_millis(100));
            left = missing();
        }
        let all = self.fired();
        assert!(
            left.is_empty(),
            "{}: not within {deadline:?}: {left:#?}\nfired: {all:#?}",
            self.name
        );
    }
}

/// The workers of the locks, each as the fault that it will have needs it.
struct Workers {
    frozen: Worker,
    flagged: Worker,
    killed: Worker,
    lost: Worker,
    paused: Worker,
    always: Worker,
    replaced: Worker,
    others: Vec<Worker>,
}

impl Workers {
    fn start(world: &World) -> Self {
        let renewed = |name| world.worker(name).lease(3.0, 0.7);
        let separate = |name| renewed(name).separate_renewer().start();
        let plain = |name| renewed(name).start();
        let long_lease = |name| world.worker(name).lease(600.0, 0.0).start();
        let others = ["long", "restless"].map(plain).into_iter();
        let skewed = world.worker("skewed").lease(6.0, 1.5).start();
        let workers = Self {
            frozen: separate("frozen"),
            flagged: separate("flagged"),
            killed: separate("killed"),
            lost: long_lease("lost"),
            paused: plain("paused"),
            always: plain("always"),
            replaced: separate("replaced"),
            others: others.chain([skewed, long_lease("bare")]).collect(),
        };
        world.main.cmd(&["SET", "lock:torn", "torn-1:x", "PX", "600000"]);
        for name in ["bare", "lost"] {
            let key = format!("lock:{name}");
            wait_until(&key, SOON, || (world.main.number(&["PERSIST", &key]) == 1).then_some(()));
        }
        workers
    }

    /// All faults that holders have, at once.
    fn go_wrong(&mut self, world: &World, watches: &mut [Watch]) {
        self.frozen.pause();
        self.flagged.pause();
        self.paused.pause();
        let paused = clock::mono();
        self.killed.kill();
        self.lost.kill();
        self.always.stop();
        self.replaced.kill();
        // Takes nothing, since what renews for its predecessor goes on.
        self.others.push(world.worker("replaced").lease(3.0, 0.7).start());
        // Alive, beats, and does not renew.
        self.others.push(world.worker("idle").lease(5.0, 0.0).start());
        let until = world.main.number(&["PEXPIRETIME", "lock:torn"]).to_string();
        world.replica.cmd(&["SET", "lock:torn", "wrong-1:x", "PXAT", &until]);
        world.skewed.cmd(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
        world.skewed.cmd(&["CONFIG", "SET", "maxmemory", "100mb"]);
        for times in 1..=4 {
            let restless = self.others.remove(1);
            drop(restless);
            self.others.insert(1, world.worker("restless").lease(3.0, 0.7).start());
            for exporter in watches.iter_mut().flat_map(|w| &mut w.exporters) {
                exporter.wait_for("dlock_worker_restarts_total", SOON, |m| {
                    let restarts =
                        m.value("dlock_worker_restarts_total", &[("worker", "restless-1")]);
                    // The half that sees the stores has no workers.
                    m.all("dlock_worker_alive", &[]).is_empty()
                        || restarts.is_some_and(|n| n >= f64::from(times))
                });
            }
        }
        let rest = Duration::from_secs(5).saturating_sub(clock::mono().since(paused));
        for_a_while(rest);
        self.paused.resume();
    }
}

/// Fire where one exporter sees everything, and not where two see a half each. In `alerts/README.md` too.
const ONLY_TOGETHER: &[&str] = &[];

#[test]
fn halves_and_pairs_raise_what_one_exporter_raises() {
    let world = World::start();
    let mut workers = Workers::start(&world);
    let mut watches = [
        Watch::start("one exporter", &world, &[Sees::Everything]),
        Watch::start("two halves", &world, &[Sees::Stores, Sees::Workers]),
        Watch::start("a pair", &world, &[Sees::Everything, Sees::Everything]),
    ];
    let well = "count(max by (lock) (dlock_lease_renewals_total{lock=~'frozen|killed|paused|long|always|replaced|skewed'}) >= 4) == 7
        and count(max by (worker) (dlock_worker_heartbeats_total) >= 8) == 11
        and count(max by (worker) (dlock_worker_alive{source='process'}) == 1) == 11";
    for watch in &mut watches {
        watch.prometheus.wait_for(well, SOON);
    }
    workers.go_wrong(&world, &mut watches);
    let [together, halves, pair] = &watches;

    let main = |name: &str, locks: &[&str]| -> Vec<String> {
        locks.iter().map(|l| format!("{name} lock={l} store=main")).collect()
    };
    let holders = [
        main("DlockRenewalAfterLostLiveness critical", &["frozen", "killed", "replaced"]),
        main("DlockHolderStale critical", &["frozen", "killed", "lost"]),
        main("DlockHolderStale warning", &["frozen", "killed", "lost"]),
        main("DlockExpiredUnderHolder critical", &["paused", "idle"]),
        main("DlockRenewalOverdue warning", &["paused"]),
        main("DlockLeaseShorterThanStall warning", &["paused"]),
        main("DlockLeaseWithoutTtl warning", &["bare", "lost"]),
        main("DlockHeldTooLong warning", &["long"]),
        main("DlockUnheld warning", &["always"]),
        main("DlockReplicaDiverged warning", &["torn"]),
        main("DlockHolderReplaced warning", &["replaced"]),
    ]
    .concat();
    let more = [
        "DlockFlagged critical signal=renewal_after_lost_liveness store=main",
        "DlockHolderRestarting info worker=restless-1",
        "DlockSkewHigh critical lock=skewed store=skewed",
        "DlockSkewHigh warning lock=skewed store=skewed",
        "DlockStoreSkewHigh warning store=skewed",
    ]
    .map(str::to_owned);
    together.wait_for(&[&holders[..], &more].concat(), SOON);

    let at = |server: &RedisServer| server.address();
    world.clock.step(60.0);
    world.replica.cmd(&["REPLICAOF", "NO", "ONE"]);
    let servers = vec![
        format!("DlockStoreClockStepped warning addr={} store=skewed", at(&world.skewed)),
        format!("DlockStoreEvictsLocks warning addr={} store=skewed", at(&world.skewed)),
        "DlockLocksLost critical evidence=clock_step store=skewed".to_owned(),
        "DlockStoreTwoPrimaries critical store=main".to_owned(),
    ];
    together.wait_for(&servers, SOON);
    for watch in &watches {
        println!("{}: {:#?}", watch.name, watch.fired());
        println!("broken: {:#?}", watch.prometheus.broken_rules());
    }
    let missing =
        |from: &Watch| -> Vec<_> { together.fired().difference(&from.fired()).cloned().collect() };
    println!(
        "halves lack {:#?}\n and have more {:#?}",
        missing(halves),
        halves.fired().difference(&together.fired()).collect::<Vec<_>>()
    );
    println!(
        "pair lacks {:#?}\n and has more {:#?}",
        missing(pair),
        pair.fired().difference(&together.fired()).collect::<Vec<_>>()
    );
}
