//! Real cgroups, where this machine lets us make some: what the kernel really writes, and which number moves.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::cage::{Cage, put, resident};
use super::*;
use crate::config::JvmMode;
use crate::observe::cgroup::Cgroup;

const SOON: Duration = Duration::from_secs(20);

fn cgroups() -> Cgroups {
    Cgroups::new(Paths { procfs: "/proc".into(), cgroupfs: None })
}

fn seen(read: &CgroupRead) -> Cgroup {
    read.seen.clone().unwrap_or_else(|why| panic!("{why:?}: {}", read.detail))
}

/// Reads until it is so.
fn until(what: &str, cage: &Cage, is: impl Fn(&Cgroup) -> bool) -> Cgroup {
    let mut cgroups = cgroups();
    let deadline = clock::mono().plus(SOON);
    loop {
        let read = cage.read(&mut cgroups);
        let cgroup = seen(&read);
        if is(&cgroup) {
            return cgroup;
        }
        assert!(clock::mono() < deadline, "never {what}: {cgroup:?} {}", read.detail);
        std::thread::sleep(Duration::from_millis(20));
    }
}

const BUSY: &str = "while True: pass";

#[test]
fn a_quota_above_throttles_and_memory_has_no_part_in_it() {
    let busy = &mut Command::new("python3");
    let Some(cage) = Cage::with(&["", "cpu"], busy.args(["-c", BUSY])) else { return };
    let (_, above) = cage.dir(1);
    put(above, "cpu.cfs_period_us", "50000");
    put(above, "cpu.cfs_quota_us", "5000");
    (0..2).for_each(|n| cage.enter(n));
    let before = seen(&cage.read(&mut cgroups()));
    assert_eq!(before.throttling.unwrap().period, Some(Duration::from_millis(50)));
    let after = until("throttled", &cage, |c| {
        let t = c.throttling.unwrap();
        t.periods >= 10 && t.throttled > Duration::from_millis(200)
    });
    let waited = after.cpu.unwrap().some.total - before.cpu.unwrap().some.total;
    assert!(waited > Duration::from_millis(200), "pressure of its CPU shows it too: {waited:?}");
    let rise = |c: &Cgroup| c.memory.unwrap().some.total;
    assert!(rise(&after) - rise(&before) < Duration::from_millis(20));
    // A quota that is taken away leaves what was counted.
    put(above, "cpu.cfs_quota_us", "-1");
    let end = seen(&cage.read(&mut cgroups())).throttling.unwrap();
    assert!(end.period.is_none() && end.periods >= after.throttling.unwrap().periods);
}

#[test]
fn want_of_memory_presses_on_memory_and_not_on_the_quota() {
    // On a disk: what lies in a tmpfs cannot be forgotten.
    let built = std::env::current_exe().unwrap();
    let dir = tempfile::tempdir_in(built.parent().unwrap()).unwrap();
    let file = dir.path().join("pages");
    fs::write(&file, vec![7; 96 << 20]).unwrap();
    fs::File::open(&file).unwrap().sync_all().unwrap();
    // Once it is in its cgroups, what others have read of the file is forgotten, so that its pages are charged there.
    let code = "import os, sys, time\n\
        while open('/proc/self/cgroup').read().count('/dlock_') < 3: time.sleep(0.01)\n\
        f = open(sys.argv[1], 'rb', 0)\n\
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)\n\
        while True:\n\
        \x20 f.seek(0)\n\
        \x20 while f.read(1 << 20): pass";
    let words = ["-c".as_ref(), code.as_ref(), file.as_os_str()];
    let Some(cage) = Cage::with(&["", "memory", "cpu"], Command::new("python3").args(words)) else {
        return;
    };
    let (own, above) = cage.dir(1);
    put(above, "memory.limit_in_bytes", &(32u64 << 20).to_string());
    assert!(own.join("memory.limit_in_bytes").exists());
    (0..3).for_each(|n| cage.enter(n));
    let before = seen(&cage.read(&mut cgroups()));
    assert_eq!(before.memory_limit, Ok(Some(32 << 20)), "the limit above holds");
    let rose = |c: &Cgroup| c.memory.unwrap().some.total - before.memory.unwrap().some.total;
    let after = until("pressed", &cage, |c| rose(c) > Duration::from_millis(50));
    assert!(after.memory_bytes.unwrap() <= 33 << 20, "{:?}", after.memory_bytes);
    assert_eq!(after.throttling.unwrap().periods, 0);
    assert_eq!((after.oom_kills, after.frozen), (Ok(0), Ok(false)));
}

