//! Real processes on this machine's `/proc`, and fixture trees for what it cannot show.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::observe::worker::ProcessState;

fn real() -> Paths {
    Paths { procfs: "/proc".into(), cgroupfs: None }
}

fn one(paths: &Paths, target: Target) -> Seen {
    let mut seen = look(paths, &[target]);
    assert_eq!(seen.len(), 1);
    seen.remove(0)
}

fn file(pid: i32) -> Target {
    Target::Pid(pid, clock::mono())
}

fn token(pid: i32, host: Option<&str>) -> Target {
    Target::Token(TokenPid { pid, host: host.map(Arc::from) })
}

/// Looks until `fits`, for at most ten seconds.
fn wait(target: &Target, fits: impl Fn(&ProcessSeen) -> bool) -> ProcessSeen {
    let until = clock::mono().plus(Duration::from_secs(10));
    loop {
        let seen = one(&real(), target.clone()).seen;
        if fits(&seen) {
            return seen;
        }
        assert!(clock::mono() < until, "last seen: {seen:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn state(seen: &ProcessSeen) -> Option<ProcessState> {
    match seen {
        ProcessSeen::Processes(list) => list.first().map(|p| p.state),
        _ => None,
    }
}

struct Kid(Child);

impl Kid {
    fn new(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    fn sleep() -> Self {
        Self::new(Command::new("sleep").arg("60"))
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    fn signal(&self, name: &str) {
        assert!(
            Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap().success()
        );
    }
}

impl Drop for Kid {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn stopped_resumed_zombie_gone() {
    let before = clock::mono();
    let mut kid = Kid::sleep();
    let target = file(kid.pid());
    let seen = wait(&target, |s| state(s) == Some(ProcessState::Sleeping));
    let ProcessSeen::Processes(list) = &seen else { panic!("{seen:?}") };
    let process = &list[0];
    assert_eq!(process.pid, kid.pid());
    // The kernel cuts to whole ticks.
    assert!(process.started.plus(Duration::from_millis(11)) >= before, "{process:?} {before:?}");
    assert!(process.started <= clock::mono());
    assert!(process.threads == 1 && process.resident_bytes > 0);
    kid.signal("-STOP");
    wait(&target, |s| state(s) == Some(ProcessState::Stopped));
    kid.signal("-CONT");
    wait(&target, |s| state(s) == Some(ProcessState::Sleeping));
    kid.signal("-KILL");
    let zombie = wait(&target, |s| state(s) == Some(ProcessState::Zombie));
    let ProcessSeen::Processes(zombies) = &zombie else { panic!("{zombie:?}") };
    assert_eq!(zombies[0].start_ticks, process.start_ticks);
    assert_eq!(kid.0.wait().unwrap().signal(), Some(9));
    assert_eq!(one(&real(), target).seen, ProcessSeen::Gone { named_here: false });
}

#[test]
fn a_leader_that_exited_is_no_zombie_while_its_threads_work() {
    let code = "import ctypes, threading, time\n\
        threading.Thread(target=lambda: time.sleep(60)).start()\n\
        ctypes.CDLL(None).pthread_exit(None)";
    let kid = Kid::new(Command::new("python3").args(["-c", code, "dlock-leaderless-marker"]));
    let raw = || {
        let text = fs::read(format!("/proc/{}/stat", kid.pid())).unwrap();
        stat::parse(&text).unwrap().state
    };
    let until = clock::mono().plus(Duration::from_secs(10));
    while raw() != ProcessState::Zombie {
        assert!(clock::mono() < until, "the leader never exited");
        std::thread::sleep(Duration::from_millis(10));
    }
    let seen = one(&real(), file(kid.pid())).seen;
    let ProcessSeen::Processes(list) = &seen else { panic!("{seen:?}") };
    assert_eq!(list[0].state, ProcessState::Sleeping);
    assert!(list[0].resident_bytes > 0);
    // Its command line is that of its threads.
    let pattern = regex::bytes::Regex::new("dlock-leaderless-marker$").unwrap();
    let by_command = one(&real(), Target::Command(pattern)).seen;
    let ProcessSeen::Processes(list) = &by_command else { panic!("{by_command:?}") };
    assert_eq!(list.iter().map(|p| p.pid).collect::<Vec<_>>(), [kid.pid()]);
    kid.signal("-STOP");
    wait(&file(kid.pid()), |s| state(s) == Some(ProcessState::Stopped));
}

#[test]
fn commands_match_all_their_processes_and_never_us() {
    let marker = format!("61.{}", std::process::id());
    let pattern = |text: &str| Target::Command(regex::bytes::Regex::new(text).unwrap());
    let kids = [
        Kid::new(Command::new("sleep").arg(&marker)),
        Kid::new(Command::new("sleep").arg(&marker)),
    ];
    let mine = pattern(&format!("^sleep {}$", regex::escape(&marker)));
    let seen = wait(&mine, |s| matches!(s, ProcessSeen::Processes(list) if list.len() == 2));
    let ProcessSeen::Processes(list) = &seen else { panic!("{seen:?}") };
    assert!(kids.iter().all(|k| list.iter().any(|p| p.pid == k.pid())));
    let own = std::env::args().next().unwrap();
    let us = pattern(&format!("^{}", regex::escape(&own)));
    let seen = look(&real(), &[us, pattern("no such command [0-9]{9}"), mine]);
    let ours = i32::try_from(std::process::id()).unwrap();
    if let ProcessSeen::Processes(list) = &seen[0].seen {
        assert!(list.iter().all(|p| p.pid != ours), "{list:?}");
    }
    assert_eq!(seen[1].seen, ProcessSeen::Gone { named_here: false });
    assert!(matches!(&seen[2].seen, ProcessSeen::Processes(list) if list.len() == 2));
}

/// A tree with pid 1, the kernel's pid 2, and the given files.
fn fixture(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Paths) {
    let dir = tempfile::tempdir().unwrap();
    let kernel: &[u8] = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 1\n";
    for (path, text) in [
        ("1/stat", &b"1 (init) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 1 9 9 1\n"[..]),
        ("2/stat", kernel),
    ]
    .iter()
    .chain(files)
    {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let paths =
        Paths { procfs: dir.path().to_owned(), cgroupfs: Some(dir.path().join("no-cgroups")) };
    (dir, paths)
}

const STAT: &[u8] =
    b"70 (a\xe8) R (x) y) S 1 70 70 0 -1 4194560 0 0 0 0 7 5 0 0 20 0 3 0 4200 999 2 1\n";

#[test]
fn odd_bytes_units_and_cgroups() {
    let (_dir, paths) = fixture(&[
        ("70/stat", STAT),
        ("70/cmdline", b"worker\xff\0--name\0orders-1\0\0"),
        ("70/cgroup", b"4:memory:/x\n0::/system.slice/orders.service\n"),
        ("71/stat", STAT),
        ("71/cmdline", b""),
        ("71/cgroup", b"0::/system.slice/orders.service/sub\n"),
        ("72/stat", b"nonsense"),
        ("72/cmdline", b"bad"),
        ("72/cgroup", b"0::/system.slice/bad.service\n"),
    ]);
    let command = |text: &str| Target::Command(regex::bytes::Regex::new(text).unwrap());
    let seen = look(
        &paths,
        &[
            command("--name orders-1$"),
            Target::Unit("orders.service".to_owned()),
            Target::Cgroup("/system.slice/orders.service".to_owned()),
            Target::Cgroup("/system.slice/orders".to_owned()),
            Target::Unit("bad".to_owned()),
            file(70),
        ],
    );
    let pids = |i: usize| match &seen[i].seen {
        ProcessSeen::Processes(list) => {
            let mut pids: Vec<_> = list.iter().map(|p| p.pid).collect();
            pids.sort_unstable();
            pids
        }
        _ => vec![],
    };
    assert_eq!(pids(0), [70]);
    assert_eq!(pids(1), [70, 71]);
    assert_eq!(pids(2), [70, 71]);
    assert_eq!(seen[3].seen, ProcessSeen::Gone { named_here: false });
    assert!(matches!(seen[4].seen, ProcessSeen::Unknown(_)), "{:?}", seen[4]);
    let ProcessSeen::Processes(list) = &seen[5].seen else { panic!("{:?}", seen[5]) };
    assert_eq!(list[0].start_ticks, 4200);
    assert_eq!(list[0].started, Mono::from_secs_f64(4200.0 / procfs::ticks_per_second() as f64));
    assert_eq!(list[0].cpu.as_secs_f64(), 12.0 / procfs::ticks_per_second() as f64);
    assert_eq!((list[0].threads, list[0].frozen), (3, None));
    assert_eq!(list[0].resident_bytes, 2 * procfs::page_size());
}

#[test]
fn a_reused_pid_has_another_start() {
    let (dir, paths) = fixture(&[("70/stat", STAT)]);
    let start = || match one(&paths, file(70)).seen {
        ProcessSeen::Processes(list) => list[0].start_ticks,
        other => panic!("{other:?}"),
    };
    assert_eq!(start(), 4200);
    fs::write(
        dir.path().join("70/stat"),
        String::from_utf8_lossy(STAT).replace(" 4200 ", " 4201 "),
    )
    .unwrap();
    assert_eq!(start(), 4201);
}

#[test]
fn tokens_prove_death_only_in_our_own_numbering() {
    let own = host::own();
    let (dir, paths) = fixture(&[("70/stat", STAT), ("70/status", b"NSpid:\t70\t7\n")]);
    let seen = |t: Target| one(&paths, t).seen;
    let hidden = ProcessSeen::Unknown(ProcessUnknown::Hidden);
    assert!(matches!(seen(token(70, Some(&own))), ProcessSeen::Processes(_)));
    assert_eq!(seen(token(99, Some(&own))), ProcessSeen::Gone { named_here: true });
    assert_eq!(seen(token(99, None)), ProcessSeen::Gone { named_here: false });
    assert_eq!(seen(token(99, Some("localhost"))), ProcessSeen::Gone { named_here: false });
    assert_eq!(
        seen(token(99, Some("elsewhere"))),
        ProcessSeen::Unknown(ProcessUnknown::ForeignHost)
    );
    // A host of the same first label in another network.
    let label = own.split('.').next().unwrap();
    for pid in [99, 70] {
        let other = token(pid, Some(&format!("{label}.dc2.other.example")));
        assert_eq!(seen(other), ProcessSeen::Unknown(ProcessUnknown::ForeignHost));
    }
    assert_eq!(seen(token(99, Some(label))), ProcessSeen::Gone { named_here: true });
    assert_eq!(seen(token(0, Some(&own))), ProcessSeen::Unknown(ProcessUnknown::NoPid));
    // A container's process has this number inside; a kernel thread holds no lock.
    assert_eq!(seen(token(7, Some(&own))), hidden);
    assert_eq!(seen(token(2, Some(&own))), hidden);
    fs::remove_dir_all(dir.path().join("1")).unwrap();
    assert_eq!(seen(token(99, Some(&own))), hidden);
    assert_eq!(seen(file(99)), hidden);
    assert!(matches!(seen(file(70)), ProcessSeen::Processes(_)));
}

#[test]
fn a_missing_procfs_is_a_failure_of_every_target() {
    let paths = Paths { procfs: "/nonexistent/proc".into(), cgroupfs: None };
    for seen in look(&paths, &[file(1), Target::Unit("x".to_owned())]) {
        assert_eq!(seen.seen, ProcessSeen::Unknown(ProcessUnknown::Failed));
        assert!(seen.detail.contains("/nonexistent/proc") && seen.detail.contains("--path.procfs"));
    }
}

const HIDDEN_ROOT: &str = "DLOCK_TEST_HIDDEN_PROCFS";
const HIDDEN_PID: &str = "DLOCK_TEST_HIDDEN_PID";

/// Runs as another user inside the mount namespace that the test below makes; does nothing on its own.
#[test]
fn inside_hidepid() {
    let (Ok(root), Ok(pid)) = (std::env::var(HIDDEN_ROOT), std::env::var(HIDDEN_PID)) else {
        return;
    };
    let pid: i32 = pid.parse().unwrap();
    let paths = Paths { procfs: root.into(), cgroupfs: None };
    let pattern = regex::bytes::Regex::new("^sleep 60$").unwrap();
    for target in [file(pid), token(pid, Some(&host::own())), Target::Command(pattern)] {
        let seen = one(&paths, target);
        assert_eq!(seen.seen, ProcessSeen::Unknown(ProcessUnknown::Hidden), "{seen:?}");
        assert!(!seen.detail.is_empty());
    }
    println!("hidden as it should be");
}

#[test]
fn hidepid_hides_and_never_kills() {
    let mounted = Command::new("unshare").args(["-m", "true"]).output();
    if !mounted.is_ok_and(|o| o.status.success()) {
        println!("skipped: may not make a mount namespace");
        return;
    }
    let kid = Kid::sleep();
    for option in ["hidepid=2", "hidepid=1"] {
        let dir = tempfile::tempdir().unwrap();
        let exe = std::env::current_exe().unwrap();
        let script = format!(
            "mount -t proc -o {option} proc \"$1\" && exec setpriv --reuid 65534 --regid 65534 --clear-groups \
             --inh-caps=-all \"$2\" --exact poll::process::tests::inside_hidepid --nocapture"
        );
        let run = Command::new("unshare")
            .args(["-m", "sh", "-c", &script, "sh"])
            .args([dir.path(), exe.as_path()])
            .env(HIDDEN_ROOT, dir.path())
            .env(HIDDEN_PID, kid.pid().to_string())
            .output()
            .unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        if !out.contains("running 1 test") && (err.contains("mount") || err.contains("denied")) {
            println!("skipped {option}: {err}");
            continue;
        }
        assert!(
            run.status.success() && out.contains("hidden as it should be"),
            "{option}: {out}{err}"
        );
    }
}
