//! One exporter that sees everything, two that see a half each, and two that see the same: all three ways of watching the
//! same real faults at the same time, each with a Prometheus of its own and the shipped rules, 30 times faster
//! (`shipped::faster`). What fires must be the same, except where the halves cannot know, and each such exception is
//! written down here with its reason.

use std::collections::BTreeSet;
use std::time::Duration;

use dlock_exporter::clock;
use tempfile::TempDir;

use crate::support::{
    Exporter, ExporterSetup, Metrics, Prometheus, PrometheusSetup, RedisServer, RedisSetup, Series,
    SteppedClock, Worker, WorkerSetup, for_a_while, long, shipped, wait_until, whole_machine,
};

const TIMES: u128 = 30;
const SOON: Duration = Duration::from_secs(60);

/// These have a `for` of fifteen minutes, half a minute here: only the longer form of the test waits for them.
const SLOW: &[&str] = &["DlockLeaseMayBeShorterThanStall", "DlockWorkerCoverageLost"];

/// A busy machine may bring these to healthy locks, and to one exporter and not to another that looks at other instants.
/// They are compared where the test means them to fire.
const BY_CHANCE: &[&str] = &[
    "DlockCoverageLost",
    "DlockExpiredUnderHolder",
    "DlockExporterDown",
    "DlockFlagged",
    "DlockLeaseLapsesInUse",
    "DlockLeaseMarginThin",
    "DlockLeaseShorterThanStall",
    "DlockPollerStale",
    "DlockRenewalOverdue",
    "DlockStoreFailover",
    "DlockStoreUnreachableFromOne",
];

/// Every worker, which holds the lock of its name in the store `main`.
const WORKERS: &[&str] = &[
    "frozen", "killed", "bare", "lost", "stuck", "idle", "long", "always", "replaced", "flagged",
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
            "      - {{ name: '{{1}}', match: 'lock:flag:*', capture: '^lock:flag:(.+)$', series: flagged, {holder} }}\n"
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
        let lock =
            if name == "flagged" { "lock:flag:flagged".into() } else { format!("lock:{name}") };
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

    /// Every alert that fired so far, but those that are slow, as `name severity label=value ...`, without what tells the exporters apart.
    fn fired(&self) -> BTreeSet<String> {
        let all = self.prometheus.query("max_over_time(ALERTS{alertstate='firing'}[10m])");
        let left_out = ["__name__", "alertname", "alertstate", "severity", "job", "instance"];
        let label =
            |series: &Series, name: &str| series.labels.get(name).cloned().unwrap_or_default();
        all.iter()
            .filter(|series| long() || !SLOW.contains(&label(series, "alertname").as_str()))
            .map(|series| {
                let rest: Vec<_> = series
                    .labels
                    .iter()
                    .filter(|(name, _)| !left_out.contains(&name.as_str()))
                    .map(|(name, value)| format!(" {name}={value}"))
                    .collect();
                let (name, severity) = (label(series, "alertname"), label(series, "severity"));
                format!("{name} {severity}{}", rest.concat())
            })
            .collect()
    }

    /// Whether these are halves and cannot raise that alert.
    fn is_excused(&self, alert: &str) -> bool {
        self.name == "two halves" && cannot_be_joined(alert).is_some()
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
    stuck: Worker,
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
            stuck: world.worker("stuck").lease(1.5, 0.4).start(),
            always: plain("always"),
            replaced: world.worker("replaced").lease(10.0, 5.0).separate_renewer().start(),
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
        self.killed.kill();
        self.lost.kill();
        self.always.stop();
        self.replaced.kill();
        // Its successor starts well after a renewal and before the next: which process renewed is beyond doubt then. It
        // takes nothing, since what renews for its predecessor goes on.
        wait_until("a renewal of some time ago", SOON, || {
            let left = world.main.number(&["PTTL", "lock:replaced"]);
            (7000..8500).contains(&left).then_some(())
        });
        self.others.push(world.worker("replaced").lease(10.0, 5.0).start());
        // Alive, beats, and works for longer than its lease, again and again.
        self.others.push(world.worker("idle").lease(1.5, 0.0).cycles(100, 4.0, 0.5).start());
        let left = world.main.number(&["PTTL", "lock:torn"]).to_string();
        world.replica.cmd(&["SET", "lock:torn", "wrong-1:x", "PX", &left]);
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
        lapses_under(&self.stuck, "stuck", watches);
    }
}

