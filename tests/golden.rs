//! The whole of `/metrics` against a checked-in text: the binary, a procfs made of files and a scripted primary with a
//! replica. `UPDATE=1` writes `tests/fixtures/golden/metrics.prom` anew; read the difference before it is committed.
//!
//! One rule makes it the same in every run: the values of the families in [`TIMED`] are written `<time>`, the servers are
//! called `primary:6379` and `replica:6379`, and the build's own labels are `<build>`. Everything else is exact.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use dlock_exporter::clock;
use tempfile::TempDir;

use crate::support::{
    Content, Exporter, ExporterSetup, Metrics, Script, ScriptedRedis, promtool_accepts,
    redis_py_token, repository, wait_until,
};

/// Families whose values depend on when the test looks, how long something took, or the process that runs.
const TIMED: &[&str] = &[
    "dlock_exporter_config_last_reload_success_timestamp_seconds",
    "dlock_exporter_poll_duration_seconds",
    "dlock_exporter_poll_failures_total",
    "dlock_exporter_poll_last_success_timestamp_seconds",
    "dlock_exporter_polls_total",
    "dlock_exporter_snapshot_timestamp_seconds",
    "dlock_group_held_max_seconds",
    "dlock_group_lease_remaining_min_seconds",
    "dlock_holder_lost_seconds",
    "dlock_lease_expiry_timestamp_seconds",
    "dlock_lease_last_renewal_timestamp_seconds",
    "dlock_lease_remaining_seconds",
    "dlock_lease_renewal_age_seconds",
    "dlock_lease_stall_budget_seconds",
    "dlock_lock_free_seconds_total",
    "dlock_lock_held_seconds",
    "dlock_lock_held_since_timestamp_seconds",
    "dlock_renewal_minus_heartbeat_seconds",
    "dlock_replica_confirm_unknown_total",
    "dlock_replica_confirmations_total",
    "dlock_skew_bound_seconds",
    "dlock_store_clock_offset_error_seconds",
    "dlock_store_clock_offset_seconds",
    "dlock_store_rtt_seconds",
    "dlock_worker_heartbeat_age_seconds",
    "dlock_worker_heartbeats_total",
    "dlock_worker_lost_seconds",
    "dlock_worker_process_uptime_seconds",
    "dlock_worker_skew_bound_seconds",
    "dlock_worker_worst_stall_seconds",
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_threads",
    "process_virtual_memory_bytes",
];

const FIXTURES: &str = "tests/fixtures/golden";
/// Everything must be as it will stay by then, on a slow machine too.
const DEADLINE: Duration = Duration::from_secs(60);
/// What the exporter shows must stay so long as it is.
const CALM: Duration = Duration::from_secs(3);
/// With `UPDATE=1`: nothing changes any more.
const SETTLED: Duration = Duration::from_secs(8);
/// Reads at which the beat of `frozen-1` still changes.
const LAST_BEATS: u64 = 5;

