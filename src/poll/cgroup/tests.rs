//! Whole readings of fixture trees, plain directories under a prefix, with processes of a made-up procfs.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::config::JvmMode;
use crate::observe::ProcessId;
use crate::observe::cgroup::{Cgroup, Throttling};

mod last;

const PID: i32 = 4711;
const START: u64 = 50;
const PSI: &str = "some avg10=50.00 avg60=0.00 avg300=0.00 total=2000000\n\
                   full avg10=25.00 avg60=0.00 avg300=0.00 total=1000000\n";
const FILES_V2: [(&str, &str); 8] = [
    ("memory.pressure", PSI),
    ("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n"),
    ("io.pressure", PSI),
    ("memory.events", "low 0\noom 3\noom_kill 2\n"),
    ("memory.current", "4096\n"),
    ("memory.max", "max\n"),
    ("cgroup.events", "populated 1\nfrozen 0\n"),
    ("cgroup.stat.local", "frozen_usec 1500000\n"),
];

fn write(dir: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(dir).unwrap();
    files.iter().for_each(|(name, text)| fs::write(dir.join(name), text).unwrap());
}

fn stat(pid: i32, start: u64) -> String {
    format!("{pid} (worker) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 {start} 1000000 100 1 1\n")
}

fn resident(pid: i32) -> Resident {
    let process = ProcessId { pid, start_ticks: START };
    Resident { worker: Arc::from("orders-1"), process, jvm: JvmMode::Auto }
}

/// A host in directories.
struct Host(tempfile::TempDir);

impl Host {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, path: &str, files: &[(&str, &str)]) {
        write(&self.0.path().join("cg").join(path), files);
    }

    fn process(&self, pid: i32, start: u64, cgroup: &str) {
        let dir = self.0.path().join("proc").join(pid.to_string());
        write(&dir, &[("stat", &stat(pid, start)), ("cgroup", cgroup)]);
    }

    fn cgroups(&self) -> Cgroups {
        let at = |name| self.0.path().join(name);
        Cgroups::new(Paths { procfs: at("proc"), cgroupfs: Some(at("cg")) })
    }

    /// The one process, in this cgroup.
    fn read(&self, cgroup: &str) -> CgroupRead {
        self.process(PID, START, cgroup);
        let mut cgroups = self.cgroups();
        let read = cgroups.read(&[resident(PID)]).remove(0);
        let again = cgroups.read(&[resident(PID)]).remove(0);
        assert_eq!((&again.seen, &again.detail), (&read.seen, &read.detail), "it is not stable");
        assert!(again.span.sent >= read.span.done && read.span.done >= read.span.sent);
        read
    }
}

fn seen(read: &CgroupRead) -> &Cgroup {
    read.seen.as_ref().unwrap_or_else(|why| panic!("{why:?}: {}", read.detail))
}

#[test]
fn everything_of_v2_with_limits_above() {
    let host = Host::new();
    host.put("", &[("cgroup.controllers", "cpu memory\n"), ("memory.pressure", PSI)]);
    let quota = "usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 700000\n";
    let none = "usage_usec 1\nnr_periods 0\nnr_throttled 1\nthrottled_usec 100000\n";
    host.put(
        "pod",
        &[("cpu.stat", quota), ("cpu.max", "20000 400000\n"), ("memory.max", "8192\n")],
    );
    host.put("pod/app", &FILES_V2);
    host.put("pod/app", &[("cpu.stat", none), ("cpu.max", "max 100000\n")]);
    let read = host.read("0::/pod/app\n");
    assert_eq!(read.detail, "");
    let c = seen(&read);
    assert_eq!(&*c.path, "/pod/app");
    let memory = c.memory.unwrap();
    assert_eq!((memory.some.share, memory.some.total), (0.5, Duration::from_secs(2)));
    assert_eq!(memory.full.unwrap().total, Duration::from_secs(1));
    assert_eq!(c.cpu.unwrap().full, None);
    assert_eq!(c.io, c.memory);
    assert_eq!((c.oom_kills, c.memory_bytes), (Ok(2), Ok(4096)));
    assert_eq!(c.memory_limit, Ok(Some(8192)), "the limit above holds");
    let period = Some(Duration::from_millis(400));
    let throttled = Duration::from_millis(800);
    assert_eq!(c.throttling, Ok(Throttling { periods: 5, throttled, period }));
    assert_eq!((c.frozen, c.frozen_total), (Ok(false), Some(Duration::from_millis(1500))));
}

