//! `dlock_drill`, live: every scenario on real processes, a broken exporter that makes the matching ones fail, and what it does
//! on a server that is not its own.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    Exporter, ExporterSetup, Group, PASSWORD, RedisServer, RedisSetup, acl_line_of_the_readme,
    free_port, long, wait_until, whole_machine,
};

/// What a busy machine may add to any delay.
pub const SLACK: &str = "30";

/// The program with these words.
pub fn drill(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlock_drill"));
    command.args(words);
    command
}

/// All scenarios in a world of the drill's own; what it said, and the outcomes.
pub fn rehearse(words: &[&str], sabotage: &str) -> (bool, String, Vec<Value>) {
    // Up to eight scenarios at a time, each with two workers, and an exporter that has to look at all of them in time.
    let _whole = whole_machine();
    let dir = TempDir::new().expect("a temporary directory can be made");
    let json = dir.path().join("outcomes.json");
    let mut command = drill(&["rehearse", "--start-redis", "--jobs", "8"]);
    command.args(["--start-exporter", env!("CARGO_BIN_EXE_dlock_exporter")]).args(words);
    command.arg("--json").arg(&json).env("DLOCK_SABOTAGE", sabotage);
    let output = command.output().expect("the drill runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let document = std::fs::read(&json).ok().and_then(|t| serde_json::from_slice::<Value>(&t).ok());
    let outcomes = document.and_then(|d| d["results"].as_array().cloned());
    let outcomes = outcomes.unwrap_or_else(|| panic!("no outcomes:\n{said}"));
    (output.status.success(), said.into_owned(), outcomes)
}

/// Those whose world is the shared one.
const OF_WORKERS: [&str; 8] = [
    "kill",
    "pause",
    "partition",
    "late-restore",
    "replay",
    "renewal-paused",
    "renewal-outlives",
    "overwrite",
];

#[test]
fn every_scenario_of_workers_passes() {
    let rounds = if long() { 20 } else { 1 };
    let count = rounds.to_string();
    let (_, said, outcomes) =
        rehearse(&[&["--slack", SLACK, "--repeat", &count], &OF_WORKERS[..]].concat(), "");
    // On a busy machine the exporter may read too late to tell how a lease ended, and says so.
    let late = "a lease that lapsed counts as expired under a holder";
    for outcome in &outcomes {
        let parts = outcome["expectations"].as_array().expect("a list");
        let is_well = |part: &Value| {
            let what = part["what"].as_str().expect("text");
            part["verdict"] == "pass" || part["verdict"] == "not_judged" && what.starts_with(late)
        };
        assert!(outcome["not_run"].is_null() && parts.iter().all(is_well), "{said}");
    }
    assert_eq!(outcomes.len(), OF_WORKERS.len() * rounds, "{said}");
    assert!(said.contains("--seed "), "a failure could not be repeated: {said}");
}

/// Each scenario fails by the signal that decides it, and by nothing before it.
#[cfg(feature = "sabotage")]
#[test]
fn an_exporter_without_its_signals_fails() {
    let deciding = [
        ("kill", "dlock_holder_stale 1"),
        ("pause", "dlock_holder_stale 1"),
        ("partition", "dlock_renewal_overdue 1"),
        ("late-restore", "dlock_contested 1"),
        ("replay", "dlock_contested 1"),
        ("renewal-paused", "dlock_renewal_overdue 1"),
        ("renewal-outlives", "dlock_holder_stale 1"),
        ("overwrite", "dlock_contested 1"),
    ];
    let off = "holder_stale,renewal_after_lost_liveness,renewal_overdue,contested";
    let (passed, said, outcomes) = rehearse(&[&["--slack", "3"], &OF_WORKERS[..]].concat(), off);
    assert!(!passed, "{said}");
    for (scenario, signal) in deciding {
        let outcome = outcomes.iter().find(|o| o["name"] == scenario).expect(scenario);
        let expectations = outcome["expectations"].as_array().expect("a list");
        let failed =
            |what: &str| expectations.iter().any(|e| e["what"] == what && e["verdict"] == "fail");
        assert!(failed(signal), "{scenario} does not fail by {signal}:\n{said}");
        assert!(failed("every other signal stays quiet"), "{scenario}:\n{said}");
        if scenario == "renewal-outlives" {
            assert!(failed("dlock_renewal_after_lost_liveness 1"), "{said}");
        }
    }
}

/// A server whose user `dlock` may also read what the drill writes.
fn server() -> RedisServer {
    let line = acl_line_of_the_readme().replace("ACL SETUSER", "user");
    let line = line.replace("PASSWORD", PASSWORD)
        + " %R~dlock_drill:* +psubscribe &__keyspace@0__:dlock_drill:*";
    let on = ["--notify-keyspace-events", "KEA"];
    RedisSetup::default().acl(&line).arguments(&on).start()
}

/// The config fragment that the drill prints, in a config of one's own.
fn config(server: &RedisServer, dir: &Path, resource: &str) -> String {
    let printed = drill(&["config", "--resource", resource, "--dir"]).arg(dir).output();
    let fragment = String::from_utf8(printed.expect("the drill runs").stdout).expect("text");
    let url = format!("  main:\n    url: {}\n    username: dlock\n", server.url());
    format!("poll_interval: 200ms\n{}", fragment.replace("  main:\n", &url))
}

#[test]
fn on_a_server_of_ones_own_it_asks_first_and_leaves_nothing_behind() {
    let server = server();
    let dir = TempDir::new().expect("a temporary directory can be made");
    let (redis, resource) = (server.address().to_string(), format!("127.0.0.1:{}", free_port()));
    let blind = format!("stores:\n  main:\n    url: {}\n    username: dlock\n", server.url());
    let exporter: Exporter = ExporterSetup::file(&blind).password().start();
    let url = format!("http://{}", exporter.address());
    let textfile = dir.path().join("drill.prom");
    let words = |scenario: &'static str, slack: &'static str| {
        let mut command = drill(&["rehearse", scenario, "--redis", &redis, "--exporter", &url]);
        command.args(["--resource", &resource, "--slack", slack, "--dir"]).arg(dir.path());
        command.arg("--textfile").arg(&textfile);
        command
    };
    let said = |mut command: Command| {
        let output = command.output().expect("the drill runs");
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text.into_owned())
    };
    let keys = || server.text(&["EVAL", "return table.concat(redis.call('KEYS','*'),' ')", "0"]);

    let (status, text) = said(words("kill", SLACK));
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("--write") && text.contains("dlock_drill:"), "{text}");
    let mut agreed = words("kill", "0");
    agreed.arg("--write");
    let (status, text) = said(agreed);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("does not watch") && text.contains("dlock_drill config"), "{text}");
    assert_eq!(keys(), "", "nothing was begun");

    exporter.rewrite(&config(&server, dir.path(), &resource));
    assert_eq!(exporter.request("POST", "/-/reload").status, 200, "{}", exporter.log());
    // Stopped in the middle it cleans up as well.
    let mut command = words("pause", SLACK);
    let mut stopped = Group::start("drill", command.arg("--write"), &dir.path().join("log"));
    wait_until("its worker holds", Duration::from_secs(60), || {
        let held = server.number(&["EXISTS", "dlock_drill:lock:drill-pause-1"]) == 1;
        assert!(stopped.ended().is_none(), "{}", stopped.log());
        held.then_some(())
    });
    let elsewhere = format!("127.0.0.1:{}", free_port());
    let mut second = drill(&["rehearse", "kill", "--redis", &redis, "--exporter", &url, "--write"]);
    second.args(["--resource", &elsewhere, "--slack", SLACK, "--dir"]).arg(dir.path());
    let (status, text) = said(second);
    assert_eq!(status, Some(2), "two at once: {text}");
    assert!(text.contains("another rehearsal runs"), "{text}");
    stopped.signal(Signal::INT);
    assert_eq!(stopped.wait(Duration::from_secs(30)).code(), Some(2), "{}", stopped.log());
    assert_eq!(keys(), "", "{}", stopped.log());
    assert!(!textfile.exists(), "nothing has passed");

    let mut lost = words("kill", SLACK);
    lost.args(["--write", "--json"]).arg(dir.path().join("not/there.json"));
    let (status, text) = said(lost);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("there.json cannot be written") && !text.contains("kill"), "{text}");

    let mut agreed = words("kill", SLACK);
    agreed.args(["overwrite", "--write"]);
    let (status, text) = said(agreed);
    assert_eq!(status, Some(0), "{text}\n{}", exporter.log());
    assert!(text.contains("2 passed, 0 failed"), "{text}");
    assert_eq!(keys(), "", "{text}");
    let passed = std::fs::read_to_string(&textfile).expect("it was written");
    let sample = passed.lines().find_map(|l| {
        l.strip_prefix("dlock_drill_last_pass_timestamp_seconds{scenario=\"kill\"} ")
    });
    let at: f64 = sample.and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("{passed}"));
    assert!((dlock_exporter::clock::wall_secs() - at).abs() < 120.0, "{passed}");
    let files = std::fs::read_dir(dir.path()).expect("it is there").flatten();
    let left: Vec<_> =
        files.filter(|f| f.file_name().to_string_lossy().starts_with("drill-")).collect();
    assert!(left.is_empty(), "{left:?}");
}