#[test]
fn a_kill_for_want_of_memory_counts_once_where_the_victim_was() {
    let Some(cage) = Cage::sleeper(&["memory"]) else { return };
    let Some(other) = Cage::sleeper(&["memory"]) else { return };
    let (own, _) = cage.dir(0);
    put(own, "memory.limit_in_bytes", &(24u64 << 20).to_string());
    let _ = fs::write(own.join("memory.memsw.limit_in_bytes"), (24u64 << 20).to_string());
    assert_eq!(seen(&cage.read(&mut cgroups())).oom_kills, Ok(0));
    // It waits for a line, so that it is in the cgroup before it takes memory.
    let mut glutton = Command::new("python3")
        .args(["-c", "input(); x = b'x' * (200 << 20)"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    put(own, "cgroup.procs", &glutton.id().to_string());
    drop(std::io::Write::write_all(glutton.stdin.as_mut().unwrap(), b"\n"));
    assert!(!glutton.wait().unwrap().success());
    let after = until("killed", &cage, |c| c.oom_kills.unwrap() > 0);
    assert_eq!(after.oom_kills, Ok(1));
    assert_eq!(seen(&other.read(&mut cgroups())).oom_kills, Ok(0));
}

#[test]
fn freezes_of_both_versions_are_seen_and_timed() {
    for (hierarchy, file, freeze, thaw) in
        [("", "cgroup.freeze", "1", "0"), ("freezer", "freezer.state", "FROZEN", "THAWED")]
    {
        let Some(cage) = Cage::sleeper(&[hierarchy]) else { continue };
        let (own, above) = cage.dir(0);
        let free = seen(&cage.read(&mut cgroups()));
        assert_eq!(free.frozen, Ok(false));
        put(above, file, freeze);
        let frozen = until("frozen", &cage, |c| c.frozen == Ok(true));
        if own.join("cgroup.stat.local").exists() {
            until("timed", &cage, |c| c.frozen_total > frozen.frozen_total);
        } else {
            assert_eq!(frozen.frozen_total, None);
        }
        put(above, file, thaw);
        until("thawed", &cage, |c| c.frozen == Ok(false));
    }
}

#[test]
fn pressure_that_is_switched_off_is_absent_and_says_so() {
    let Some(cage) = Cage::sleeper(&[""]) else { return };
    let (own, _) = cage.dir(0);
    if !own.join("cgroup.pressure").exists() {
        println!("skipped: pressure cannot be switched here");
        return;
    }
    let mut cgroups = cgroups();
    assert!(seen(&cage.read(&mut cgroups)).memory.is_ok());
    put(own, "cgroup.pressure", "0");
    let read = cage.read(&mut cgroups);
    let c = seen(&read);
    assert_eq!([c.memory, c.cpu, c.io], [Err(HostUnknown::Unsupported); 3]);
    assert!(read.detail.contains("write 1 to its cgroup.pressure"), "{}", read.detail);
    put(own, "cgroup.pressure", "1");
    assert!(seen(&cage.read(&mut cgroups)).memory.is_ok());
}

#[test]
fn a_removed_cgroup_is_gone() {
    let Some(mut cage) = Cage::sleeper(&[""]) else { return };
    let resident = cage.resident();
    cage.child.kill().unwrap();
    // Not waited for: it stays in /proc as a zombie, and its cgroup can be removed.
    let (own, _) = cage.dir(0);
    let deadline = clock::mono().plus(SOON);
    while fs::remove_dir(own).is_err() {
        assert!(clock::mono() < deadline, "the cgroup of a zombie could not be removed");
        std::thread::sleep(Duration::from_millis(5));
    }
    let read = cgroups().read(&[resident]).remove(0);
    match &read.seen {
        // Other hierarchies still have it.
        Ok(cgroup) => assert_eq!(cgroup.memory, Err(HostUnknown::Gone), "{}", read.detail),
        Err(why) => assert_eq!(*why, HostUnknown::Gone),
    }
    assert!(read.detail.contains("was removed"), "{}", read.detail);
    cage.child.wait().unwrap();
    let read = cgroups().read(&[resident_of(&read)]).remove(0);
    assert_eq!(read.seen, Err(HostUnknown::Gone));
}

fn resident_of(read: &CgroupRead) -> Resident {
    Resident { worker: read.worker.clone(), process: read.process, jvm: JvmMode::Auto }
}

/// What the reader inside a namespace is to look at: its own pid and another's.
const INSIDE: &str = "DLOCK_TEST_OTHER_PID";

#[test]
fn a_namespace_of_the_reader_hides_others_and_what_is_above() {
    if let Ok(pid) = std::env::var(INSIDE) {
        return inside_a_namespace(pid.parse().unwrap());
    }
    let Some(cage) = Cage::sleeper(&[""]) else { return };
    let exe = std::env::current_exe().unwrap();
    let this = "poll::cgroup::real_tests::a_namespace_of_the_reader_hides_others_and_what_is_above";
    let mount = tempfile::tempdir().unwrap();
    let script = "echo $$ > \"$1/cgroup.procs\" && exec unshare -C -m sh -c \
                  'mount -t cgroup2 none \"$1\" && shift && exec \"$@\"' sh \"$2\" \"$3\" --exact \"$4\"";
    // The reader is one level above the other.
    let args = [cage.dir(0).1, mount.path(), exe.as_path(), Path::new(this)];
    let out = Command::new("sh")
        .args(["-c", script, "sh"])
        .args(args)
        .env(INSIDE, std::process::id().to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.contains("1 passed"), "{said}{out:?}");
}

fn inside_a_namespace(other: u32) {
    let mut cgroups = cgroups();
    let reads = cgroups.read(&[resident(std::process::id()), resident(other)]);
    // Its own cgroup is the root of what it sees, but no root: it has pressure, and perhaps limits above.
    let own = seen(&reads[0]);
    assert!(own.memory.is_ok() && own.frozen == Ok(false), "{own:?} {}", reads[0].detail);
    match &reads[1].seen {
        Err(why) => assert_eq!(*why, HostUnknown::Hidden),
        Ok(other) => assert_eq!(other.memory, Err(HostUnknown::Hidden), "{other:?}"),
    }
    assert!(reads[1].detail.contains("--cgroupns=host"), "{}", reads[1].detail);
}