#[test]
fn everything_of_v1_and_no_pressure() {
    let host = Host::new();
    let whole = [("release_agent", "")];
    ["memory", "cpu,cpuacct", "freezer"].iter().for_each(|c| host.put(c, &whole));
    host.put(
        "memory/m",
        &[
            ("memory.usage_in_bytes", "4096\n"),
            ("memory.stat", "cache 1\nhierarchical_memory_limit 8192\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
        ],
    );
    let stat = "nr_periods 20\nnr_throttled 20\nthrottled_time 1579308335\nnr_bursts 0\n";
    host.put(
        "cpu,cpuacct/c",
        &[("cpu.stat", stat), ("cpu.cfs_quota_us", "20000\n"), ("cpu.cfs_period_us", "100000\n")],
    );
    host.put("freezer/f", &[("freezer.state", "FROZEN\n")]);
    let read = host.read("9:memory:/m\n8:cpu,cpuacct:/c\n7:freezer:/f\n0::/\n");
    let c = seen(&read);
    assert_eq!(&*c.path, "memory:/m cpu:/c freezer:/f");
    assert_eq!([c.memory, c.cpu, c.io], [Err(HostUnknown::Unsupported); 3]);
    assert!(read.detail.starts_with("memory pressure, cpu pressure, io pressure: only cgroup v2"));
    assert_eq!((c.oom_kills, c.memory_bytes, c.memory_limit), (Ok(1), Ok(4096), Ok(Some(8192))));
    let throttled = Duration::from_micros(1_579_308);
    let period = Some(Duration::from_millis(100));
    assert_eq!(c.throttling, Ok(Throttling { periods: 20, throttled, period }));
    assert_eq!((c.frozen, c.frozen_total), (Ok(true), None));

    // The kernel's way to write no limit, and no quota any more.
    let none = "hierarchical_memory_limit 9223372036854771712\n";
    host.put("memory/m", &[("memory.stat", none)]);
    host.put("cpu,cpuacct/c", &[("cpu.cfs_quota_us", "-1\n")]);
    let read = host.read("9:memory:/m\n8:cpu,cpuacct:/c\n7:freezer:/f\n0::/\n");
    assert_eq!(seen(&read).memory_limit, Ok(None));
    assert_eq!(seen(&read).throttling, Ok(Throttling { periods: 20, throttled, period: None }));
}

#[test]
fn a_hybrid_has_pressure_from_v2_and_the_rest_from_v1() {
    let host = Host::new();
    host.put("unified", &[("cgroup.controllers", "")]);
    host.put("unified/a", &FILES_V2[..3]);
    host.put("unified/a", &[("cgroup.events", "populated 1\nfrozen 1\n")]);
    host.put("memory", &[("release_agent", ""), ("memory.usage_in_bytes", "1\n")]);
    host.put("freezer", &[("release_agent", "")]);
    let read = host.read("4:memory:/\n3:freezer:/\n2:cpu:/c\n0::/a\n");
    let c = seen(&read);
    assert_eq!(&*c.path, "v2:/a cpu:/c");
    assert!(c.memory.is_ok() && c.cpu.is_ok() && c.io.is_ok());
    assert_eq!(c.frozen, Ok(true));
    // The root's use is the whole host's; nothing limits it.
    assert_eq!((c.memory_bytes, c.memory_limit), (Err(HostUnknown::Unsupported), Ok(None)));
    assert_eq!(c.throttling, Err(HostUnknown::Hidden));
    assert!(read.detail.contains("throttling: cgroup /c is not in any tree"), "{}", read.detail);
    assert!(read.detail.contains("oom kills, memory use: the process is in the root cgroup"));
}

#[test]
fn the_root_has_the_hosts_numbers_and_says_so() {
    let host = Host::new();
    host.put(
        "",
        &[("cgroup.controllers", ""), ("memory.pressure", PSI), ("cpu.stat", "usage_usec 1\n")],
    );
    let read = host.read("0::/\n");
    let c = seen(&read);
    assert_eq!(&*c.path, "/");
    assert_eq!([c.memory, c.cpu, c.io], [Err(HostUnknown::Unsupported); 3]);
    assert_eq!(
        (c.oom_kills, c.memory_bytes),
        (Err(HostUnknown::Unsupported), Err(HostUnknown::Unsupported))
    );
    // What is true of any root is known.
    assert_eq!((c.frozen, c.memory_limit), (Ok(false), Ok(None)));
    assert_eq!(c.throttling.unwrap().periods, 0);
    assert!(read.detail.contains("whole host's"), "{}", read.detail);
}

#[test]
fn a_namespace_hides_what_is_beside_and_above() {
    let host = Host::new();
    host.put("", &FILES_V2);
    host.put("", &[("cgroup.controllers", ""), ("cpu.stat", "nr_throttled 0\nthrottled_usec 0\n")]);
    let read = host.read("0::/\n");
    let c = seen(&read);
    assert!(c.memory.is_ok() && c.oom_kills == Ok(2), "the root of a namespace is a cgroup");
    // There may be a quota and a limit above.
    assert_eq!(
        (c.throttling, c.memory_limit),
        (Err(HostUnknown::Hidden), Err(HostUnknown::Hidden))
    );
    assert!(read.detail.contains("throttling, memory limit: "), "{}", read.detail);
    host.put("", &[("cpu.max", "1000 100000\n"), ("memory.max", "4096\n")]);
    let read = host.read("0::/\n");
    assert!(seen(&read).throttling.is_ok() && seen(&read).memory_limit == Ok(Some(4096)));

    let read = host.read("0::/../other\n");
    assert_eq!(read.seen, Err(HostUnknown::Hidden));
    assert!(read.detail.contains("--cgroupns=host"), "{}", read.detail);
}

#[test]
fn what_cannot_be_read_is_absent_with_its_reason() {
    let host = Host::new();
    host.put("", &[("cgroup.controllers", "")]);
    host.put("bare", &[("cgroup.events", "populated 1\n"), ("cpu.stat", "usage_usec 1\n")]);
    let read = host.read("0::/bare\n");
    let c = seen(&read);
    for why in [
        c.memory.err(),
        c.oom_kills.err(),
        c.memory_bytes.err(),
        c.memory_limit.err(),
        c.frozen.err(),
    ] {
        assert_eq!(why, Some(HostUnknown::Unsupported));
    }
    assert_eq!(c.frozen_total, None);
    assert!(read.detail.contains("CONFIG_PSI") && read.detail.contains("subtree_control"));
    host.put("bare", &[("cgroup.pressure", "0\n")]);
    assert!(host.read("0::/bare\n").detail.contains("write 1 to its cgroup.pressure"));

    host.put("bare", &[("memory.pressure", "some avg10=x total=1\n"), ("memory.max", "-7\n")]);
    let read = host.read("0::/bare\n");
    assert_eq!(seen(&read).memory, Err(HostUnknown::Malformed));
    assert_eq!(seen(&read).memory_limit, Err(HostUnknown::Malformed));
    assert!(read.detail.contains("bare/memory.pressure is not what"), "{}", read.detail);

    for (cgroup, why) in [
        ("0::/nope (deleted)\n", HostUnknown::Gone),
        ("3:pids:/a\n", HostUnknown::Absent),
        ("", HostUnknown::Absent),
        ("4:memory:/a\n", HostUnknown::Hidden),
    ] {
        assert_eq!(host.read(cgroup).seen, Err(why), "{cgroup}");
    }
    // Removed between the reading of its path and its files.
    let read = host.read("0::/nope\n");
    assert_eq!(seen(&read).memory, Err(HostUnknown::Gone));
    assert_eq!(seen(&read).oom_kills, Err(HostUnknown::Gone));
}

#[test]
fn a_pid_of_another_process_and_none_are_not_the_worker() {
    let host = Host::new();
    host.put("", &[("cgroup.controllers", "")]);
    host.put("a", &FILES_V2);
    host.process(PID, START + 1, "0::/a\n");
    host.process(PID + 1, START, "0::/a\n");
    host.process(PID + 2, START, "0::/a\n");
    write(&host.0.path().join("proc/9"), &[("stat", "nonsense"), ("cgroup", "0::/a\n")]);
    let pids = [PID, PID + 1, PID + 2, PID + 3, 9];
    let reads = host.cgroups().read(&pids.map(resident));
    let reads: Vec<_> = reads.into_iter().map(|r| r.seen.map(|c| c.path)).collect();
    assert_eq!(reads[0], Err(HostUnknown::Gone));
    assert_eq!(reads[1], Ok(Arc::from("/a")));
    assert_eq!(reads[2], reads[1]);
    assert_eq!(reads[3], Err(HostUnknown::Gone));
    assert_eq!(reads[4], Err(HostUnknown::Malformed));
}

#[test]
fn names_are_the_same_only_for_the_same_cgroups() {
    let host = Host::new();
    host.put("unified", &[("cgroup.controllers", "")]);
    host.put("memory", &[("release_agent", "")]);
    let name = |cgroup: &str| seen(&host.read(cgroup)).path.to_string();
    for (cgroup, want) in [
        ("4:memory:/a\n0::/a\n", "/a"),
        ("4:memory:/\n0::/a\n", "v2:/a"),
        ("4:memory:/a\n0::/\n", "memory:/a"),
        ("4:memory:/b\n3:cpu:/b\n0::/a\n", "v2:/a memory,cpu:/b"),
        ("0::/s.slice/a\\x2db:c d\n", "/s.slice/a\\x2db:c d"),
        ("0::/a\u{202e}b\n", "/a\\xe2\\x80\\xaeb"),
    ] {
        assert_eq!(name(cgroup), want, "{cgroup:?}");
    }
}

#[test]
fn nothing_to_read_reads_nothing() {
    assert_eq!(Host::new().cgroups().read(&[]), []);
}
