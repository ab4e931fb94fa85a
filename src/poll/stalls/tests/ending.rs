//! A process that ends: its cgroup is looked at once more.

use std::fs;
use std::path::Path;

use tokio::sync::mpsc::{self, Receiver};

use super::*;
use crate::observe::ProcessId;

const PID: i32 = 4711;

fn put(dir: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(dir).unwrap();
    files.iter().for_each(|(name, text)| fs::write(dir.join(name), text).unwrap());
}

/// Kills that the cgroups read in a tick told.
fn kills(facts: &mut Receiver<Observation>) -> Vec<u64> {
    let mut kills = Vec::new();
    while let Ok(fact) = facts.try_recv() {
        if let Observation::Cgroup(read) = fact {
            kills.extend(read.seen.ok().map(|c| c.oom_kills.unwrap()));
        }
    }
    kills
}

#[test]
fn its_cgroup_is_looked_at_when_it_is_gone_or_not_found_any_more() {
    for is_found in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let (procfs, tree) = (root.path().join("proc"), root.path().join("cg"));
        let process = procfs.join(PID.to_string());
        let stat = "4711 (x) S 1 4711 4711 0 -1 4194560 0 0 0 0 7 5 0 0 20 0 1 0 5 999 250 1 1\n";
        put(&process, &[("stat", stat), ("cgroup", "0::/app\n")]);
        put(&process.join("task/4711"), &[("stat", stat), ("schedstat", "500 200 3\n")]);
        put(&procfs.join("1"), &[]);
        put(&tree, &[("cgroup.controllers", "memory\n")]);
        put(&tree.join("app"), &[("memory.events", "oom_kill 0\n")]);
        for name in ["memory.pressure", "cpu.pressure", "io.pressure"] {
            put(&tree.join("app"), &[(name, "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n")]);
        }
        let mut settings = settings("/proc");
        settings.paths = Paths { procfs, cgroupfs: Some(tree.clone()) };
        // No look but the first is due.
        settings.poll_interval = Duration::from_secs(3600);
        let (out, mut facts) = mpsc::channel(64);
        let mut looks = Looks {
            sampler: Sampler::with(&settings, None, Pool::of(0)),
            cgroups: Cgroups::new(settings.paths.clone()),
            jvms: Jvms::new(settings.paths.clone()),
            cgroups_due: Mono::default(),
            before: Vec::new(),
            settings: &settings,
            out: &out,
        };
        let id = ProcessId { pid: PID, start_ticks: 5 };
        let residents = [Resident { worker: Arc::from("w"), process: id, jvm: JvmMode::Never }];
        let mut tick = |residents: &[Resident]| {
            assert!(looks.tick(residents.to_vec()).is_ok());
            kills(&mut facts)
        };
        assert_eq!(tick(&residents), [0]);
        assert_eq!(tick(&residents), [0; 0], "not due");
        put(&tree.join("app"), &[("memory.events", "oom_kill 1\n")]);
        fs::remove_dir_all(&process).unwrap();
        let left = if is_found { &residents[..] } else { &[] };
        assert_eq!(tick(left), [1], "found: {is_found}");
        assert_eq!(tick(left), [0; 0], "once");
    }
}
