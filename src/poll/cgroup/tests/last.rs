//! The cgroup of a process that ended, looked at once more.

use super::*;

fn host() -> Host {
    let host = Host::new();
    host.put("", &[("cgroup.controllers", "cpu memory\n")]);
    host.put("app", &FILES_V2);
    host.process(PID, START, "0::/app\n");
    host
}

fn end(host: &Host) {
    fs::remove_dir_all(host.0.path().join("proc").join(PID.to_string())).unwrap();
}

#[test]
fn a_kill_for_want_of_memory_is_seen_after_the_process_is_gone() {
    let host = host();
    let mut cgroups = host.cgroups();
    assert_eq!(cgroups.read_last(&[resident(PID)]), [], "it was never found");
    assert_eq!(seen(&cgroups.read(&[resident(PID)])[0]).oom_kills, Ok(2));
    host.put("app", &[("memory.events", "low 0\noom 4\noom_kill 3\n")]);
    end(&host);
    // A process may stand for two workers.
    let other = Resident { worker: Arc::from("orders-2"), ..resident(PID) };
    let reads = cgroups.read_last(&[resident(PID), other]);
    let told: Vec<_> = reads.iter().map(|r| (&*r.worker, seen(r).oom_kills)).collect();
    assert_eq!(told, [("orders-1", Ok(3)), ("orders-2", Ok(3))]);
    assert_eq!(cgroups.read_last(&[resident(PID)]), [], "once");
}

#[test]
fn a_cgroup_that_went_with_its_process_says_nothing_more() {
    let host = host();
    let mut cgroups = host.cgroups();
    assert!(cgroups.read(&[resident(PID)])[0].seen.is_ok());
    end(&host);
    fs::remove_dir_all(host.0.path().join("cg/app")).unwrap();
    assert_eq!(cgroups.read_last(&[resident(PID)]), []);
}
