//! The variables that the runbooks' commands use, and the running of a block with them, as a shell of an engineer would.
//! It must not know what they stand for.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use dlock_exporter::clock;

use super::page::{Block, Kind};
use crate::support::{RedisServer, repository};

/// Longer than any block may take.
const LIMIT: &str = "30";

/// Names and values.
#[derive(Clone, Debug)]
pub struct Variables(BTreeMap<String, String>);

/// How a block ended.
pub struct Outcome {
    /// Whether its status was 0.
    pub ok: bool,
    /// What it printed.
    pub output: String,
    /// What it complained of.
    pub errors: String,
}

impl Variables {
    /// Those that are the same for all, with notes in that directory.
    pub fn new(dir: &Path) -> Self {
        let notes = dir.join("notes").display().to_string();
        let fixed = [
            ("STORE", "main"),
            ("CLOCK", "local"),
            ("SIGNAL", "holder_stale"),
            ("COMMAND", "pexpiretime"),
            ("PATTERN", "lock:job:*"),
            ("UNIT", "orders.service"),
            ("USER", "oncall"),
            ("NOTES", &notes),
        ];
        Self(fixed.map(|(k, v)| (k.to_owned(), v.to_owned())).into())
    }

    /// Sets one.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Sets one to redis-cli's arguments for that server.
    pub fn node(&mut self, name: &str, server: &RedisServer) {
        let address = server.address();
        self.set(name, format!("-h {} -p {}", address.ip(), address.port()));
    }

    /// Where the API has the lock; the names of the tests' locks need no encoding.
    fn lock_url(&self) -> String {
        let of = |name: &str| self.0.get(name).map_or("", String::as_str);
        format!("{}/api/v1/locks/{}/{}", of("EXPORTER"), of("STORE"), of("LOCK"))
    }

    /// Runs a block once.
    pub fn run(&self, script: &str) -> Outcome {
        let binary = Path::new(env!("CARGO_BIN_EXE_dlock_exporter"));
        let mut path = binary.parent().map(Path::to_owned).unwrap_or_default().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let run = Command::new("timeout")
            .args([LIMIT, "bash", "-euo", "pipefail", "-c", script])
            .current_dir(repository("alerts"))
            .env_remove("DLOCK_EXPORTER")
            .env("PATH", path)
            .env("LOCK_URL", self.lock_url())
            .envs(&self.0)
            .output()
            .expect("timeout and bash run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Outcome { ok: run.status.success(), output: text(&run.stdout), errors: text(&run.stderr) }
    }

    /// Runs a block until it is as promised, for so long at most; says what is wrong with it.
    pub fn expect(&self, block: &Block, within: Duration) -> Option<String> {
        let begun = clock::mono();
        loop {
            let outcome = self.run(&block.script);
            let missing = block.missing(&outcome.output);
            // What changes something may be silent; what reads must show something.
            let shows = block.kind == Kind::Changes || !outcome.output.trim().is_empty();
            if outcome.ok && shows && missing.is_empty() {
                return None;
            }
            if clock::mono().since(begun) >= within {
                let (script, output, errors) = (&block.script, &outcome.output, &outcome.errors);
                let short: String = output.chars().take(3000).collect();
                let status = if outcome.ok { "ended well" } else { "failed" };
                return Some(format!(
                    "{status}, promised and missing: {missing:?}\n{script}\n-- output:\n{short}\n-- errors:\n{errors}"
                ));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// A process that this one started.
pub fn child_of(pid: i32) -> Option<String> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next().map(str::to_owned)
}
