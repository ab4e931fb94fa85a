//! A small world for dashboards to show: two stores, one with a replica, holders of every kind, two chronyds and an
//! exporter; and then everything goes wrong in it. It must not know what a dashboard asks.

use std::net::SocketAddr;
use std::time::Duration;

use tempfile::TempDir;

use super::config;
use crate::jvm::Jvm;
use crate::support::{
    Cgroup, Chronyd, ChronydSetup, Driver, Exporter, ExporterSetup, Group, NtpSource, RedisServer,
    RedisSetup, SteppedClock, Worker, WorkerSetup, acl_line_of_the_readme, for_a_while,
};

const SOON: Duration = Duration::from_secs(40);
const FOR_LONG: &str = "600000";
/// One scrape and the poll before it.
const SCRAPE: Duration = Duration::from_millis(1500);

/// The world, in the order in which it may end: what is in a cgroup before the cgroup.
pub struct World {
    /// Whether one of its holders is in cgroups of its own.
    pub has_cgroups: bool,
    /// Whether one of its holders is a JVM.
    pub has_jvm: bool,
    exporter: Exporter,
    orders: Worker,
    billing: Worker,
    _payments: Worker,
    jvm: Option<Jvm>,
    busy: Group,
    cgroups: Vec<Cgroup>,
    _source: NtpSource,
    silent: Chronyd,
    _host_clock: Chronyd,
    _hands: Driver,
    replica: RedisServer,
    cache_clock: SteppedClock,
    cache: RedisServer,
    _main: RedisServer,
    quorum: [RedisServer; 3],
    _dir: TempDir,
}

impl World {
    /// Starts it, and waits until the exporter has seen all of it in good health.
    pub fn start() -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let file = |name: &str, text: String| {
            std::fs::write(dir.path().join(name), text).expect("a file can be written");
        };
        let main = RedisServer::start();
        let replica = RedisSetup::default()
            .replica_of(&main)
            .arguments(&["--replica-read-only", "no"])
            .start();
        let quorum = [(); 3].map(|()| RedisServer::start());
        let cache_clock = SteppedClock::start();
        let line = acl_line_of_the_readme().replace("ACL SETUSER", "user");
        let line = line.replace(" +config|get", "").replace("PASSWORD", "watch-only");
        let cache = RedisSetup::default()
            .acl(&line)
            .clock(&cache_clock)
            .arguments(&["--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"])
            .start();
        let source = NtpSource::start(0.01, 0.001, dlock_exporter::clock::wall_secs);
        let host_clock = ChronydSetup::following(source.address()).start();
        host_clock.wait_synchronised();
        let silent = ChronydSetup::unsynchronised().start();

