//! The systemd unit as it runs: started by a real systemd in a small host of its own, with its sandbox, its user and each of
//! its drop-ins; what it sees of processes of other users without a capability, and with it.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use dlock_exporter::clock;
use tempfile::TempDir;

use crate::deploy_systemd::{drop_ins, unit};
use crate::support::{
    Metrics, RedisServer, SmallHost, SmallHostSetup, free_port, repository, request,
};

const SOON: Duration = Duration::from_secs(15);
const PASSWORD: &str = "watch-only";

/// The unit under some name and with some drop-ins.
struct Instance {
    unit: String,
    address: SocketAddr,
}

impl Instance {
    fn new(name: &str) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        Self { unit: format!("{name}.service"), address }
    }

    /// Puts it into a host with these drop-ins of the repository and these lines.
    fn installed(&self, setup: SmallHostSetup, names: &[&str], lines: &str) -> SmallHostSetup {
        let name = self.unit.trim_end_matches(".service");
        // Flags come from here, as there is no /etc/default; the log is where the test can read it.
        let own = format!(
            "[Service]\nEnvironmentFile=\nEnvironment=ARGS=--web.listen-address={}\n\
             StandardOutput=append:/run/{name}.log\nStandardError=append:/run/{name}.log\nRestartSec=200ms\nNice=0\n{lines}\n",
            self.address
        );
        let setup = setup.unit(&self.unit, &unit()).drop_in(&self.unit, "zz-test.conf", &own);
        drop_ins()
            .iter()
            .filter(|(name, _)| names.iter().any(|n| name == &format!("{n}.conf")))
            .fold(setup, |setup, (name, text)| setup.drop_in(&self.unit, name, text))
    }

    fn log(&self, host: &SmallHost) -> String {
        host.read(&format!("run/{}.log", self.unit.trim_end_matches(".service")))
    }

    fn metrics(&self) -> Option<Metrics> {
        let limit = Duration::from_secs(2);
        let answer = request(self.address, "GET", "/metrics", limit).ok()?;
        (answer.status == 200).then(|| Metrics::parse(&answer.body).unwrap())
    }

    /// Waits until its metrics are as wanted.
    fn wait(&self, host: &SmallHost, what: &str, wanted: impl Fn(&Metrics) -> bool) -> Metrics {
        let begun = clock::mono();
        let mut last = Metrics::default();
        loop {
            if let Some(metrics) = self.metrics() {
                if wanted(&metrics) {
                    return metrics;
                }
                last = metrics;
            }
            assert!(
                clock::mono().since(begun) < SOON,
                "{} not within {SOON:?}: {what}\n{}{}{}log:\n{}\nsystemd:\n{}",
                self.unit,
                last.lines("dlock_holder_"),
                last.lines("dlock_coverage_"),
                last.lines("dlock_worker_coverage_"),
                self.log(host),
                host.said()
            );
            std::thread::sleep(Duration::from_millis(40));
        }
    }
}

/// A host with the unit's user, config and password, and with workers of other users that hold locks of the server.
fn setup(server: &RedisServer, yaml: &str) -> SmallHostSetup {
    let conf = |part: &str| {
        let file = format!("deploy/systemd/{part}.d/dlock_exporter.conf");
        std::fs::read_to_string(repository(&file)).unwrap()
    };
    for worker in ["plain", "java", "file"] {
        server.cmd(&["SET", &format!("lock:{worker}"), &format!("{worker}-1:x"), "PX", "600000"]);
    }
    SmallHostSetup::new()
        .bind(env!("CARGO_BIN_EXE_dlock_exporter"), "usr/bin/dlock_exporter")
        .file("usr/lib/sysusers.d/dlock_exporter.conf", conf("sysusers"), 0o644)
        .file("usr/lib/tmpfiles.d/dlock_exporter.conf", conf("tmpfiles"), 0o644)
        .file("etc/dlock_exporter/dlock.yml", yaml, 0o644)
        // Root's alone: only systemd can hand it on.
        .file("etc/dlock_exporter/redis.pass", format!("{PASSWORD}\n"), 0o600)
        .unit("plain.service", "[Service]\nUser=games\nExecStart=/bin/sleep infinity\n")
}

fn config(server: &RedisServer, more: &str) -> String {
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: '{{1}}', match: 'lock:*', capture: '^lock:(.+)$', series: full, token: per_acquire,
          holder: '^(?P<worker>[^:]+):' }}
{more}",
        server.url()
    )
}

