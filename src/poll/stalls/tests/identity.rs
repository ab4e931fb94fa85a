//! A number is no process: who has it is checked, and one that is hidden is not called dead.

use std::fs;

use super::*;
use crate::observe::stall::HostUnknown;

#[test]
fn somebody_elses_number_is_gone() {
    for (way, mut sampler) in both() {
        let child = Mortal::sh("exec sleep 600");
        let mut wrong = resident(child.pid());
        wrong.process.start_ticks -= 1;
        for _ in 0..3 {
            let read = sampler.sample(std::slice::from_ref(&wrong));
            assert_eq!(read.samples[0].seen, Err(HostUnknown::Gone), "{way:?}");
        }
        // The right one next to it is sampled all the same.
        let both = [wrong, resident(child.pid())];
        let read = sampler.sample(&both);
        assert_eq!(read.samples.iter().filter(|s| s.seen.is_ok()).count(), 1, "{read:?}");
    }
}

#[test]
fn a_process_of_two_workers_is_read_once_and_told_twice() {
    for (_, mut sampler) in both() {
        let child = Mortal::sh("exec sleep 600");
        let one = resident(child.pid());
        let two = Resident { worker: Arc::from("w2"), ..one.clone() };
        let read = sampler.sample(&[one, two]);
        let [a, b] = &read.samples[..] else { panic!("{read:?}") };
        assert_eq!((&*a.worker, &*b.worker), ("w", "w2"));
        assert_eq!((&a.seen, a.span), (&b.seen, b.span));
    }
}

#[test]
fn what_a_procfs_hides_is_not_gone() {
    let dir = tempfile::tempdir().unwrap();
    let process = ProcessId { pid: 4711, start_ticks: 5 };
    let residents = [Resident { worker: Arc::from("w"), process, jvm: JvmMode::Auto }];
    let mut settings = settings("/proc");
    settings.paths.procfs = dir.path().to_owned();
    settings.poll_interval = Duration::ZERO;
    let mut sampler = Sampler::with(&settings, None, Pool::of(0));
    let mut seen = || sampler.sample(&residents).samples.remove(0).seen;
    // No pid 1 is to be seen: hidepid or something like it.
    assert_eq!(seen(), Err(HostUnknown::Hidden));
    assert_eq!(seen(), Err(HostUnknown::Hidden));
    // It shows itself.
    let task = dir.path().join("4711/task/4711");
    fs::create_dir_all(&task).unwrap();
    fs::write(task.join("schedstat"), "500 200 3\n").unwrap();
    let stat = "4711 (x) S 1 4711 4711 0 -1 4194560 0 0 0 0 7 5 0 0 20 0 1 0 5 999 250 1 1\n";
    fs::write(task.join("stat"), stat).unwrap();
    let scheduling = seen().unwrap();
    assert_eq!(scheduling.slices, 3);
    assert_eq!((scheduling.state, scheduling.frozen), (Some(ProcessState::Sleeping), None));
    // A kernel that does not count, a file that is none.
    fs::write(task.join("schedstat"), "0 0 0\n").unwrap();
    fs::write(task.join("schedstat"), "lots\n").unwrap();
    assert_eq!(seen(), Err(HostUnknown::Malformed));
    // Everything is shown and it is not there.
    fs::create_dir(dir.path().join("1")).unwrap();
    fs::remove_dir_all(dir.path().join("4711")).unwrap();
    assert_eq!(seen(), Err(HostUnknown::Gone));
}

#[test]
fn a_kernel_that_does_not_count_is_no_zero() {
    let dir = tempfile::tempdir().unwrap();
    let process = ProcessId { pid: 7, start_ticks: 5 };
    let residents = [Resident { worker: Arc::from("w"), process, jvm: JvmMode::Auto }];
    let task = dir.path().join("7/task/7");
    fs::create_dir_all(&task).unwrap();
    let stat = "7 (x) R 1 7 7 0 -1 4194560 0 0 0 0 7 5 0 0 20 0 1 0 5 999 250 1 1\n";
    fs::write(task.join("stat"), stat).unwrap();
    fs::write(task.join("schedstat"), "0 0 0\n").unwrap();
    let mut settings = settings("/proc");
    settings.paths.procfs = dir.path().to_owned();
    let mut sampler = Sampler::with(&settings, None, Pool::of(0));
    let read = sampler.sample(&residents);
    assert_eq!(read.samples[0].seen, Err(HostUnknown::Unsupported));
    assert_eq!(failure(&read), Some(FailReason::Missing));
}

use crate::observe::worker::ProcessState;
