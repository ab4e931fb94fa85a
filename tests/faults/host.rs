//! What the kernel and a JVM say of the worker `part-1` on this host, as parts: its entry in /proc, its cgroup, and the file
//! in which its JVM counts. All are the real ones, seen through a file system that can be told to fail.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::cell::{Effect, Fault, Part};
use super::world::World;
use crate::support::{Cgroup, Exporter, Ghost, Group, Haunted, Metrics, not_tested};

/// What has to be in a scrape, and what is haunted.
pub struct OnHost {
    haunted: Haunted,
    name: String,
    series: &'static str,
    aspect: &'static str,
    /// What its absence means; none where nothing else than a failure can be meant.
    gone: &'static [&'static str],
    _group: Group,
    _cgroup: Option<Cgroup>,
    _dir: TempDir,
}

const DEAD: &str = "dead";

/// An exporter that sees a directory as the haunted one shows it, in a mount namespace of its own.
fn watched(world: &World, dir: &Path, group: &Group, haunted: &Haunted, at: &str) -> Exporter {
    let pid_file = dir.join("pid");
    std::fs::write(&pid_file, group.pid().to_string()).expect("the directory is ours");
    let workers = format!(
        "  part: {{ names: [part-1], process: {{ pid_file: '{}' }} }}\n",
        pid_file.display()
    );
    let script = format!("mount --bind '{}' '{at}' && exec \"$@\"", haunted.path().display());
    let words = ["unshare", "--mount", "sh", "-c", &script, "sh"];
    world.setup("", &workers, "").beneath(&words).start()
}

fn sleeper(dir: &Path) -> Group {
    Group::start("a worker", Command::new("sleep").arg("600"), &dir.join("log"))
}

pub fn process(world: &World) -> Option<(OnHost, Exporter)> {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let group = sleeper(dir.path());
    let entry = format!("/proc/{}", group.pid());
    let haunted = Haunted::over(Path::new(&entry))?;
    let exporter = watched(world, dir.path(), &group, &haunted, &entry);
    let part = OnHost {
        haunted,
        name: String::new(),
        series: "dlock_worker_process_threads",
        aspect: "process",
        gone: &[DEAD],
        _group: group,
        _cgroup: None,
        _dir: dir,
    };
    Some((part, exporter))
}

pub fn cgroup(world: &World) -> Option<(OnHost, Exporter)> {
    let name = format!("dlock-test-fault-{}", std::process::id());
    let dir = TempDir::new().expect("a temporary directory can be made");
    let group = sleeper(dir.path());
    let cgroup = Cgroup::v2(&name)?;
    cgroup.add(group.pid());
    let haunted = Haunted::over(cgroup.path())?;
    let at = cgroup.path().display().to_string();
    let exporter = watched(world, dir.path(), &group, &haunted, &at);
    let part = OnHost {
        haunted,
        name: String::new(),
        series: "dlock_worker_cgroup_frozen",
        aspect: "cgroup",
        gone: &[],
        _group: group,
        _cgroup: Some(cgroup),
        _dir: dir,
    };
    Some((part, exporter))
}

