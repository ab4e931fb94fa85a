//! Holders seen by their processes: found by every means that the config has, stopped, frozen, killed, replaced; and what
//! looks like death and is none.

use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::{
    Cgroup, Exporter, Group, Metrics, RedisServer, SLACK, for_a_while, free_port, wait_until,
};

pub const POLL: Duration = Duration::from_millis(200);
pub const SOON: Duration = Duration::from_secs(15);
/// One look and one read of the exporter, and one scrape of the test.
pub const WORST: Duration = Duration::from_millis(200 * 2 + 100);

/// A file with these groups of one worker each, `KIND-1` who holds `lock:KIND`, by the lines of their `process`.
pub fn config(server: &RedisServer, kinds: &[(&str, String)], rules: &str) -> String {
    let workers: String = kinds
        .iter()
        .map(|(kind, means)| format!("  {kind}: {{ names: [{kind}-1], process: {{ {means} }} }}\n"))
        .collect();
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: '{{1}}', match: 'lock:*', capture: '^lock:(.+)$', series: full{rules},
          holder: '^(?P<worker>[^:]+):(?P<host>[^:]*):(?P<pid>\\d*)' }}
workers:
{workers}",
        server.url()
    )
}

pub fn hold(server: &RedisServer, kind: &str, host: &str, pid: &str) {
    let token = format!("{kind}-1:{host}:{pid}:x");
    server.cmd(&["SET", &format!("lock:{kind}"), &token, "PX", "600000"]);
}

pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A process that only sleeps; the second number, which nobody else has, tells it by its command line.
pub fn sleeper(mark: &str) -> (Group, TempDir) {
    let dir = TempDir::new().unwrap();
    let group = Group::start(
        &format!("sleeper {mark}"),
        Command::new("sleep").args(["600", mark]),
        &dir.path().join("log"),
    );
    (group, dir)
}

pub fn unique() -> String {
    // A port that is ours now, and some digits that no other caller has.
    format!("0{}{}", free_port(), std::process::id())
}

/// Liveness and the signal.
pub fn said(m: &Metrics, kind: &str) -> String {
    let live = m.all("dlock_holder_liveness", &[("lock", kind)]);
    let state: Vec<_> = live.iter().filter(|s| s.value == 1.0).map(|s| s.label("state")).collect();
    format!("{} {:?}", state.join("+"), m.value("dlock_holder_stale", &[("lock", kind)]))
}

/// Waits until all kinds are said to be so.
pub fn all(exporter: &mut Exporter, kinds: &[&str], what: &str, deadline: Duration) -> Duration {
    let (kinds, wanted): (Vec<String>, String) =
        (kinds.iter().map(|k| (*k).to_owned()).collect(), what.to_owned());
    exporter.wait_for(
        &format!("{what} of {kinds:?}: dlock_holder_ dlock_worker_"),
        deadline,
        move |m| kinds.iter().all(|kind| said(m, kind) == wanted),
    )
}

pub const ALIVE: &str = "alive Some(0.0)";

pub fn rises(m: &Metrics, kind: &str, signal: &str) -> Option<f64> {
    m.value("dlock_signal_rises_total", &[("lock", kind), ("signal", signal)])
}