/// Stops a worker, and its lease runs out under it; again if some exporter read the key too late to say how that tenure
/// ended. A lease that ends in the dark pages nobody.
fn lapses_under(worker: &Worker, lock: &'static str, watches: &mut [Watch]) {
    let held = |m: &Metrics, value| m.is("dlock_lock_held", &[("lock", lock)], value);
    let lapsed = [("lock", lock), ("evidence", "lapsed")];
    for _ in 0..10 {
        let mut is_proven = true;
        worker.pause();
        for exporter in watches.iter_mut().flat_map(|w| &mut w.exporters) {
            if exporter.metrics().all("dlock_lock_held", &[]).is_empty() {
                continue;
            }
            exporter.wait_for("it ran out: dlock_lock_held", SOON, |m| held(m, 0.0));
            let ends = exporter.metrics().value("dlock_lease_ends_total", &lapsed);
            is_proven &= ends.is_some_and(|n| n > 0.0);
        }
        if is_proven {
            return;
        }
        worker.resume();
        for exporter in watches.iter_mut().flat_map(|w| &mut w.exporters) {
            exporter.wait_for("it is held again: dlock_lock_held", SOON, |m| {
                held(m, 1.0) || m.all("dlock_lock_held", &[]).is_empty()
            });
        }
    }
    panic!("in ten attempts no lease of {lock} ran out for all to see");
}

/// Why halves may not raise an alert that one exporter raises; `None` if they must.
fn cannot_be_joined(alert: &str) -> Option<&'static str> {
    if alert.contains(" lock=flagged ") || alert.starts_with("DlockFlagged ") {
        // And a half cannot see a signal rise that needs the other half.
        return Some("with `series: flagged` a lock has no series before a signal rises");
    }
    let by_token = ["DlockHolderStale ", "DlockRenewalAfterLostLiveness "];
    if alert.contains(" lock=replaced ") && by_token.iter().any(|a| alert.starts_with(a)) {
        // DlockHolderReplaced says it, as a warning.
        return Some("no metric says whether a new process may go on with its predecessor's token");
    }
    None
}

#[test]
fn halves_and_pairs_raise_what_one_exporter_raises() {
    let _calm = whole_machine();
    let mut world = World::start();
    let mut workers = Workers::start(&world);
    let mut watches = [
        Watch::start("one exporter", &world, &[Sees::Everything]),
        Watch::start("two halves", &world, &[Sees::Stores, Sees::Workers]),
        Watch::start("a pair", &world, &[Sees::Everything, Sees::Everything]),
    ];
    let well = "count(max by (lock) (dlock_lease_renewals_total{lock=~'frozen|killed|stuck|long|always|replaced|skewed'}) >= 4) == 7
        and count(max by (worker) (dlock_worker_heartbeats_total) >= 8) == 11
        and count(max by (worker) (dlock_worker_alive{source='process'}) == 1) == 11";
    for watch in &mut watches {
        watch.prometheus.wait_for(well, SOON);
    }
    workers.go_wrong(&world, &mut watches);

    let main = |name: &str, locks: &[&str]| -> Vec<String> {
        locks.iter().map(|l| format!("{name} lock={l} store=main")).collect()
    };
    let holders = [
        main(
            "DlockRenewalAfterLostLiveness critical",
            &["frozen", "killed", "flagged", "replaced"],
        ),
        main("DlockHolderStale critical", &["frozen", "killed", "flagged", "lost"]),
        main("DlockHolderStale warning", &["frozen", "killed", "flagged", "lost"]),
        main("DlockExpiredUnderHolder critical", &["stuck", "idle"]),
        main("DlockRenewalOverdue warning", &["stuck"]),
        main("DlockLeaseShorterThanStall warning", &["stuck", "frozen"]),
        main("DlockLeaseWithoutTtl warning", &["bare", "lost"]),
        main("DlockHeldTooLong warning", &["long"]),
        main("DlockUnheld warning", &["always"]),
        main("DlockReplicaDiverged warning", &["torn"]),
        main("DlockHolderReplaced warning", &["replaced"]),
    ]
    .concat();
    let more = [
        "DlockFlagged warning signal=lease_shorter_than_stall store=main",
        "DlockHolderRestarting info worker=restless-1",
        "DlockSkewHigh critical lock=skewed store=skewed",
        "DlockSkewHigh warning lock=skewed store=skewed",
        "DlockStoreSkewHigh warning store=skewed",
    ]
    .map(str::to_owned);
    let mut meant = [&holders[..], &more].concat();
    all_raise(&watches, &meant);

    let (main, skewed) = (world.main.address(), world.skewed.address());
    world.clock.step(60.0);
    world.replica.cmd(&["REPLICAOF", "NO", "ONE"]);
    let servers = [
        format!("DlockStoreClockStepped warning addr={skewed} store=skewed"),
        format!("DlockStoreEvictsLocks warning addr={skewed} store=skewed"),
        "DlockLocksLost critical evidence=clock_step store=skewed".to_owned(),
        "DlockExpiredUnderHolder critical lock=skewed store=skewed".to_owned(),
        "DlockStoreTwoPrimaries critical store=main".to_owned(),
    ];
    meant.extend(servers);
    all_raise(&watches, &meant);

    world.clock.stop();
    world.replica.kill(); // it says primary by now, and a store whose primary is seen is not down
    world.main.kill();
    let down = [
        format!("DlockStoreDown critical addr={main} store=main"),
        format!("DlockStoreDown warning addr={main} store=main"),
        format!("DlockStoreClockFrozen critical addr={skewed} store=skewed"),
    ];
    meant.extend(down);
    all_raise(&watches, &meant);
    if long() {
        for_a_while(Duration::from_secs(30));
    }
    the_same(&watches, &meant);
}