pub fn jvm(world: &World) -> Option<(OnHost, Exporter)> {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let source = dir.path().join("Idle.java");
    let text = "class Idle { public static void main(String[] a) throws Exception { Thread.sleep(600000); } }";
    std::fs::write(&source, text).expect("the directory is ours");
    let built = Command::new("javac").arg("-d").arg(dir.path()).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        not_tested("there is no JDK: javac does not run");
        return None;
    }
    let mut command = Command::new("java");
    command.args(["-XX:+UseSerialGC", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp"]);
    command.arg(dir.path()).arg("Idle").stdin(Stdio::null());
    let group = Group::start("a JVM", &mut command, &dir.path().join("log"));
    let entry = format!("/proc/{}", group.pid());
    let haunted = Haunted::over(Path::new(&entry))?;
    let exporter = watched(world, dir.path(), &group, &haunted, &entry);
    let part = OnHost {
        haunted,
        name: directory_of_counters()?,
        series: "dlock_worker_jvm_safepoint_seconds_total",
        aspect: "jvm",
        gone: &["unreachable", "unsupported"],
        _group: group,
        _cgroup: None,
        _dir: dir,
    };
    Some((part, exporter))
}

/// `hsperfdata_USER`.
fn directory_of_counters() -> Option<String> {
    let output = Command::new("id").arg("-un").output().ok()?;
    let user = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Some(format!("hsperfdata_{user}"))
}

pub fn is_own(target: &str) -> bool {
    // One thread samples all workers of this host: what hangs for one is not there of any.
    super::is_part(target) || target == "host"
}

impl Part for OnHost {
    fn broken(&mut self, fault: Fault) -> Effect {
        let ghost = match fault {
            Fault::Absent | Fault::Back if self.gone.is_empty() => {
                return Effect::Never("the kernel removes no cgroup with a process in it");
            }
            Fault::Absent | Fault::Flapping | Fault::Back => Ghost::Gone,
            Fault::Refusing => Ghost::Broken,
            Fault::Hanging => Ghost::Mute,
            Fault::Slow => Ghost::Slow(Duration::from_millis(2)),
            Fault::Garbage => Ghost::Garbage,
            Fault::Huge => Ghost::Huge,
            Fault::Denied => Ghost::Denied,
        };
        self.haunted.haunt(ghost, &self.name);
        match fault {
            Fault::Absent | Fault::Back => Effect::Loses(self.gone),
            Fault::Slow => Effect::Keeps,
            Fault::Flapping => Effect::Waits,
            Fault::Denied => Effect::Loses(&["permission", "hidden"]),
            _ => Effect::Loses(&["unreachable", "unsupported", "stale"]),
        }
    }

    fn heal(&mut self, _: Fault) {
        self.haunted.heal();
    }

    fn flap(&mut self, is_broken: bool) {
        if is_broken {
            self.haunted.haunt(Ghost::Gone, &self.name);
        } else {
            self.haunted.heal();
        }
    }

    fn is_whole(&self, m: &Metrics) -> bool {
        m.value(self.series, &[("worker", "part-1")]).is_some()
            && !self.told(m).iter().any(|r| r != "not_configured")
            && (self.aspect != "process" || alive(m) == Some(1.0))
    }

    fn is_lost(&self, m: &Metrics) -> bool {
        m.value(self.series, &[("worker", "part-1")]).is_none()
            && (self.aspect != "process" || alive(m) != Some(1.0))
    }

    fn reasons(&self, _: &Metrics, m: &Metrics) -> Vec<String> {
        let mut told = self.told(m);
        told.extend((self.aspect == "process" && alive(m) == Some(0.0)).then(|| DEAD.to_owned()));
        told
    }

    fn shows(&self) -> &'static str {
        "dlock_worker_"
    }

    fn settles(&self, _: Fault) -> Duration {
        // A look at the threads, and at the cgroup, comes with the samples of stalls.
        Duration::from_secs(2)
    }
}

fn alive(m: &Metrics) -> Option<f64> {
    m.value("dlock_worker_alive", &[("worker", "part-1"), ("source", "process")])
}

impl OnHost {
    fn told(&self, m: &Metrics) -> Vec<String> {
        // Where the look at the process takes in its cgroup, both hang; what of a cgroup cannot be understood is its pressure.
        let aspects: &[&str] = match self.aspect {
            "cgroup" => &["cgroup", "pressure", "process"],
            other => &[other],
        };
        let lost = m.all("dlock_worker_coverage_lost", &[("worker", "part-1")]).into_iter();
        let lost = lost.filter(|s| aspects.contains(&s.label("aspect")));
        lost.map(|s| s.label("reason").to_owned()).collect()
    }
}