const PLAIN: &str =
    "workers:\n  plain: { names: [plain-1], process: { systemd_unit: plain.service } }\n";

fn state(m: &Metrics, lock: &str) -> String {
    let all = m.all("dlock_holder_liveness", &[("lock", lock)]);
    let on: Vec<_> = all.iter().filter(|s| s.value == 1.0).map(|s| s.label("state")).collect();
    on.join("+")
}

fn is_up(m: &Metrics, store: &str) -> bool {
    m.sum("dlock_store_up", &[("store", store)]) == 1.0
}

/// Warnings and errors in a log, but for those of a machine that is too busy to answer in time.
fn complaints(log: &str) -> usize {
    let loud = log.lines().filter(|l| l.contains("level=warn") || l.contains("level=error"));
    loud.filter(|l| !l.contains("reason=timeout")).count()
}

/// The value of a field of a status file.
fn field<'a>(status: &'a str, name: &str) -> Vec<&'a str> {
    let line = status.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).split_whitespace().collect()
}

#[test]
fn the_unit_lives_through_start_reload_mistakes_crash_and_stop() {
    let server = RedisServer::start();
    let yaml = config(&server, PLAIN);
    let exporter = Instance::new("dlock_exporter");
    let name = exporter.unit.as_str();
    let password = format!("Environment=DLOCK__STORES__MAIN__PASSWORD={PASSWORD}");
    let setup = exporter.installed(setup(&server, &yaml), &[], &password);
    let Some(host) = setup.start() else { return };
    exporter.wait(&host, "the holder of another user lives", |m| {
        is_up(m, "main") && state(m, "plain") == "alive"
    });

    let status = host.status(name);
    let own = host.read("etc/passwd");
    let entry = own.lines().find(|l| l.starts_with("dlock_exporter:")).unwrap();
    let number = entry.split(':').nth(2).unwrap();
    assert_eq!(field(&status, "Uid"), [number; 4]);
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(&status, set), ["0000000000000000"], "{set}");
    }
    assert_eq!(field(&status, "NoNewPrivs"), ["1"]);
    assert_eq!(field(&status, "Seccomp"), ["2"], "system calls are filtered");
    assert_eq!(host.property(name, "Result"), "success");
    let threads = host.run(&["ps", "-L", "-o", "ni=", "-p", &host.property(name, "MainPID")]);
    let nice = String::from_utf8_lossy(&threads.stdout).into_owned();
    let one = nice.split_whitespace().filter(|n| *n == "5").count();
    assert_eq!(one, 1, "its own thread may stand back: {nice}");
    let log = exporter.log(&host);
    assert!(log.contains("level=info"), "it logs:\n{log}");
    assert_eq!(complaints(&log), 0, "all is well:\n{log}");

    // A reload with a mistake fails, says so, and changes nothing.
    let pid = host.property(name, "MainPID");
    let path = "etc/dlock_exporter/dlock.yml";
    host.write(path, &yaml.replace("capture:", "captur:"));
    let refused = host.systemctl(&["reload", name]);
    assert!(!refused.status.success());
    assert!(exporter.log(&host).contains("captur"), "the mistake is told");
    assert!(is_up(&exporter.metrics().unwrap(), "main"));
    host.write(path, &yaml.replace("poll_interval: 200ms", "poll_interval: 300ms"));
    host.must(&["reload", name]);
    exporter.wait(&host, "the new interval", |m| {
        let all = m.all("dlock_exporter_poll_interval_seconds", &[("poller", "redis")]);
        all.iter().any(|s| s.value == 0.3)
    });
    assert_eq!(host.property(name, "MainPID"), pid, "a reload is no restart");

    host.must(&["kill", "--signal=KILL", "plain.service"]);
    exporter.wait(&host, "a holder that was killed is dead", |m| state(m, "plain") == "dead");

    host.must(&["kill", "--signal=KILL", name]);
    let restarted = || {
        let now = host.property(name, "MainPID");
        (now != pid && now != "0" && exporter.metrics().is_some()).then_some(())
    };
    crate::support::wait_until("it is started again after a crash", SOON, restarted);

    host.must(&["stop", name]);
    assert_eq!(host.property(name, "Result"), "success", "SIGTERM is a clean end");
    host.write(path, "stores: {}\n");
    host.must(&["reset-failed", name]);
    host.must(&["start", name]);
    let failed = || (host.property(name, "ActiveState") == "failed").then_some(());
    crate::support::wait_until("a config with mistakes fails", SOON, failed);
    assert_eq!(host.property(name, "ExecMainStatus"), "2");
    assert_eq!(host.property(name, "NRestarts"), "0", "and is not started again");
}

