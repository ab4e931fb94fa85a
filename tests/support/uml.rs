//! A Linux of its own inside a process (Debian's user-mode-linux), for what a test must not do to the machine it runs on:
//! it boots, goes through `uml/scenario.py` with the exporter inside, and is gone. It must not judge what it saw.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

use super::preload::library;
use super::{Group, Metrics, repository};
use dlock_exporter::clock;

/// For all of it; half a minute on a machine with nothing else to do.
const LIMIT: Duration = Duration::from_secs(85);

/// What was seen inside.
#[derive(Debug)]
pub struct Inside {
    scrapes: BTreeMap<String, Metrics>,
    facts: serde_json::Value,
    log: String,
}

impl Inside {
    /// The one boot of this process; panics with what the machine said if it went wrong.
    pub fn look() -> &'static Self {
        static BOOTED: OnceLock<Result<Inside, String>> = OnceLock::new();
        let booted = || {
            let _alone = super::whole_machine();
            boot()
        };
        BOOTED.get_or_init(booted).as_ref().unwrap_or_else(|why| panic!("{why}"))
    }

    /// A scrape by its name in the scenario.
    pub fn scrape(&self, name: &str) -> &Metrics {
        self.scrapes.get(name).unwrap_or_else(|| panic!("the scenario has no scrape {name}"))
    }

    /// A number of the scenario's, by a path such as `/memory/kills`.
    pub fn number(&self, path: &str) -> f64 {
        let value = self.facts.pointer(path).and_then(serde_json::Value::as_f64);
        value.unwrap_or_else(|| panic!("no number {path} in {}", self.facts))
    }

    /// Anything else that it wrote down.
    pub fn fact(&self, path: &str) -> &serde_json::Value {
        self.facts.pointer(path).unwrap_or_else(|| panic!("no {path} in {}", self.facts))
    }

    /// The exporter's log.
    pub fn log(&self) -> &str {
        &self.log
    }
}

fn boot() -> Result<Inside, String> {
    let dir = TempDir::new().map_err(|e| format!("no temporary directory: {e}"))?;
    let out = dir.path().join("out");
    std::fs::create_dir(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    if Command::new("linux.uml").arg("--version").output().is_err() {
        return Err("linux.uml does not run; Debian's package user-mode-linux brings it".into());
    }
    let (_kept, registers) = library("tests/support/uml/registers.c");
    let mut command = Command::new("linux.uml");
    command
        .args(["mem=512M", "rootfstype=hostfs", "rootflags=/", "ro", "panic=-1"])
        .args(["con=null", "con0=null,fd:1", "umid=dlock"])
        .arg(format!("uml_dir={}", dir.path().display()))
        .arg(format!("init={}", repository("tests/support/uml/init").display()))
        // What the kernel does not know becomes the environment of its first process.
        .arg(format!("DLOCK_OUT={}", out.display()))
        .arg(format!("DLOCK_BIN={}", env!("CARGO_BIN_EXE_dlock_exporter")))
        .env("LD_PRELOAD", registers)
        .env("TMPDIR", dir.path());
    let mut machine = Group::start("linux.uml", &mut command, &dir.path().join("console"));
    let begun = clock::mono();
    while machine.ended().is_none() {
        if clock::mono().since(begun) > LIMIT {
            return Err(format!("not done within {LIMIT:?}; console:\n{}", machine.log_tail()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = |name: &str| {
        String::from_utf8_lossy(&std::fs::read(out.join(name)).unwrap_or_default()).into_owned()
    };
    let status = text("status");
    if status.trim() != "0" {
        return Err(format!(
            "the scenario ended with {status:?} and said:\n{}\nexporter:\n{}\nconsole:\n{}",
            text("said"),
            text("exporter.log"),
            machine.log_tail()
        ));
    }
    let facts =
        serde_json::from_str(&text("facts.json")).map_err(|e| format!("facts.json: {e}"))?;
    let mut scrapes = BTreeMap::new();
    for entry in std::fs::read_dir(&out).map_err(|e| e.to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".prom") {
            let metrics = Metrics::parse(&text(&format!("{name}.prom")))?;
            scrapes.insert(name.to_owned(), metrics);
        }
    }
    Ok(Inside { scrapes, facts, log: text("exporter.log") })
}