#[test]
fn every_means_finds_its_holder_alive_stopped_and_dead() {
    let server = RedisServer::start();
    let dir = TempDir::new().unwrap();
    let mark = unique();
    let unit = format!("dlock-test-{mark}.service");
    let (mut by_file, _a) = sleeper(&unique());
    let (mut by_command, _b) = sleeper(&mark);
    let (mut by_token, _c) = sleeper(&unique());
    let (mut by_unit, _d) = sleeper(&unique());
    let cgroup = Cgroup::v2(&unit);
    let pid_file = dir.path().join("pid");
    std::fs::write(&pid_file, format!("{}\n", by_file.pid())).unwrap();
    let mut kinds = vec![
        ("file", format!("pid_file: '{}'", pid_file.display())),
        ("command", format!("command: '^sleep 600 {mark}$'")),
        ("token", "pid_from_holder: true".to_owned()),
    ];
    if let Some(cgroup) = &cgroup {
        cgroup.add(by_unit.pid());
        kinds.push(("unit", format!("systemd_unit: '{unit}'")));
        kinds.push(("cgroup", format!("cgroup: '/{unit}'")));
    }
    for (kind, _) in &kinds {
        hold(&server, kind, "", "");
    }
    hold(&server, "token", &host(), &by_token.pid().to_string());
    let mut exporter = Exporter::start(&config(&server, &kinds, ""));
    let names: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
    all(&mut exporter, &names, ALIVE, SOON);

    let everybody = [&by_file, &by_command, &by_token, &by_unit];
    everybody.iter().for_each(|group| group.pause());
    let after = all(&mut exporter, &names, "stopped Some(1.0)", WORST + SLACK * 4);
    assert!(after <= WORST + SLACK, "stopped after {after:?}, worst case {WORST:?}");
    let m = exporter.metrics();
    for kind in &names {
        let worker = format!("{kind}-1");
        let state = [("worker", worker.as_str()), ("state", "stopped")];
        assert!(m.is("dlock_worker_process_state", &state, 1.0), "{kind}");
    }
    everybody.iter().for_each(|group| group.resume());
    all(&mut exporter, &names, ALIVE, SOON);

    for group in [&mut by_file, &mut by_command, &mut by_token, &mut by_unit] {
        group.kill();
    }
    let after = all(&mut exporter, &names, "dead Some(1.0)", WORST + SLACK * 4);
    assert!(after <= WORST + SLACK, "dead after {after:?}, worst case {WORST:?}");
    let m = exporter.metrics();
    for kind in &names {
        let worker = format!("{kind}-1");
        let by_process = [("worker", worker.as_str()), ("source", "process")];
        assert!(m.is("dlock_worker_alive", &by_process, 0.0), "{kind}");
        let gone = [("worker", worker.as_str()), ("state", "gone")];
        assert!(m.is("dlock_worker_process_state", &gone, 1.0), "{kind}");
        assert_eq!(rises(&m, kind, "holder_stale"), Some(2.0), "{kind}");
        assert_eq!(rises(&m, kind, "renewal_after_lost_liveness"), Some(0.0), "{kind}");
    }
}

#[test]
fn a_zombie_is_dead_but_not_while_its_threads_work() {
    let server = RedisServer::start();
    let dir = TempDir::new().unwrap();
    let code = "import ctypes, threading, time\n\
        threading.Thread(target=lambda: time.sleep(600)).start()\n\
        ctypes.CDLL(None).pthread_exit(None)";
    let leaderless = Group::start(
        "leaderless",
        Command::new("python3").args(["-c", code]),
        &dir.path().join("l"),
    );
    let (zombie, _a) = sleeper(&unique());
    wait_until("its leader has exited", SOON, || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", leaderless.pid())).ok()?;
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')).then_some(())
    });
    let kinds = ["leaderless", "zombie"].map(|k| (k, "pid_from_holder: true".to_owned()));
    hold(&server, "leaderless", &host(), &leaderless.pid().to_string());
    hold(&server, "zombie", &host(), &zombie.pid().to_string());
    let mut exporter = Exporter::start(&config(&server, &kinds, ""));
    all(&mut exporter, &["leaderless", "zombie"], ALIVE, SOON);
    zombie.kill_unreaped();
    all(&mut exporter, &["zombie"], "dead Some(1.0)", SOON);
    let zombie_state = [("worker", "zombie-1"), ("state", "zombie")];
    exporter.wait_for("dlock_worker_process_state zombie", SOON, |m| {
        m.is("dlock_worker_process_state", &zombie_state, 1.0)
            || m.is("dlock_worker_process_state", &[("worker", "zombie-1"), ("state", "gone")], 1.0)
    });
    exporter.never("the leaderless one lost", POLL * 5, |m| said(m, "leaderless") != ALIVE);
    let m = exporter.metrics();
    assert_eq!(rises(&m, "leaderless", "holder_stale"), Some(0.0));
    let state = [("worker", "leaderless-1"), ("state", "sleeping")];
    assert!(m.is("dlock_worker_process_state", &state, 1.0));
}

