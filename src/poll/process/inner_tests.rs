//! Pids that were written inside containers: fixture trees, and a process in a pid namespace of its own.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::super::*;
use super::*;
use crate::clock;

const CONTAINER: &str = "3f4e5d6c7b8a99887766554433221100aabbccddeeff00112233445566778899";
const STAT: &str =
    "70 (worker) S 1 70 70 0 -1 4194560 1 0 0 0 7 5 0 0 20 0 3 0 4200 999 2 1 1 1 1 0 0\n";
const INIT: &str = "1 (init) S 0 1 1 0 -1 4194560 1 0 0 0 7 5 0 0 20 0 1 0 1 999 2 1 1 1 1 0 0\n";
const KERNEL: &str = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 1 0 0\n";

/// A host with its init, the kernel's first thread and two containers whose processes are both pid 7 inside.
fn host() -> (tempfile::TempDir, Paths) {
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("1/stat", INIT);
    put("2/stat", KERNEL);
    put("70/stat", STAT);
    put("70/status", "NSpid:\t70\t7\n");
    put("70/cgroup", &format!("0::/system.slice/docker-{CONTAINER}.scope\n"));
    put("70/root/etc/hostname", "3f4e5d6c7b8a\n");
    put("80/stat", &STAT.replace("70 (", "80 (").replace(" 4200 ", " 9000 "));
    put("80/status", "NSpid:\t80\t7\n");
    put("80/root/etc/hostname", "orders-7d9f-abcde\n");
    let paths = Paths { procfs: dir.path().to_owned(), cgroupfs: None };
    (dir, paths)
}

fn pids(paths: &Paths, target: Target) -> Result<Vec<i32>, ProcessUnknown> {
    match look(paths, &[target]).remove(0).seen {
        ProcessSeen::Processes(list) => Ok(list.iter().map(|p| p.pid).collect()),
        ProcessSeen::Unknown(why) => Err(why),
        ProcessSeen::Gone { .. } => Ok(Vec::new()),
    }
}

fn token(pid: i32, host: &str) -> Target {
    Target::Token(TokenPid { pid, host: Some(host.into()) })
}

#[test]
fn a_token_of_a_container_is_found_by_its_host_name() {
    let (_dir, paths) = host();
    for name in ["3f4e5d6c7b8a", &CONTAINER[..20], "orders-7d9f-abcde", "ORDERS-7D9F-ABCDE"] {
        let want = if name.starts_with('3') { 70 } else { 80 };
        assert_eq!(pids(&paths, token(7, name)), Ok(vec![want]), "{name}");
    }
    for (pid, name) in
        [(7, "3f4e"), (7, "elsewhere"), (8, "orders-7d9f-abcde"), (70, "3f4e5d6c7b8a")]
    {
        assert_eq!(
            pids(&paths, token(pid, name)),
            Err(ProcessUnknown::ForeignHost),
            "{pid} {name}"
        );
    }
}

#[test]
fn a_pid_file_of_a_container_is_told_by_when_it_was_written() {
    let (_dir, paths) = host();
    let per_second = procfs::ticks_per_second() as f64;
    let at = |ticks: f64, later: f64| Mono::from_secs_f64(ticks / per_second + later);
    assert_eq!(pids(&paths, Target::Pid(7, at(4200.0, 1.0))), Ok(vec![70]));
    // Both had started by then, so that it may be either.
    assert_eq!(pids(&paths, Target::Pid(7, at(9000.0, 1.0))), Ok(vec![]));
    assert_eq!(pids(&paths, Target::Pid(7, at(9000.0, 590.0))), Ok(vec![80]));
    // Written before any of them, or long after.
    assert_eq!(pids(&paths, Target::Pid(7, at(1.0, 1.0))), Ok(vec![]));
    assert_eq!(pids(&paths, Target::Pid(7, at(9000.0, 10_000.0))), Ok(vec![]));
    assert_eq!(pids(&paths, Target::Pid(1, at(4200.0, 1.0))), Err(ProcessUnknown::Hidden));
}

#[test]
fn what_a_process_in_its_own_namespace_writes_leads_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!("echo $$ > {}.new; mv {0}.new {0}; exec sleep 60", file.display());
    // The inner pid is not 1, which many have, but one that nobody else is likely to have.
    let skip = format!("echo 30000 > /proc/sys/kernel/ns_last_pid; sh -c '{script}'; true");
    let spawned = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &skip])
        .stdin(Stdio::null())
        .spawn();
    let Ok(mut unshare) = spawned else { return println!("not tested: there is no unshare") };
    let until = clock::mono().plus(Duration::from_secs(10));
    let inner: Option<i32> = loop {
        match fs::read_to_string(&file) {
            Ok(text) => break text.trim().parse().ok(),
            Err(_) if unshare.try_wait().unwrap().is_some() => break None,
            Err(_) => assert!(clock::mono() < until, "no pid file"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    if let Some(inner) = inner {
        let paths = Paths { procfs: "/proc".into(), cgroupfs: None };
        let found = pids(&paths, Target::Pid(inner, clock::mono())).unwrap();
        let command = fs::read(format!("/proc/{}/cmdline", found[0])).unwrap();
        assert!(command.windows(5).any(|w| w == b"sleep"), "{command:?}");
        assert_ne!(found[0], inner);
    } else {
        println!("not tested: no pid namespace can be made here");
    }
    let _ = unshare.kill();
    let _ = unshare.wait();
}

#[test]
fn container_ids_are_found_in_paths_of_every_runtime() {
    let id = "3f".repeat(32);
    for path in [
        format!("0::/system.slice/docker-{id}.scope\n"),
        format!("9:memory:/docker/{id}\n0::/\n"),
        format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{id}.scope\n"),
    ] {
        assert_eq!(ids(path.as_bytes()).next(), Some(id.as_bytes()), "{path}");
    }
    assert_eq!(ids(b"0::/system.slice/abc123.service\n").next(), None);
}

#[test]
fn two_of_a_number_are_nobody() {
    let inner = Inner(vec![(100, 7), (200, 7), (300, 8)]);
    assert!(inner.has(7) && inner.has(8) && !inner.has(9));
    assert_eq!(only(inner.with(7)), None);
    assert_eq!(only(inner.with(8)), Some(300));
}
