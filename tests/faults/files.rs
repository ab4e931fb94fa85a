//! What the exporter itself keeps in files, as parts: the directory of evidence and the config file.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::observe::Mono;
use tempfile::TempDir;

use super::cell::{Effect, Fault, POLL, Part};
use super::world::World;
use crate::support::{
    Answer, Exporter, ExporterSetup, Ghost, Haunted, Metrics, RedisServer, request,
};

/// What cannot be named in any file here.
const NOTHING_IS_READ: &str = "it is written to; its documents are read at the start only";

/// The directory of evidence. A lock that a stranger takes raises a signal, and that makes a document.
pub struct Evidence {
    haunted: Haunted,
    server: RedisServer,
    taken: AtomicU64,
    written: u64,
    next: Mono,
    _real: TempDir,
}

const LOCKS: u64 = 120;

pub fn evidence(world: &World) -> Option<(Evidence, Exporter)> {
    let real = TempDir::new().expect("a temporary directory can be made");
    std::fs::create_dir(real.path().join("documents")).expect("the directory is ours");
    let haunted = Haunted::over(real.path())?;
    let server = RedisServer::start();
    // All are there from the start, as theirs who may have them.
    for n in 0..LOCKS {
        server.cmd(&["SET", &format!("lock:x:{n}"), "mine-1:x", "PX", "600000"]);
    }
    let store = format!(
        "  part:\n    url: {}\n    username: dlock\n    locks: [{{ name: '{{1}}', match: 'lock:x:*', capture: '^lock:x:(.+)$', holder: '^(?P<worker>[^:]+):', workers: [mine-1] }}]\n",
        server.url()
    );
    let more = format!("evidence: {{ dir: '{}/documents' }}\n", haunted.path().display());
    let exporter = world.setup(&store, "", &more).start();
    let taken = AtomicU64::new(0);
    let part = Evidence { haunted, server, taken, written: 0, next: clock::mono(), _real: real };
    Some((part, exporter))
}

pub fn is_own_evidence(_: &str) -> bool {
    // It has no polls.
    false
}

fn count(m: &Metrics, name: &str) -> f64 {
    m.sum(name, &[])
}

impl Part for Evidence {
    fn broken(&mut self, fault: Fault) -> Effect {
        let ghost = match fault {
            Fault::Absent | Fault::Flapping | Fault::Back => Ghost::Gone,
            Fault::Refusing => Ghost::Broken,
            Fault::Hanging => Ghost::Mute,
            Fault::Slow => Ghost::Slow(Duration::from_millis(20)),
            Fault::Garbage | Fault::Huge => return Effect::Never(NOTHING_IS_READ),
            Fault::Denied => Ghost::Denied,
        };
        self.haunted.haunt(ghost, "documents");
        match fault {
            Fault::Absent | Fault::Back => Effect::Loses(&["missing"]),
            Fault::Refusing => Effect::Loses(&["io"]),
            Fault::Denied => Effect::Loses(&["denied"]),
            // Documents wait for the disk, and are lost only once many do.
            _ => Effect::Waits,
        }
    }

    fn heal(&mut self, _: Fault) {
        self.haunted.heal();
        // What is written from now on.
        self.written = self.taken.load(Ordering::Relaxed);
    }

    fn flap(&mut self, is_broken: bool) {
        if is_broken {
            self.haunted.haunt(Ghost::Gone, "documents");
        } else {
            self.haunted.heal();
        }
    }

    fn nudge(&mut self, _: &Exporter) {
        if clock::mono() < self.next {
            return;
        }
        self.next = clock::mono().plus(POLL);
        let n = self.taken.fetch_add(1, Ordering::Relaxed);
        assert!(n < LOCKS, "there are locks enough");
        self.server.cmd(&["SET", &format!("lock:x:{n}"), &format!("w{n}:x"), "PX", "600000"]);
    }

    fn is_whole(&self, _: &Metrics) -> bool {
        // The last one that was taken since it was healed is on the disk.
        let since = self.written;
        let names = std::fs::read_dir(self._real.path().join("documents"));
        let names = names.into_iter().flatten().flatten();
        let names: Vec<String> =
            names.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        (since..self.taken.load(Ordering::Relaxed)).any(|n| {
            let lock = format!("part-{n}-");
            names.iter().any(|name| name.contains(&lock) && name.ends_with(".json"))
        })
    }

    fn is_lost(&self, m: &Metrics) -> bool {
        count(m, "dlock_exporter_evidence_failures_total") > 0.0
    }

