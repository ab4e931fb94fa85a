//! A private Alertmanager on a free port with a given config, and amtool. Gone with the test. It must not know what any
//! route means.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::prometheus::{Labels, labels};
use super::{Group, free_port, request, wait_until};

/// A running Alertmanager.
pub struct Alertmanager {
    group: Group,
    address: SocketAddr,
    _dir: TempDir,
}

/// An alert as Alertmanager keeps it.
#[derive(Clone, Debug)]
pub struct KeptAlert {
    /// All its labels, `alertname` too.
    pub labels: Labels,
    /// `active`, `suppressed` or `unprocessed`.
    pub state: String,
    /// How many alerts inhibit it.
    pub inhibited_by: usize,
}

impl KeptAlert {
    /// A label's value, empty if it has no such label.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

impl Alertmanager {
    /// Starts it with this config and waits until it is ready. It is alone: no cluster.
    pub fn start(config: &str) -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let file = dir.path().join("alertmanager.yml");
        std::fs::write(&file, config).expect("the config can be written");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut command = Command::new("prometheus-alertmanager");
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.path={}", dir.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(["--cluster.listen-address=", "--log.level=warn"]);
        let mut group = Group::start("alertmanager", &mut command, &dir.path().join("log"));
        wait_until("Alertmanager is ready", Duration::from_secs(20), || {
            assert!(group.ended().is_none(), "Alertmanager ended:\n{}", group.log_tail());
            let answer = request(address, "GET", "/-/ready", Duration::from_secs(2)).ok()?;
            (answer.status == 200).then_some(())
        });
        Self { group, address, _dir: dir }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it logged; warnings and errors only.
    pub fn log(&self) -> String {
        self.group.log()
    }

    /// The alerts that it keeps now.
    pub fn alerts(&self) -> Vec<KeptAlert> {
        let answer = request(self.address, "GET", "/api/v2/alerts", Duration::from_secs(10))
            .unwrap_or_else(|e| panic!("/api/v2/alerts: {e}\n{}", self.group.log_tail()));
        let alerts: Value = serde_json::from_str(&answer.body)
            .unwrap_or_else(|e| panic!("/api/v2/alerts: {e}: {}", answer.body));
        let alerts = alerts.as_array().expect("alerts are a list");
        let count = |v: &Value| v.as_array().map_or(0, Vec::len);
        alerts
            .iter()
            .map(|alert| KeptAlert {
                labels: labels(&alert["labels"]),
                state: alert["status"]["state"].as_str().expect("it has a state").to_owned(),
                inhibited_by: count(&alert["status"]["inhibitedBy"]),
            })
            .collect()
    }

    /// Gives it an alert with these labels, as Prometheus would: `alertname=DlockStoreDown`.
    pub fn add(&self, labels: &[&str]) {
        let url = format!("--alertmanager.url=http://{}", self.address);
        amtool(&[&["alert", "add", &url], labels].concat());
    }
}

/// Runs amtool and gives what it prints; panics if it fails.
pub fn amtool(words: &[&str]) -> String {
    run("amtool", words)
}

/// Runs promtool and gives what it prints; panics if it fails.
pub fn promtool(words: &[&str]) -> String {
    run("promtool", words)
}

fn run(program: &str, words: &[&str]) -> String {
    let output = Command::new(program)
        .args(words)
        .output()
        .unwrap_or_else(|e| panic!("{program} does not run ({e}); tests/run installs it"));
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{program} {words:?}:\n{text}");
    text
}
