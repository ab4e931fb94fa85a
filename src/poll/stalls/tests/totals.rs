//! Sums are the kernel's own.

use super::*;

/// Two busy threads and four that sleep.
const THREADS: &str = "
import threading, time
def busy():
    while True: pass
def nap():
    while True: time.sleep(0.005)
for work in [busy, busy, nap, nap, nap, nap]:
    threading.Thread(target=work, daemon=True).start()
time.sleep(600)
";

fn python(script: &str) -> Mortal {
    Mortal(Command::new("python3").args(["-c", script]).spawn().unwrap())
}

/// Sums over the threads that there are: on a CPU, waiting, slices, involuntary switches.
fn sums(pid: i32) -> [u64; 4] {
    let mut sums = [0; 4];
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let dir = task.unwrap().path();
        let text = std::fs::read_to_string(dir.join("schedstat")).unwrap();
        for (sum, n) in sums.iter_mut().zip(text.split_whitespace()) {
            *sum += n.parse::<u64>().unwrap();
        }
        let status = std::fs::read_to_string(dir.join("status")).unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("nonvoluntary_ctxt_switches:"));
        sums[3] += line.unwrap().trim().parse::<u64>().unwrap();
    }
    sums
}

#[test]
fn totals_are_those_of_proc() {
    for (way, mut sampler) in both() {
        let child = python(THREADS);
        let pid = child.pid();
        let residents = [resident(pid)];
        let is_ready = || std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().count() == 7;
        let deadline = clock::mono().plus(Duration::from_secs(20));
        while !is_ready() || sums(pid)[2] < 50 {
            assert!(clock::mono() < deadline, "{:?}", sums(pid));
            std::thread::sleep(Duration::from_millis(20));
        }
        let first = sampler.sample(&residents).samples.remove(0);
        let first = counters(&first).clone();
        assert_eq!((first.way, first.each.clone()), (way, None));
        assert!(first.state.is_some(), "nothing to compare the first sample with");
        let moved =
            until(&mut sampler, &residents, "it moves", |s| counters(s).slices > first.slices);
        assert_eq!((counters(&moved).state, counters(&moved).threads), (None, 7));
        let each = counters(&moved).each.clone().unwrap();
        assert!(each.most_waited >= each.mean_wait, "{each:?}");
        assert!(each.busiest <= moved.span.done.since(each.since.sent), "{each:?}");
        let before = counters(&moved).clone();
        child.signal(rustix::process::Signal::STOP);
        let still = until(&mut sampler, &residents, "it stands still", |s| {
            counters(s).state.is_some_and(|s| s.is_stopped())
        });
        let still = counters(&still);
        let [on_cpu, waited, slices, involuntary] = sums(pid);
        let told = [still.on_cpu.as_nanos() as u64, still.waited.as_nanos() as u64, still.slices];
        assert_eq!(told, [on_cpu, waited, slices], "{way:?}");
        let by_taskstats = way == SampleWay::Taskstats;
        assert_eq!(still.involuntary, by_taskstats.then_some(involuntary));
        assert!(still.on_cpu >= before.on_cpu && still.slices >= before.slices);
    }
}

#[test]
fn ended_threads_keep_their_share() {
    let script = "
import threading, time
def brief():
    end = time.thread_time() + 0.3
    while time.thread_time() < end: pass
threading.Thread(target=brief).start()
while True: time.sleep(0.01)
";
    for (way, mut sampler) in both() {
        let child = python(script);
        let residents = [resident(child.pid())];
        until(&mut sampler, &residents, "two threads", |s| counters(s).threads == 2);
        let mut last = Duration::ZERO;
        let one = until(&mut sampler, &residents, "one thread", |s| {
            let now = counters(s);
            assert!(now.on_cpu >= last, "{way:?} fell");
            last = now.on_cpu;
            now.threads == 1
        });
        assert!(counters(&one).on_cpu > Duration::from_millis(200), "{way:?} {one:?}");
    }
}
