//! Processes that cannot be seen for what they are: a pid that another process has now, tokens of containers and of other
//! hosts, a procfs that hides. What is hidden must never be called dead.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::processes::{
    ALIVE, POLL, SOON, WORST, all, config, hold, host, rises, said, sleeper, unique,
};
use crate::support::{
    Exporter, ExporterSetup, Metrics, RedisServer, SLACK, for_a_while, not_tested, raised,
};

/// A procfs of our own with init, a kernel thread, and one process that started so many ticks after boot.
fn fake_procfs(root: &Path, pid: i32, start_ticks: u64) {
    let stat = |pid: i32, name: &str, flags: u64, start: u64| {
        format!(
            "{pid} ({name}) S 1 {pid} {pid} 0 -1 {flags} 0 0 0 0 1 1 0 0 20 0 1 0 {start} 1000000 100 \
             18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        )
    };
    let all = [(1, "init", 0, 1), (2, "kthreadd", 0x0020_0000, 1), (pid, "worker", 0, start_ticks)];
    for (pid, name, flags, start) in all {
        let dir = root.join(pid.to_string());
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("new"), stat(pid, name, flags, start)).unwrap();
        std::fs::rename(dir.join("new"), dir.join("stat")).unwrap();
        std::fs::write(dir.join("cgroup"), "0::/\n").unwrap();
    }
}

fn ticks_since_boot() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    (seconds * rustix::param::clock_ticks_per_second() as f64) as u64
}

#[test]
fn a_pid_that_another_process_has_now_is_not_the_holder() {
    let server = RedisServer::start();
    let dir = TempDir::new().unwrap();
    let pid = 4711;
    fake_procfs(dir.path(), pid, 50);
    hold(&server, "reused", &host(), &pid.to_string());
    let kinds = [("reused", "pid_from_holder: true".to_owned())];
    let procfs = dir.path().display().to_string();
    let mut exporter = ExporterSetup::file(&config(&server, &kinds, ", token: per_acquire"))
        .password()
        .arguments(&["--path.procfs", &procfs])
        .start();
    all(&mut exporter, &["reused"], ALIVE, SOON);
    for_a_while(Duration::from_millis(1300));
    fake_procfs(dir.path(), pid, ticks_since_boot());
    all(&mut exporter, &["reused"], "replaced Some(1.0)", WORST + SLACK * 4);
    let restarts = exporter.metrics().value("dlock_worker_restarts_total", &[]);
    assert_eq!(restarts, Some(1.0));
    // At once, as a process goes; a directory without its files would be one that cannot be read.
    std::fs::rename(dir.path().join(pid.to_string()), dir.path().join("gone")).unwrap();
    all(&mut exporter, &["reused"], "dead Some(1.0)", SOON);
    assert_eq!(rises(&exporter.metrics(), "reused", "holder_stale"), Some(1.0), "lost only once");
}

#[test]
fn a_token_from_a_container_or_another_host_names_nobody_here() {
    let server = RedisServer::start();
    let (own, _a) = sleeper(&unique());
    hold(&server, "foreign", "some-other-host.example", &own.pid().to_string());
    // Where containers have the host's name, their first process has a pid that is init's here.
    hold(&server, "inner", &host(), "1");
    hold(&server, "opaque", &host(), "");
    let kinds = ["foreign", "inner", "opaque"].map(|k| (k, "pid_from_holder: true".to_owned()));
    let mut exporter = Exporter::start(&config(&server, &kinds, ""));
    let expected = [("foreign", "foreign_host"), ("inner", "hidden"), ("opaque", "opaque_token")];
    exporter.wait_for("dlock_coverage_lost of each: dlock_holder_liveness", SOON, move |m| {
        expected.iter().all(|(lock, reason)| {
            let lost = [("lock", *lock), ("aspect", "process"), ("reason", *reason)];
            m.is("dlock_coverage_lost", &lost, 1.0) && said(m, lock) == "unknown None"
        })
    });
    exporter.never("a verdict", POLL * 4, move |m| {
        expected.iter().any(|(lock, _)| said(m, lock) != "unknown None")
    });
    assert_eq!(raised(&exporter.metrics()), None);
}

/// An exporter that is nobody, with a procfs of its own mounted with these options; `None` where that cannot be.
fn as_nobody(yaml: &str, options: &str, procfs: &Path) -> Option<Exporter> {
    let may = Command::new("unshare").args(["-m", "setpriv", "--reuid", "65534", "true"]).output();
    if !may.is_ok_and(|done| done.status.success()) {
        not_tested("this machine does not let us unshare mounts and become nobody");
        return None;
    }
    let script = format!(
        "mount -t proc -o {options} proc '{}' && exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$0\" \"$@\"",
        procfs.display()
    );
    let setup = ExporterSetup::file(yaml).password();
    let setup = setup.arguments(&["--path.procfs", &procfs.display().to_string()]);
    Some(setup.wrapped(&["unshare", "-m", "sh", "-c", &script]).start())
}

#[test]
fn what_hidepid_hides_is_never_dead() {
    let server = RedisServer::start();
    let dir = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap();
    let procfs = dir.path().join("proc");
    std::fs::create_dir(&procfs).unwrap();
    let mark = unique();
    let (mut worker, _a) = sleeper(&mark);
    let pid_file = dir.path().join("pid");
    std::fs::write(&pid_file, worker.pid().to_string()).unwrap();
    let kinds = [
        ("file", format!("pid_file: '{}'", pid_file.display())),
        ("command", format!("command: '^sleep 600 {mark}$'")),
        ("token", "pid_from_holder: true".to_owned()),
    ];
    let names = ["file", "command", "token"];
    for kind in names {
        hold(&server, kind, "", "");
    }
    hold(&server, "token", &host(), &worker.pid().to_string());
    let yaml = config(&server, &kinds, "");
    let Some(mut blind) = as_nobody(&yaml, "hidepid=2", &procfs) else { return };
    // The group that the mount names sees all: what follows is not for lack of looking.
    let Some(mut seeing) = as_nobody(&yaml, "hidepid=2,gid=65534", &procfs) else { return };
    all(&mut seeing, &names, ALIVE, SOON);
    let hidden = move |m: &Metrics| {
        names.iter().all(|kind| {
            let lost = [("lock", *kind), ("aspect", "process"), ("reason", "hidden")];
            m.is("dlock_coverage_lost", &lost, 1.0) && said(m, kind) == "unknown None"
        })
    };
    blind.wait_for("dlock_coverage_lost hidden: dlock_holder", SOON, hidden);
    worker.kill();
    all(&mut seeing, &names, "dead Some(1.0)", SOON);
    blind.never("a verdict on what is hidden", POLL * 6, move |m| !hidden(m));
    assert_eq!(raised(&blind.metrics()), None);
}