        let busy = Group::start(
            "busy",
            std::process::Command::new("python3").args(["-c", BUSY]),
            &dir.path().join("busy.log"),
        );
        file("busy.pid", busy.pid().to_string());
        let cgroups = caged(&busy);
        let jvm = Jvm::start(&["-XX:+UseG1GC"], &dir.path().join("jvm.pid"));
        let worker = |name: &str| {
            let lock = format!("lock:{}", name.trim_end_matches("-1"));
            WorkerSetup::new(&main, name, &lock).beat_every(0.3)
        };
        let orders = worker("orders-1").lease(3.0, 0.5).separate_renewer().start();
        let billing = worker("billing-1").lease(3.0, 0.5).start();
        let payments = worker("payments-1").lease(2.0, 0.5).cycles(1000, 1.0, 0.3).start();
        let hands = hands(&main);
        cache.cmd(&["SET", "lock:warmup", "w-1:x", "PX", FOR_LONG]);
        main.cmd(&["SET", "lock:nightly", "nightly-1:x", "PX", FOR_LONG]);
        // A key that the config takes for a lock's and that is none.
        main.cmd(&["RPUSH", "lock:mislaid", "a"]);
        for n in 1..=2 {
            let member = format!("host_{n}_0123456789abcdef0123456789abcde{n}");
            main.cmd(&["ZADD", "lock:permits", "+inf", &member]);
        }
        let told = "MSET hb:issued 34 hb:accepted 33 hb:refused 2 hb:mails 120 hb:requests 119";
        main.cmd(&told.split(' ').collect::<Vec<_>>());
        for server in &quorum {
            server.cmd(&["SET", "lock:ballot", "ballot-1:x", "PX", FOR_LONG]);
        }
        let clocks = [&host_clock, &silent];
        let exporter =
            ExporterSetup::file(&config::of_the_exporter(&main, &cache, &quorum, clocks, &dir))
                .password()
                .env("DLOCK__STORES__CACHE__PASSWORD", "watch-only")
                .env("DLOCK__STORES__QUORUM__PASSWORD", "watch-only")
                .start();
        let mut world = Self {
            has_cgroups: !cgroups.is_empty(),
            has_jvm: jvm.is_some(),
            exporter,
            orders,
            billing,
            _payments: payments,
            jvm,
            busy,
            cgroups,
            _source: source,
            silent,
            _host_clock: host_clock,
            _hands: hands,
            replica,
            cache_clock,
            cache,
            _main: main,
            quorum,
            _dir: dir,
        };
        world.settle();
        world
    }

    fn settle(&mut self) {
        self.exporter.wait_for(
            "dlock_lease_renewals_total dlock_worker_heartbeats_total",
            SOON,
            |m| {
                let orders = [("lock", "orders")];
                m.value("dlock_lease_renewals_total", &orders).is_some_and(|n| n >= 4.0)
                    && m.value("dlock_worker_heartbeats_total", &[("worker", "orders-1")])
                        .is_some_and(|n| n >= 4.0)
                    && m.is("dlock_replica_diverged", &[("lock", "copied")], 0.0)
                    && m.is("dlock_store_up", &[("store", "cache")], 1.0)
            },
        );
    }

    /// Where the exporter listens.
    pub fn exporter(&self) -> SocketAddr {
        self.exporter.address()
    }

    /// Stores and locks that it has series of.
    pub fn locks(&self) -> Vec<(&'static str, &'static str)> {
        let main = [
            "orders", "billing", "payments", "reports", "busy", "leader", "short", "copied",
            "nightly", "mislaid", "permits",
        ];
        main.into_iter()
            .map(|lock| ("main", lock))
            .chain([("cache", "warmup"), ("quorum", "ballot")])
            .collect()
    }

    /// All that the exporter says, for messages.
    pub fn told(&self) -> String {
        let metrics = self.exporter.metrics();
        ["dlock_lock_", "dlock_lease_", "dlock_holder", "dlock_worker_alive"]
            .map(|start| metrics.lines(start))
            .concat()
    }

    /// Everything goes wrong.
    pub fn go_wrong(&mut self) {
        // A holder stands still and its lease is renewed by another process; one dies; one is frozen by its cgroup.
        self.orders.pause();
        self.billing.kill();
        if let Some(cgroup) = self.cgroups.first() {
            cgroup.freeze();
        }
        let frozen = if self.has_cgroups { 1.0 } else { 0.0 };
        // A replica has its own opinion; a server's clock steps, and then it comes back without its data.
        self.replica.cmd(&["SET", "lock:copied", "other-1:x", "PX", FOR_LONG]);
        self.cache_clock.step(5.0);
        self.exporter.wait_for("dlock_store_clock_steps_total", SOON, |m| {
            m.sum("dlock_store_clock_steps_total", &[]) > 0.0
        });
        self.cache.kill();
        self.quorum[0].cmd(&["FLUSHALL"]);
        self.silent.pause();
        let what = "dlock_renewal_after_lost_liveness dlock_holder_ dlock_lease_renewals_total dlock_worker_heartbeats_total";
        self.exporter.wait_for(what, SOON, |m| {
            m.is("dlock_renewal_after_lost_liveness", &[("lock", "orders")], 1.0)
                && m.is("dlock_store_up", &[("store", "cache")], 0.0)
                && m.sum("dlock_clock_up", &[]) == 1.0
                && m.sum("dlock_worker_cgroup_frozen", &[]) == frozen
        });
        // Until it was scraped.
        for_a_while(SCRAPE);
        self.cache.restart();
        self.orders.resume();
        if let Some(cgroup) = self.cgroups.first() {
            cgroup.thaw();
        }
        self.keep_going();
    }

    /// Some garbage, and a moment.
    pub fn keep_going(&mut self) {
        assert!(self.busy.ended().is_none(), "the busy process ended");
        match &mut self.jvm {
            Some(jvm) => jvm.tell("churn 100"),
            None => for_a_while(Duration::from_millis(200)),
        }
    }
}

/// Works half of the time, which is more than its quota lets it.
const BUSY: &str = "
import time
while True:
    end = time.monotonic() + 0.02
    while time.monotonic() < end: pass
    time.sleep(0.02)
";

/// Cgroups for it, with a quota and a limit, where this machine lets a test make them: freezer first.
fn caged(group: &Group) -> Vec<Cgroup> {
    let name = format!("dlock-test-{}", crate::processes::unique());
    let made = (Cgroup::v2(&name), Cgroup::v1_of("cpu", &name), Cgroup::v1_of("memory", &name));
    let (Some(v2), Some(cpu), Some(memory)) = made else { return Vec::new() };
    cpu.write("cpu.cfs_period_us", "50000");
    cpu.write("cpu.cfs_quota_us", "10000");
    memory.write("memory.limit_in_bytes", "67108864");
    for cgroup in [&v2, &cpu, &memory] {
        cgroup.add(group.pid());
    }
    vec![v2, cpu, memory]
}

/// Takes and releases locks all the time: one often, one whose holder works with a lease shorter than its stalls, one
/// without an expiry, more jobs than may be watched, and two of a group.
fn hands(server: &RedisServer) -> Driver {
    Driver::start(server, 0, |c| {
        for n in 0.. {
            c.cmd(&["SET", "lock:busy", "busy-1:x", "PX", "300"]);
            c.cmd(&["SET", "lock:reports", "reports-1:x", "PX", "10000"]);
            c.cmd(&["SET", "lock:short", &format!("someone-1:{n}"), "PX", FOR_LONG]);
            for job in 0..4 {
                c.cmd(&[
                    "SET",
                    &format!("lock:job:{job}"),
                    &format!("job-1:{job}"),
                    "PX",
                    FOR_LONG,
                ]);
            }
            c.cmd(&["PERSIST", "lock:job:0"]);
            // Of a group, one that comes and goes, and one that has no expiry for a while and is let go for a while.
            c.cmd(&["SET", "lock:member:brief", &format!("someone-1:{n}"), "PX", FOR_LONG]);
            if n % 6 == 0 {
                c.cmd(&["SET", "lock:member:endless", &format!("someone-1:{n}")]);
            }
            if !c.wait(Duration::from_millis(450)) {
                break;
            }
            c.cmd(&["DEL", "lock:short", "lock:member:brief"]);
            if n % 6 == 3 {
                c.cmd(&["DEL", "lock:member:endless"]);
            }
            if !c.wait(Duration::from_millis(450)) {
                break;
            }
        }
    })
}