/// A JVM of another user, and a program to be one.
fn java(setup: SmallHostSetup) -> SmallHostSetup {
    let classes = TempDir::new().unwrap();
    let source = repository("tests/fixtures/Tested.java");
    let done = Command::new("javac").arg("-d").arg(classes.path()).arg(source).status();
    assert!(done.is_ok_and(|s| s.success()), "javac runs; tests/run installs it");
    let setup = std::fs::read_dir(classes.path()).unwrap().fold(setup, |setup, class| {
        let class = class.unwrap().path();
        let name = class.file_name().unwrap().to_string_lossy().into_owned();
        setup.file(&format!("opt/{name}"), std::fs::read(&class).unwrap(), 0o644)
    });
    let start = "/bin/sh -c 'sleep infinity | exec java -Xmx32m -cp /opt Tested'";
    setup.unit("java.service", &format!("[Service]\nUser=games\nExecStart={start}\n"))
}

/// The drop-in for chronyd's own service that the comment of `chrony-socket.conf` has.
fn for_chronyd() -> String {
    let drop_ins = drop_ins();
    let (_, text) = drop_ins.iter().find(|(name, _)| name == "chrony-socket.conf").unwrap();
    let lines: Vec<_> = text.lines().filter_map(|l| l.strip_prefix("#   ")).collect();
    assert_eq!(lines.first(), Some(&"[Service]"), "{lines:?}");
    lines.join("\n") + "\n"
}