/// Freezes a holder by a cgroup above its own, and lets it go.
fn freezes(cgroup: impl Fn(&str) -> Option<Cgroup>) {
    let server = RedisServer::start();
    let (frozen, _a) = sleeper(&unique());
    let Some(cgroup) = cgroup(&format!("dlock-test-{}.service", unique())) else { return };
    let inner = cgroup.below("app");
    inner.add(frozen.pid());
    hold(&server, "frozen", &host(), &frozen.pid().to_string());
    let kinds = [("frozen", "pid_from_holder: true".to_owned())];
    let mut exporter = Exporter::start(&config(&server, &kinds, ""));
    all(&mut exporter, &["frozen"], ALIVE, SOON);
    let shown = |m: &Metrics| m.value("dlock_worker_cgroup_frozen", &[("worker", "frozen-1")]);
    assert_eq!(shown(&exporter.metrics()), Some(0.0));
    cgroup.freeze();
    let after = all(&mut exporter, &["frozen"], "stopped Some(1.0)", WORST + SLACK * 4);
    assert!(after <= WORST + SLACK, "stopped after {after:?}, worst case {WORST:?}");
    assert_eq!(shown(&exporter.metrics()), Some(1.0));
    cgroup.thaw();
    all(&mut exporter, &["frozen"], ALIVE, SOON);
    assert_eq!(rises(&exporter.metrics(), "frozen", "holder_stale"), Some(1.0));
}

#[test]
fn a_holder_in_a_frozen_cgroup_is_stopped() {
    freezes(Cgroup::v2);
}

#[test]
fn a_holder_in_a_frozen_cgroup_of_the_old_kind_is_stopped() {
    freezes(Cgroup::v1);
}

/// A worker by its pid file whose process is exchanged for another while its lock stays as it was.
fn exchanged(rules: &str, pid_in_token: bool) -> (RedisServer, Exporter, Vec<Group>, TempDir) {
    let server = RedisServer::start();
    let dir = TempDir::new().unwrap();
    let pid_file = dir.path().join("pid");
    let write = |pid: i32| {
        std::fs::write(dir.path().join("new"), pid.to_string()).unwrap();
        std::fs::rename(dir.path().join("new"), &pid_file).unwrap();
    };
    let start = || {
        let log = dir.path().join("log");
        Group::start("worker", Command::new("sleep").arg("600"), &log)
    };
    let mut old = start();
    write(old.pid());
    let pid = if pid_in_token { old.pid().to_string() } else { String::new() };
    hold(&server, "orders", &host(), &pid);
    let kinds = [("orders", format!("pid_file: '{}'", pid_file.display()))];
    let mut exporter = Exporter::start(&config(&server, &kinds, rules));
    all(&mut exporter, &["orders"], ALIVE, SOON);
    // One second of grace for how the kernel keeps start times.
    for_a_while(Duration::from_millis(1300));
    let new = start();
    write(new.pid());
    old.kill();
    all(&mut exporter, &["orders"], "replaced Some(1.0)", WORST + SLACK * 4);
    exporter.wait_for("dlock_worker_restarts_total 1", SOON, |m| {
        m.is("dlock_worker_restarts_total", &[("worker", "orders-1")], 1.0)
    });
    (server, exporter, vec![old, new], dir)
}

#[test]
fn a_restarted_worker_has_replaced_the_holder_until_it_writes_itself() {
    let (server, mut exporter, _processes, _dir) = exchanged("", false);
    // The new process takes the lock over with the token that both have.
    server.cmd(&["PEXPIRE", "lock:orders", "700000"]);
    all(&mut exporter, &["orders"], ALIVE, SOON);
    exporter.never("a loss of the new one", POLL * 5, |m| said(m, "orders") != ALIVE);
    let m = exporter.metrics();
    assert_eq!(rises(&m, "orders", "holder_stale"), Some(1.0));
    assert_eq!(rises(&m, "orders", "renewal_after_lost_liveness"), Some(0.0));
}

#[test]
fn a_token_of_its_own_stays_with_the_process_that_is_gone() {
    for (rules, pid_in_token) in [(", token: per_acquire", false), (", token: per_acquire", true)] {
        let (server, mut exporter, _processes, _dir) = exchanged(rules, pid_in_token);
        // Nobody but the old one has the token: this is something else renewing for it.
        server.cmd(&["PEXPIRE", "lock:orders", "700000"]);
        exporter.wait_for("dlock_renewal_after_lost_liveness 1: dlock_holder", SOON, |m| {
            m.is("dlock_renewal_after_lost_liveness", &[("lock", "orders")], 1.0)
        });
        assert_eq!(said(&exporter.metrics(), "orders"), "replaced Some(1.0)");
        hold(&server, "orders", &host(), "");
        server.cmd(&["DEL", "lock:orders"]);
        exporter.wait_for("dlock_holder_stale 0", SOON, |m| {
            m.is("dlock_holder_stale", &[("lock", "orders")], 0.0)
        });
    }
}
