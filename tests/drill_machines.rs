//! `dlock_drill`, live: the scenarios of servers, hosts and JVMs. Each passes, what cannot be run here has not passed, and nothing
//! that was started outlives the drill.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::drill::{SLACK, drill, rehearse};
use crate::support::{Group, RedisServer, long, not_tested, wait_until};

const OF_MACHINES: [&str; 7] = [
    "pid-reuse",
    "clock-step",
    "gc-storm",
    "memory-pressure",
    "failover",
    "quorum-erosion",
    "eviction",
];
/// Those that need more of a machine than every machine has: a compiler, a JDK, a cgroup.
const DEMANDING: [&str; 3] = ["clock-step", "gc-storm", "memory-pressure"];

#[test]
fn every_scenario_of_servers_hosts_and_jvms_passes() {
    let rounds = if long() { 20 } else { 1 };
    let count = rounds.to_string();
    let words = ["--slack", SLACK, "--repeat", &count];
    let (passed, said, outcomes) = rehearse(&[&words[..], &OF_MACHINES[..]].concat(), "");
    assert!(passed, "{said}");
    assert_eq!(outcomes.len(), OF_MACHINES.len() * rounds, "{said}");
    for outcome in &outcomes {
        let name = outcome["name"].as_str().expect("a name");
        let Some(why) = outcome["not_run"].as_str() else {
            if is_too_fast(outcome) {
                not_tested(&format!("dlock_drill rehearse {name}: this machine collects too fast"));
            } else {
                assert_eq!(outcome["verdict"], "pass", "{said}");
            }
            continue;
        };
        assert!(DEMANDING.contains(&name), "{name} can be run everywhere: {why}");
        not_tested(&format!("dlock_drill rehearse {name}: {why}"));
    }
}

/// Whether a JVM's collections were too short to show anything on this machine, and nothing else was wrong.
fn is_too_fast(outcome: &serde_json::Value) -> bool {
    outcome["name"] == "gc-storm" && outcome["verdict"] == "not_judged"
}

/// Each fails by what decides it.
#[cfg(feature = "sabotage")]
#[test]
fn an_exporter_without_the_signals_of_machines_fails() {
    let mut deciding = vec![
        ("pid-reuse", "dlock_holder_stale 1"),
        ("clock-step", "dlock_contested 1"),
        ("gc-storm", "dlock_lease_shorter_than_stall 1"),
        ("failover", "dlock_contested 1"),
        ("quorum-erosion", "dlock_quorum_degraded 1"),
        ("eviction", "dlock_contested 1"),
    ];
    if long() {
        // It is given half a minute until it hurts.
        let waiting = "dlock_worker_cgroup_memory_waiting_seconds_total rises by 0.05 s";
        deciding.push(("memory-pressure", waiting));
    }
    let off = "holder_stale,contested,quorum_degraded,lease_shorter_than_stall,cgroup_pressure";
    let names: Vec<&str> = deciding.iter().map(|(name, _)| *name).collect();
    let (passed, said, outcomes) = rehearse(&[&["--slack", "3"], &names[..]].concat(), off);
    assert!(!passed, "{said}");
    for (scenario, signal) in deciding {
        let outcome = outcomes.iter().find(|o| o["name"] == scenario).expect(scenario);
        if !outcome["not_run"].is_null() || is_too_fast(outcome) {
            continue;
        }
        let expectations = outcome["expectations"].as_array().expect("a list");
        let failed = |e: &serde_json::Value| e["what"] == signal && e["verdict"] == "fail";
        assert!(expectations.iter().any(failed), "{scenario} does not fail by {signal}:\n{said}");
    }
}

/// Processes with this path among their words, or as their directory: a server changes its words.
fn processes(text: &str) -> Vec<String> {
    let pids = std::fs::read_dir("/proc").expect("/proc can be listed").flatten();
    let told = pids.filter_map(|pid| {
        let words = std::fs::read_to_string(pid.path().join("cmdline")).ok()?.replace('\0', " ");
        let cwd = std::fs::read_link(pid.path().join("cwd")).ok()?;
        Some(format!("{words} in {}", cwd.display()))
    });
    told.filter(|told| told.contains(text)).collect()
}

fn has_entries(dir: &Path) -> bool {
    std::fs::read_dir(dir).expect("it is there").next().is_some()
}

#[test]
fn what_cannot_be_run_has_not_passed_and_what_is_stopped_leaves_nothing() {
    let server = RedisServer::start();
    let redis = server.address().to_string();
    let exporter = env!("CARGO_BIN_EXE_dlock_exporter");
    let dir = TempDir::new().expect("a temporary directory can be made");
    let json = dir.path().join("outcomes.json");
    let mut command = drill(&["rehearse", "eviction", "--redis", &redis, "--write"]);
    command.args(["--start-exporter", exporter, "--redis-server", "/nowhere/redis-server"]);
    let output = command.arg("--json").arg(&json).output().expect("the drill runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("NOT RUN: eviction") && said.contains("--redis-server"), "{said}");
    assert!(!said.contains("PASS"), "{said}");

    // Stopped in the middle of a world of its own: everything in that is below this directory.
    for (signal, name) in [(Signal::INT, "to stop"), (Signal::KILL, "to kill")] {
        let scratch = dir.path().join(name);
        std::fs::create_dir(&scratch).expect("a directory can be made");
        let mut command = drill(&["rehearse", "quorum-erosion", "--redis", &redis, "--write"]);
        command.args(["--start-exporter", exporter]).env("TMPDIR", &scratch);
        let mut stopped = Group::start("drill", &mut command, &dir.path().join("log"));
        let text = scratch.display().to_string();
        wait_until("five servers and two exporters run", Duration::from_secs(60), || {
            assert!(stopped.ended().is_none(), "{}", stopped.log());
            (processes(&text).len() >= 7).then_some(())
        });
        stopped.signal(signal);
        let status = stopped.wait(Duration::from_secs(30));
        wait_until("nothing that it started runs", Duration::from_secs(10), || {
            processes(&text).is_empty().then_some(())
        });
        if signal == Signal::INT {
            assert_eq!(status.code(), Some(2), "{}", stopped.log());
            assert!(!has_entries(&scratch), "{}", stopped.log());
            assert_eq!(server.number(&["DBSIZE"]), 0, "{}", stopped.log());
        }
    }
}