#[test]
fn each_drop_in_gives_what_it_says_and_nothing_is_dead_without_it() {
    let server = RedisServer::start();
    let more = "  socket: { url: 'redis+unix:///run/redis/redis.sock' }
workers:
  plain: { names: [plain-1], process: { systemd_unit: plain.service } }
  java: { names: [java-1], process: { command: '^java .* Tested$' } }
  file: { names: [file-1], process: { pid_file: /tmp/worker/file.pid } }
clocks:
  local: { chrony: 'unix:///run/chrony/chronyd.sock' }
";
    let mut setup = java(setup(&server, &config(&server, more)))
        .unit(
            "file.service",
            "[Service]\nUser=games\nExecStartPre=/bin/mkdir -p /tmp/worker\n\
             ExecStart=/bin/sh -c 'echo $$$$ >/tmp/worker/file.pid; exec sleep infinity'\n",
        )
        .unit(
            "redis.service",
            "[Service]\nUser=redis\nGroup=redis\nRuntimeDirectory=redis\nExecStart=/usr/bin/redis-server \
             --port 0 --unixsocket /run/redis/redis.sock --unixsocketperm 770 --save \"\" --dir /run/redis\n",
        )
        // -x and no CAP_SYS_TIME: it leaves the machine's clock alone.
        .unit(
            "chrony.service",
            "[Service]\nUser=_chrony\nRuntimeDirectory=chrony\nRuntimeDirectoryMode=0700\n\
             CapabilityBoundingSet=~CAP_SYS_TIME\nExecStart=!/usr/sbin/chronyd -x -d -f /etc/chrony/test.conf\n",
        )
        .drop_in("chrony.service", "group.conf", &for_chronyd())
        .file("etc/chrony/test.conf", "port 0\ncmdport 0\nlocal stratum 3\npidfile /run/chrony/pid\n", 0o644);
    let mut instances = Vec::new();
    let all: Vec<String> = drop_ins().iter().map(|(n, _)| n.replace(".conf", "")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let invisible = "ProtectProc=invisible";
    for (name, names, lines) in [
        ("base", &[][..], ""),
        ("taskstats", &["taskstats"], ""),
        ("jvm", &["jvm"], ""),
        ("clock", &["chrony-socket"], ""),
        ("socket", &["redis-socket"], ""),
        ("files", &["worker-files"], ""),
        ("all", &all, ""),
        // What hidepid= does to /proc, and what must not be set.
        ("hidden", &[], invisible),
        ("hidepid", &["hidepid"], invisible),
        ("subset", &[], "ProcSubset=pid"),
        ("users", &["taskstats"], "PrivateUsers=yes"),
        (
            "netlink",
            &["taskstats"],
            "RestrictAddressFamilies=\nRestrictAddressFamilies=AF_INET AF_UNIX",
        ),
    ] {
        let instance = Instance::new(name);
        let names = [names, &["credentials"]].concat();
        setup = instance.installed(setup, &names, lines);
        instances.push(instance);
    }
    let Some(host) = setup.start() else { return };
    let wait = |name: &str, what: &str, wanted: &dyn Fn(&Metrics) -> bool| {
        let unit = format!("{name}.service");
        let instance = instances.iter().find(|i| i.unit == unit).unwrap();
        (instance.wait(&host, what, wanted), instance.log(&host))
    };
    let has_jvm = |m: &Metrics| !m.all("dlock_worker_jvm_gc_collections_total", &[]).is_empty();
    let lost = |m: &Metrics, worker: &str, aspect: &str, reason: &str| {
        let labels = [("worker", worker), ("aspect", aspect), ("reason", reason)];
        m.is("dlock_worker_coverage_lost", &labels, 1.0)
    };
    let clock_up = |m: &Metrics| m.is("dlock_clock_up", &[("clock", "local")], 1.0);
    let by_taskstats = |log: &str| log.contains("way=taskstats");
    let own = |m: &Metrics| m.value("process_start_time_seconds", &[]).is_some();

    // Without any: processes of other users live, and what cannot be seen is told, not called dead.
    let (base, log) = wait("base", "what the base unit sees, and what not", &|m| {
        is_up(m, "main")
            && state(m, "plain") == "alive"
            && state(m, "java") == "alive"
            && lost(m, "java-1", "jvm", "permission")
            && lost(m, "file-1", "process", "unreachable")
            && m.is("dlock_clock_up", &[("clock", "local")], 0.0)
            && m.is("dlock_store_up", &[("store", "socket")], 0.0)
    });
    assert!(
        !has_jvm(&base) && own(&base) && state(&base, "file") == "unknown",
        "{}",
        base.lines("dlock_h")
    );
    assert!(log.contains("way=procfs"), "{log}");
    assert!(complaints(&log) <= 2, "one line for each thing that is missing:\n{log}");

    let (_, log) = wait("taskstats", "the worker", &|m| state(m, "plain") == "alive");
    assert!(by_taskstats(&log), "{log}");
    wait("jvm", "pauses of a JVM of another user", &|m| state(m, "java") == "alive" && has_jvm(m));
    wait("clock", "chronyd by its socket", &clock_up);
    wait("socket", "Redis by its socket", &|m| is_up(m, "socket") && is_up(m, "main"));
    wait("files", "a pid file in /tmp", &|m| state(m, "file") == "alive");
    let (_, log) = wait("all", "everything", &|m| {
        let alive = ["plain", "java", "file"].iter().all(|lock| state(m, lock) == "alive");
        alive && has_jvm(m) && clock_up(m) && is_up(m, "socket") && is_up(m, "main")
    });
    assert!(by_taskstats(&log) && complaints(&log) == 0, "{log}");

    // A reload without a check, which could not read the credential.
    let reloads = "dlock_exporter_config_last_reload_success_timestamp_seconds";
    let before = base.value(reloads, &[]).unwrap();
    host.must(&["reload", "base.service"]);
    wait("base", "a reload with a credential", &|m| m.value(reloads, &[]).unwrap() > before);

    // What stays soft, hardened.
    let (hidden, _) = wait("hidden", "what is hidden is not dead", &|m| {
        lost(m, "plain-1", "process", "hidden") && state(m, "plain") == "unknown"
    });
    assert_eq!(hidden.sum("dlock_signal_rises_total", &[]), 0.0);
    wait("hidepid", "the capability sees through it", &|m| state(m, "plain") == "alive");
    let (subset, _) = wait("subset", "the worker", &|m| state(m, "plain") == "alive");
    assert!(!own(&subset), "if it has its own start time, ProcSubset=pid could be set");
    let (_, log) = wait("users", "the worker", &|m| state(m, "plain") == "alive");
    assert!(!by_taskstats(&log), "if the capability counts, PrivateUsers=yes could be set");
    let (_, log) = wait("netlink", "the worker", &|m| state(m, "plain") == "alive");
    assert!(!by_taskstats(&log), "if it needs no AF_NETLINK, the drop-in need not allow it");
}