    fn reasons(&self, before: &Metrics, m: &Metrics) -> Vec<String> {
        let name = "dlock_exporter_evidence_failures_total";
        let all = m.all(name, &[]).into_iter();
        let grown = all.filter(|s| s.value > before.sum(name, &[("reason", s.label("reason"))]));
        grown.map(|s| s.label("reason").to_owned()).collect()
    }

    fn shows(&self) -> &'static str {
        "dlock_exporter_evidence"
    }

    fn settles(&self, _: Fault) -> Duration {
        Duration::from_secs(1)
    }
}

/// The config file, which is read when it is asked for.
pub struct ConfigFile {
    haunted: Haunted,
    real: TempDir,
    yaml: String,
    last: Option<Answer>,
    is_broken: bool,
}

const NAME: &str = "dlock.yml";

pub fn config(world: &World) -> Option<(ConfigFile, Exporter)> {
    let real = TempDir::new().expect("a temporary directory can be made");
    let yaml = world.yaml("", "", "");
    std::fs::write(real.path().join(NAME), &yaml).expect("the directory is ours");
    let haunted = Haunted::over(real.path())?;
    let file = haunted.path().join(NAME).display().to_string();
    let setup = ExporterSetup::default().arguments(&["--config.file", &file]);
    let exporter = setup.env("DLOCK__STORES__GOOD__PASSWORD", crate::support::PASSWORD).start();
    Some((ConfigFile { haunted, real, yaml, last: None, is_broken: false }, exporter))
}

impl ConfigFile {
    /// A FIFO that nobody writes to, at the file's place.
    fn put_fifo(&self) {
        let path = self.real.path().join(NAME);
        let _ = std::fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|s| s.success()), "mkfifo {}", path.display());
    }
}

impl Part for ConfigFile {
    fn broken(&mut self, fault: Fault) -> Effect {
        self.is_broken = true;
        let haunt = |ghost| self.haunted.haunt(ghost, NAME);
        match fault {
            Fault::Absent | Fault::Flapping | Fault::Back => haunt(Ghost::Gone),
            Fault::Refusing => self.put_fifo(),
            Fault::Hanging => haunt(Ghost::Mute),
            Fault::Slow => haunt(Ghost::Slow(Duration::from_millis(20))),
            Fault::Garbage => haunt(Ghost::Garbage),
            Fault::Huge => haunt(Ghost::Huge),
            Fault::Denied => haunt(Ghost::Denied),
        }
        match fault {
            Fault::Slow => {
                self.is_broken = false;
                Effect::Keeps
            }
            Fault::Flapping => Effect::Waits,
            _ => Effect::Loses(&["refused"]),
        }
    }

    fn heal(&mut self, fault: Fault) {
        if fault == Fault::Refusing {
            let path = self.real.path().join(NAME);
            let _ = std::fs::remove_file(&path);
            std::fs::write(path, &self.yaml).expect("the directory is ours");
        }
        self.haunted.heal();
        self.is_broken = false;
    }

    fn flap(&mut self, is_broken: bool) {
        self.is_broken = is_broken;
        if is_broken {
            self.haunted.haunt(Ghost::Gone, NAME);
        } else {
            self.haunted.heal();
        }
    }

    fn nudge(&mut self, exporter: &Exporter) {
        // Whatever became of the file, who asks gets an answer.
        let limit = Duration::from_secs(8);
        let answer = request(exporter.address(), "POST", "/-/reload", limit);
        self.last = Some(answer.unwrap_or_else(|e| panic!("POST /-/reload: {e}")));
    }

    fn is_whole(&self, m: &Metrics) -> bool {
        self.last.as_ref().is_none_or(|answer| answer.status == 200)
            && m.is("dlock_exporter_config_last_reload_successful", &[], 1.0)
    }

    fn is_lost(&self, m: &Metrics) -> bool {
        m.is("dlock_exporter_config_last_reload_successful", &[], 0.0)
    }

    fn reasons(&self, _: &Metrics, _: &Metrics) -> Vec<String> {
        let told = self.last.as_ref().filter(|answer| {
            answer.status == 500 && answer.body.contains(NAME) && answer.body.lines().count() > 1
        });
        told.map(|_| "refused".to_owned()).into_iter().collect()
    }

    fn shows(&self) -> &'static str {
        "dlock_exporter_config"
    }

    fn settles(&self, _: Fault) -> Duration {
        Duration::from_secs(1)
    }
}
