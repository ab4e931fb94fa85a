//! Cgroups of holders: one is starved of memory, one by a quota, one is frozen, one is left alone, and for each the metrics
//! that are about it move and the others do not. And cgroups that cannot be read: absent, with a reason.

use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::processes::{ALIVE, SOON, all, config, hold, host, sleeper, unique};
use crate::support::{Cgroup, Exporter, Group, Metrics, RedisServer, for_a_while, not_tested};

/// Long enough for pressure and quotas to show.
const LATER: Duration = Duration::from_secs(30);

const PRESSED: [&str; 2] = ["memory_waiting", "memory_stalled"];

/// A total of the cgroup of the worker of that kind.
fn total(m: &Metrics, kind: &str, name: &str) -> Option<f64> {
    let worker = format!("{kind}-1");
    m.value(&format!("dlock_worker_cgroup_{name}_total"), &[("worker", &worker)])
}

fn gauge(m: &Metrics, kind: &str, name: &str) -> Option<f64> {
    let worker = format!("{kind}-1");
    m.value(&format!("dlock_worker_cgroup_{name}"), &[("worker", &worker)])
}

/// A program that waits until it is in so many cgroups of the tests, and then runs this Python.
fn caged(name: &str, cgroups: usize, code: &str, word: &str) -> (Group, TempDir) {
    let dir = TempDir::new().unwrap();
    let code = format!(
        "import os, sys, time\n\
         while open('/proc/self/cgroup').read().count('/dlock-test-') < {cgroups}: time.sleep(0.01)\n\
         {code}"
    );
    let mut command = Command::new("python3");
    (Group::start(name, command.args(["-c", &code, word]), &dir.path().join("log")), dir)
}