#[test]
fn metrics_are_those_of_the_golden_file() {
    let world = World::new();
    let mut exporter = world.exporter();
    exporter.wait_for(
        "all workers were seen alive: dlock_worker_alive",
        Duration::from_secs(20),
        |m| {
            // What was read of a cgroup stays when its process ended.
            let family = "dlock_worker_cgroup_throttled_seconds_total";
            ["zombie-1", "gone-1", "orders-1"]
                .iter()
                .all(|w| alive(m, w, "process") && m.value(family, &[("worker", w)]).is_some())
        },
    );
    world.end_two_workers();
    exporter.wait_for("a beat that stands still: dlock_worker_alive", DEADLINE, |m| {
        let labels = [("worker", "frozen-1"), ("source", "heartbeat")];
        m.is("dlock_worker_alive", &labels, 0.0)
    });

    let golden = repository(FIXTURES).join("metrics.prom");
    if std::env::var("UPDATE").is_ok_and(|v| v == "1") {
        fs::write(&golden, world.settled(&exporter)).expect("the golden file can be written");
    }
    let wanted = fs::read_to_string(&golden).expect("the golden file can be read");
    promtool_accepts(&wanted.replace("<time>", "1"));

    // A read that comes late on a busy machine withholds series for a while; what is right comes back and stays.
    let begun = clock::mono();
    let (mut since, mut last) = (begun, String::new());
    while clock::mono().since(since) < CALM {
        let shown = world.shown(&exporter);
        if shown != wanted {
            since = clock::mono();
            last = difference(&wanted, &shown);
        }
        assert!(since.since(begun) < DEADLINE, "{last}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let log = exporter.log();
    assert!(!log.contains("secret"), "a token or password is in the log:\n{log}");
}

fn alive(m: &Metrics, worker: &str, source: &str) -> bool {
    m.is("dlock_worker_alive", &[("worker", worker), ("source", source)], 1.0)
}

/// The rule of this file.
fn normal(line: &str) -> String {
    let name = line.split(['{', ' ']).next().unwrap_or_default();
    let (series, _) = line.rsplit_once(' ').unwrap_or((line, ""));
    match name {
        "dlock_exporter_build_info" => {
            format!("{name}{{version=\"<build>\",revision=\"<build>\"}} 1")
        }
        name if TIMED.contains(&name) => format!("{series} <time>"),
        _ => line.to_owned(),
    }
}

fn difference(wanted: &str, shown: &str) -> String {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<String>>();
    let (wanted, shown) = (lines(wanted), lines(shown));
    let missing = wanted.difference(&shown).map(|l| format!("- {l}\n"));
    let extra = shown.difference(&wanted).map(|l| format!("+ {l}\n"));
    let changes: String = missing.chain(extra).collect();
    format!("/metrics is not what tests/fixtures/golden/metrics.prom says (UPDATE=1):\n{changes}")
}

/// The host and the servers.
struct World {
    dir: TempDir,
    config: String,
    primary: ScriptedRedis,
    replica: ScriptedRedis,
}

impl World {
    fn new() -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        copy(&repository(FIXTURES), dir.path());
        // Addresses of their own, so that the primary's series always come first.
        let bind = |ip| TcpListener::bind((ip, 0)).expect("the loopback has a free port");
        let (first, second) = (bind("127.0.0.1"), bind("127.0.0.2"));
        let address = |l: &TcpListener| l.local_addr().expect("a bound listener has an address");
        let (primary, replica) = (address(&first), address(&second));
        let start = (clock::wall_secs() * 1000.0) as i64;
        let script = Script { replica: Some(replica), ..keys(start, "of the primary") };
        let other = Script { primary: Some(primary), ..keys(start, "of the replica") };

        let password = dir.path().join("password");
        fs::write(&password, "watch-only\n").expect("the password file can be written");
        let template =
            fs::read_to_string(dir.path().join("dlock.yml")).expect("dlock.yml is there");
        let config = template
            .replace("{primary}", &primary.to_string())
            .replace("{password}", &password.display().to_string())
            .replace("{dir}", &dir.path().display().to_string());
        let (primary, replica) =
            (ScriptedRedis::on(first, script), ScriptedRedis::on(second, other));
        Self { dir, config, primary, replica }
    }

    fn exporter(&self) -> Exporter {
        let path = |name: &str| self.dir.path().join(name).display().to_string();
        let (procfs, cgroupfs) = (path("proc"), path("cgroup"));
        ExporterSetup::file(&self.config)
            .arguments(&["--path.procfs", &procfs, "--path.cgroupfs", &cgroupfs])
            .start()
    }

    /// One process goes, one is left as a zombie.
    fn end_two_workers(&self) {
        let proc = self.dir.path().join("proc");
        fs::remove_dir_all(proc.join("4006")).expect("gone-1 had a process");
        let stat = proc.join("4005/stat");
        let text = fs::read_to_string(&stat).expect("zombie-1 has a process");
        let next = self.dir.path().join("stat");
        fs::write(&next, text.replace(") S ", ") Z ")).expect("a file can be written");
        fs::rename(next, stat).expect("a file can be replaced");
    }

    /// What `/metrics` shows now, by the rule.
    fn shown(&self, exporter: &Exporter) -> String {
        let body = exporter.get("/metrics").body;
        let body = body
            .replace(&self.primary.address().to_string(), "primary:6379")
            .replace(&self.replica.address().to_string(), "replica:6379");
        body.lines().map(|line| normal(line) + "\n").collect()
    }

    /// What it shows once that does not change any more.
    fn settled(&self, exporter: &Exporter) -> String {
        let mut last = (self.shown(exporter), clock::mono());
        wait_until("/metrics stands still", DEADLINE, || {
            let shown = self.shown(exporter);
            if shown != last.0 {
                last = (shown, clock::mono());
            }
            (clock::mono().since(last.1) > SETTLED).then(|| last.0.clone())
        })
        .0
    }
}

fn text(value: impl AsRef<[u8]>) -> Content {
    Content::text(value)
}

/// The keys of a server; what only one of the two says is in the token of `lock:split`.
fn keys(start: i64, split: &str) -> Script {
    let hour = Some(start + 3_600_000);
    let fields = |pairs: &[(&str, &str)]| {
        Content::Hash(pairs.iter().map(|(f, v)| ((*f).into(), (*v).into())).collect())
    };
    let owner = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
    let token = |worker: &str, pid: i32| text(format!("{worker}::{pid}:secret"));
    let long = ["odd:long:", &"x".repeat(300)].concat();
    Script::default()
        .key("lock:orders", text("orders-1:4001:secret"), hour)
        .key("lock:split", text(format!("secret {split}")), hour)
        .key("lock:redisson", fields(&[(owner, "3")]), hour)
        .key("lock:readers", fields(&[("mode", "read"), (owner, "1")]), hour)
        .key("lock:nottl", text("secret"), None)
        .key("lock:list", Content::List, hour)
        .key("lock:refused", Content::Refused, hour)
        .key("lock:number", text("17"), hour)
        .key("lock:empty", text(""), None)
        .key("lock:calm", text(redis_py_token(start as f64 / 1e3, 1)), hour)
        .key("w:frozen", token("frozen-1", 4002), hour)
        .key("w:stopped", token("stopped-1", 4003), hour)
        .key("w:threads", token("threads-1", 4004), hour)
        .key("w:zombie", token("zombie-1", 4005), hour)
        .key("w:gone", token("gone-1", 4006), hour)
        .key("w:unit", token("unit-1", 4007), hour)
        .key("w:lost", token("lost-1", 4008), hour)
        .key("w:stranger", token("stranger", 4009), hour)
        .key("w:opaque", text("secret"), hour)
        .key("w:elsewhere", text("stopped-2:another.host:4003:secret"), hour)
        .key("odd:", text("secret"), hour)
        .key("odd:\"quotes\" \\ {braces} = and, blanks", text("secret"), hour)
        .key("odd:line\nends\r\0", text("secret\n\"\0\\"), hour)
        .key("odd:ümläut \u{202e}\u{1f512}", text("secret \u{1f512}"), hour)
        .key(b"odd:\xff\xfe", text(b"secret \xff\xfe"), hour)
        .key(long, text("secret".repeat(200)), hour)
        .key("job:1", text("secret"), hour)
        .key("job:1b", text("secret"), hour)
        .key("job:2", text("secret"), hour)
        .key("job:3", text("secret"), hour)
        .key("job:x", text("secret"), hour)
        .key("hb:orders-1", Content::beats(u64::MAX), None)
        .key("hb:frozen-1", Content::beats(LAST_BEATS), None)
        .key("hb:gone-1", text("not JSON"), None)
        .key("lock:fenced", text("secret"), hour)
        .key("fence:fenced", text("34"), None)
        .key("state", fields(&[("fenced", r#"{"last": 33}"#)]), None)
        .key("refused:fenced", text("2"), None)
        .key("mails", fields(&[("sent", "7"), ("asked", "5")]), None)
        .key("lock:pointed", text(r#"{"holder": {"id": "orders-1"}}"#), hour)
        .key("lock:pointed:2", text(r#"{"holder": {"id": "secret"}}"#), hour)
        .key("part:0", text("secret"), hour)
        .key("part:1", text("secret"), hour)
        .key("lock:net", text("net-1_4711_9f86d081884c7d659a2feaa0c55ad015"), hour)
        .key("short:1", text("secret"), hour)
        .key("short:2", text("secret"), None)
        .key("fleet", fields(&[("orders-1", "1"), ("lost-1", "1"), ("secret", "1")]), None)
        .key("claim:orders-1", text(r#"[{"store": "main", "lock": "orders"}]"#), None)
        .key("beats", fields(&[("threads-1", "constant")]), None)
        .key("scores", Content::Zset("scored".into(), 1.5), None)
        .key("session", text("secret"), hour)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("the fixtures are there").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a fixture can be copied");
        }
    }
}
