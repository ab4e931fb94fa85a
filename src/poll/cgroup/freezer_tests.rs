//! Fixture trees, and a real cgroup where this machine lets us make one.

use std::fs;
use std::time::Duration;

use super::super::cage::{Cage, put};
use super::*;
use crate::clock;
use crate::observe::worker::{ProcessSeen, ProcessState};
use crate::poll::process;

fn hybrid() -> (tempfile::TempDir, Freezer) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("unified/cgroup.controllers", ""),
        ("unified/a/cgroup.events", "populated 1\nfrozen 1\n"),
        ("unified/b/cgroup.events", "populated 1\nfrozen 0\n"),
        ("freezer/x/freezer.state", "FROZEN\n"),
        ("freezer/y/freezer.state", "THAWED\n"),
        ("freezer/z/freezer.state", "FREEZING\n"),
    ] {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let freezer = Freezer::find(&Mounts::default(), Some(dir.path()));
    (dir, freezer)
}

#[test]
fn any_tree_freezes_and_every_tree_must_be_readable_to_deny_it() {
    let (_dir, mut f) = hybrid();
    for (cgroup, want) in [
        ("9:freezer:/y\n0::/a\n", Some(true)),
        ("9:freezer:/y\n0::/b\n", Some(false)),
        ("9:freezer:/x\n0::/b\n", Some(true)),
        ("9:freezer:/z\n0::/b\n", Some(false)),
        ("9:cpu,freezer:/x\n0::/\n", Some(true)),
        ("9:freezer:/\n0::/\n", Some(false)),
        ("9:freezer:/y\n0::/../other\n", None),
        ("9:freezer:/y\n0::/b (deleted)\n", None),
        ("9:freezer:/nope\n0::/a\n", Some(true)),
        ("3:memory:/m\n", None),
        ("", None),
    ] {
        assert_eq!(f.frozen(cgroup.as_bytes()), want, "{cgroup:?}");
    }
}

#[test]
fn a_real_frozen_cgroup_is_seen() {
    let mounts = Mounts::of_self().unwrap();
    let Some(cage) = Cage::sleeper(&[""]) else { return };
    let (dir, _) = cage.dir(0);
    let cgroup = fs::read(format!("/proc/{}/cgroup", cage.child.id())).unwrap();
    assert_eq!(Freezer::find(&mounts, None).frozen(&cgroup), Some(false));
    put(dir, "cgroup.freeze", "1");
    let until = clock::mono().plus(Duration::from_secs(5));
    while Freezer::find(&mounts, None).frozen(&cgroup) != Some(true) {
        assert!(clock::mono() < until, "never seen frozen");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The process itself looks healthy: only its cgroup tells.
    let paths = process::Paths { procfs: "/proc".into(), cgroupfs: None };
    let pid = i32::try_from(cage.child.id()).unwrap();
    let seen =
        process::look(&paths, &[process::Target::Pid(pid, crate::clock::mono())]).remove(0).seen;
    let ProcessSeen::Processes(list) = &seen else { panic!("{seen:?}") };
    assert_eq!(list[0].frozen, Some(true));
    assert_eq!(list[0].state, ProcessState::Sleeping);
}