/// A server, and an exporter that knows these kinds of holders by the pids in their tokens.
fn watch(kinds: &[(&'static str, &Group)]) -> (RedisServer, Exporter) {
    let server = RedisServer::start();
    for (kind, group) in kinds {
        hold(&server, kind, &host(), &group.pid().to_string());
    }
    let means: Vec<_> =
        kinds.iter().map(|(k, _)| (*k, "pid_from_holder: true".to_owned())).collect();
    let exporter = Exporter::start(&config(&server, &means, ""));
    (server, exporter)
}

#[test]
fn want_of_memory_moves_pressure_and_a_kill_is_counted_where_it_was() {
    let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let pages = dir.path().join("pages");
    std::fs::write(&pages, vec![7; 96 << 20]).unwrap();
    std::fs::File::open(&pages).unwrap().sync_all().unwrap();
    // It reads more than it may keep; what others have read of the file is forgotten first.
    let thrash = "f = open(sys.argv[1], 'rb', 0)\n\
         os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)\n\
         while True:\n f.seek(0)\n while f.read(1 << 20): pass";
    let (starved, _a) = caged("starved", 2, thrash, &pages.display().to_string());
    let (left, _b) = sleeper(&unique());
    let name = format!("dlock-test-{}", unique());
    let beside = format!("{name}-beside");
    let (Some(v2), Some(memory)) = (Cgroup::v2(&name), Cgroup::v1_of("memory", &name)) else {
        return;
    };
    let (Some(v2_beside), Some(memory_beside)) =
        (Cgroup::v2(&beside), Cgroup::v1_of("memory", &beside))
    else {
        return;
    };
    memory.write("memory.limit_in_bytes", "33554432");
    memory_beside.write("memory.limit_in_bytes", "16777216");
    v2_beside.add(left.pid());
    memory_beside.add(left.pid());
    let (_server, mut exporter) = watch(&[("starved", &starved), ("left", &left)]);
    all(&mut exporter, &["starved", "left"], ALIVE, SOON);
    exporter.wait_for("dlock_worker_cgroup_ of the one that is left alone", SOON, |m| {
        PRESSED.iter().all(|name| total(m, "left", &format!("{name}_seconds")).is_some())
    });

    v2.add(starved.pid());
    memory.add(starved.pid());
    exporter.wait_for("dlock_worker_cgroup_memory_ of the starved rises", LATER, |m| {
        PRESSED
            .iter()
            .all(|n| total(m, "starved", &format!("{n}_seconds")).is_some_and(|t| t > 0.05))
    });
    exporter.wait_for("dlock_worker_cgroup_memory_limit_bytes", SOON, |m| {
        gauge(m, "starved", "memory_limit_bytes") == Some(33_554_432.0)
            && gauge(m, "starved", "memory_bytes").is_some_and(|b| b > 0.0 && b <= 34e6)
    });
    let m = exporter.metrics();
    assert_eq!(total(&m, "starved", "throttled_periods"), Some(0.0));
    assert_eq!(total(&m, "starved", "oom_kills"), Some(0.0));
    assert_eq!(gauge(&m, "starved", "frozen"), Some(0.0));
    for name in PRESSED {
        assert_eq!(total(&m, "left", &format!("{name}_seconds")), Some(0.0), "{name}");
    }

    // A child of the one that was left alone takes more than there is.
    let (mut glutton, _c) = caged("glutton", 1, "x = b'x' * (200 << 20)", "");
    memory_beside.add(glutton.pid());
    glutton.wait(SOON);
    exporter.wait_for("dlock_worker_cgroup_oom_kills_total 1", SOON, |m| {
        total(m, "left", "oom_kills") == Some(1.0)
    });
    let m = exporter.metrics();
    assert_eq!(total(&m, "starved", "oom_kills"), Some(0.0));
    assert_eq!(total(&m, "left", "throttled_periods"), Some(0.0));
}

#[test]
fn a_quota_above_moves_throttling_and_cpu_pressure_only() {
    let (busy, _a) = caged("busy", 2, "while True: pass", "");
    let name = format!("dlock-test-{}", unique());
    let (Some(v2), Some(cpu)) = (Cgroup::v2(&name), Cgroup::v1_of("cpu", &name)) else { return };
    let inner = cpu.below("app");
    cpu.write("cpu.cfs_period_us", "50000");
    cpu.write("cpu.cfs_quota_us", "5000");
    v2.add(busy.pid());
    inner.add(busy.pid());
    let (_server, mut exporter) = watch(&[("busy", &busy)]);
    exporter.wait_for("dlock_worker_cgroup_throttled_ dlock_worker_cgroup_cpu_", LATER, |m| {
        total(m, "busy", "throttled_periods").is_some_and(|n| n >= 10.0)
            && total(m, "busy", "throttled_seconds").is_some_and(|s| s > 0.2)
            && total(m, "busy", "cpu_waiting_seconds").is_some_and(|s| s > 0.2)
    });
    exporter.wait_for("dlock_worker_cgroup_pressure_ratio", SOON, |m| {
        let cpu = [("worker", "busy-1"), ("resource", "cpu"), ("kind", "some")];
        m.value("dlock_worker_cgroup_pressure_ratio", &cpu).is_some_and(|r| r > 0.1 && r <= 1.0)
    });
    let m = exporter.metrics();
    for name in PRESSED {
        let waited = total(&m, "busy", &format!("{name}_seconds"));
        assert!(waited.is_some_and(|s| s < 0.05), "{name}: {waited:?}");
    }
    // Its v1 memory cgroup is whatever this machine gave it.
    assert!(total(&m, "busy", "oom_kills").is_none_or(|n| n == 0.0));
    // A total does not fall when the quota goes.
    let before = total(&m, "busy", "throttled_seconds").unwrap();
    cpu.write("cpu.cfs_quota_us", "-1");
    exporter.never("a fallen total", Duration::from_secs(2), move |m| {
        total(m, "busy", "throttled_seconds").is_some_and(|s| s < before)
    });
}

#[test]
fn pressure_that_is_off_is_absent_with_a_reason_and_comes_back() {
    let (left, _a) = sleeper(&unique());
    let Some(v2) = Cgroup::v2(&format!("dlock-test-{}", unique())) else { return };
    if !v2.has("cgroup.pressure") {
        return not_tested("pressure cannot be switched off for one cgroup");
    }
    v2.add(left.pid());
    let (_server, mut exporter) = watch(&[("left", &left)]);
    let waiting = |m: &Metrics| total(m, "left", "memory_waiting_seconds");
    let lost = |m: &Metrics| {
        let labels = [("worker", "left-1"), ("aspect", "pressure"), ("reason", "unsupported")];
        m.value("dlock_worker_coverage_lost", &labels)
    };
    exporter.wait_for("dlock_worker_cgroup_memory_waiting_seconds_total", SOON, |m| {
        waiting(m) == Some(0.0) && lost(m).is_none_or(|v| v == 0.0)
    });
    v2.write("cgroup.pressure", "0");
    exporter.wait_for("dlock_worker_coverage_lost dlock_worker_cgroup_", SOON, |m| {
        waiting(m).is_none() && lost(m) == Some(1.0)
    });
    // The rest of the cgroup is still known.
    assert_eq!(gauge(&exporter.metrics(), "left", "frozen"), Some(0.0));
    v2.write("cgroup.pressure", "1");
    exporter.wait_for("dlock_worker_cgroup_memory_waiting_seconds_total again", SOON, |m| {
        waiting(m).is_some() && lost(m).is_none_or(|v| v == 0.0)
    });
}

#[test]
fn the_root_cgroup_is_not_taken_for_the_workers_own() {
    let (left, _a) = sleeper(&unique());
    let text = std::fs::read_to_string(format!("/proc/{}/cgroup", left.pid())).unwrap();
    if !text.lines().any(|l| l == "0::/") {
        return not_tested("processes of this machine are not in the root of cgroup v2");
    }
    let (_server, mut exporter) = watch(&[("left", &left)]);
    exporter.wait_for("dlock_worker_coverage_lost", SOON, |m| {
        let labels = [("worker", "left-1"), ("aspect", "pressure")];
        m.sum("dlock_worker_coverage_lost", &labels) == 1.0
    });
    for_a_while(Duration::from_millis(500));
    let m = exporter.metrics();
    assert_eq!(m.all("dlock_worker_cgroup_pressure_ratio", &[("worker", "left-1")]).len(), 0);
    assert_eq!(total(&m, "left", "memory_waiting_seconds"), None);
}