/// Waits until every watch has raised these, before the world changes again.
fn all_raise(watches: &[Watch], meant: &[String]) {
    for watch in watches {
        let must = |alert: &&String| !watch.is_excused(alert);
        let wanted: Vec<_> = meant.iter().filter(must).cloned().collect();
        watch.wait_for(&wanted, SOON);
    }
}

/// Waits until every watch has raised what the first one did, and fails if one lacks anything or has more.
fn the_same(watches: &[Watch], meant: &[String]) {
    let counts = |alert: &&String| {
        let name = alert.split(' ').next().unwrap_or_default();
        meant.contains(*alert) || !BY_CHANCE.contains(&name)
    };
    let differences = || {
        let mut all = Vec::new();
        let first = watches[0].fired();
        for watch in &watches[1..] {
            let own = watch.fired();
            let lacks = first.difference(&own).filter(|a| counts(a) && !watch.is_excused(a));
            all.extend(lacks.map(|a| format!("{} lacks {a}", watch.name)));
            let more = own.difference(&first).filter(counts);
            all.extend(more.map(|a| format!("{} alone has {a}", watch.name)));
        }
        all
    };
    let begun = clock::mono();
    let mut all = differences();
    while !all.is_empty() && clock::mono().since(begun) < SOON {
        for_a_while(Duration::from_millis(200));
        all = differences();
    }
    assert!(all.is_empty(), "{all:#?}");
    for watch in watches {
        let broken = watch.prometheus.broken_rules();
        assert!(broken.is_empty(), "{}: {broken:#?}", watch.name);
        // What names an exporter comes once for each of a pair.
        let twice = watch.prometheus.query("ALERTS{severity='critical', instance!=''}");
        assert!(twice.is_empty(), "{}: {twice:#?}", watch.name);
    }
}

/// The halves of one lock and its worker. The half at the store goes by a user of its own, so that it can be shut out.
#[test]
fn a_half_that_goes_blind_is_a_page() {
    let server = RedisServer::start();
    let worker = WorkerSetup::new(&server, "orders-1", "lock:orders").lease(2.0, 0.5);
    let _worker = worker.beat_every(0.2).start();
    let store = format!("poll_interval: 250ms\nstores:\n  main:\n    url: {}\n", server.url());
    let locks = "    username: dlock\n    locks: [{ name: orders, key: 'lock:orders', holder: '^(?P<worker>[^:]+):' }]\n";
    let workers = "workers:\n  fleet: { names: [orders-1], heartbeat: { redis: { store: main, key: 'hb:{worker}' } } }\n";
    let at_store = Exporter::start(&(store.clone() + locks));
    let at_worker = ExporterSetup::file(&(store + workers)).start();
    let targets = [at_store.address(), at_worker.address()];
    let setup = shipped::with_rules(PrometheusSetup::new(&targets), TIMES);
    let mut prometheus = setup.start();
    let well = "dlock:holder:info{worker='orders-1'} and on (worker) dlock:worker:alive == 1";
    let fires = |name: &str, severity: &str| {
        format!(
            "ALERTS{{alertname='{name}', severity='{severity}', store='main', alertstate='firing'}}"
        )
    };
    let unwatched = fires("DlockStoreUnwatched", "critical");

    prometheus.wait_for(well, SOON);
    // It does not answer Prometheus, and the other half still reports the store.
    at_store.pause();
    prometheus.wait_for(&unwatched, SOON);
    at_store.resume();
    prometheus.wait_for(&format!("({well}) unless on () {unwatched}"), SOON);

    // Redis does not let it in, and lets the other half.
    server.cmd(&["ACL", "SETUSER", "dlock", "off"]);
    server.cmd(&["CLIENT", "KILL", "USER", "dlock"]);
    prometheus.wait_for(&unwatched, SOON);
    prometheus.wait_for(&fires("DlockStoreUnreachableFromOne", "warning"), SOON);
    server.cmd(&["ACL", "SETUSER", "dlock", "on"]);
    prometheus.wait_for(&format!("({well}) unless on () {unwatched}"), SOON);

    // And the other half: the lock goes on being held, and nobody knows by whom.
    at_worker.pause();
    prometheus.wait_for(&fires("DlockHolderUnobserved", "critical"), SOON);
    at_worker.resume();
    let quiet = "unless on () ALERTS{severity='critical', alertstate='firing'}";
    prometheus.wait_for(&format!("({well}) {quiet}"), SOON);
}
