//! Threads that are kept waiting: by equals, and by one that lets nobody else run.

use std::time::Duration;

use super::*;

/// The last processor, where fewer others work than on the first.
fn processor() -> String {
    (std::thread::available_parallelism().unwrap().get() - 1).to_string()
}

fn pinned(program: &[&str]) -> Mortal {
    let processor = processor();
    let args = [&["-c", processor.as_str()], program].concat();
    Mortal(Command::new("taskset").args(args).spawn().unwrap())
}

#[test]
fn rivals_make_each_other_wait() {
    for (way, mut sampler) in both() {
        let spin = ["sh", "-c", "while :; do :; done"];
        let children = [pinned(&spin), pinned(&spin), pinned(&spin)];
        let residents: Vec<Resident> = children.iter().map(|c| resident(c.pid())).collect();
        let before =
            until(&mut sampler, &residents[..1], "threads", |s| counters(s).each.is_some());
        let sample = until(&mut sampler, &residents[..1], "it waits", |s| {
            counters(s).each.as_ref().is_some_and(|e| {
                e.most_waited > Duration::from_millis(20)
                    && counters(s).waited > counters(&before).waited
            })
        });
        let scheduling = counters(&sample);
        let each = scheduling.each.as_ref().unwrap();
        assert!(!each.mean_wait.is_zero() && each.mean_wait <= each.most_waited, "{each:?}");
        assert_eq!(scheduling.state, None, "it moved");
        assert_eq!(each.runnable, 1, "{way:?} {each:?}");
        match way {
            SampleWay::Taskstats => assert!(scheduling.involuntary.unwrap() > 0),
            SampleWay::Procfs => assert_eq!((each.wait_limit, each.longest_wait), (None, None)),
        }
    }
}

/// The longest gap that a spinning process finds in its own time, once it is told to end.
const VICTIM: &str = "
import signal, sys, time
def end(*_):
    print(longest, flush=True)
    sys.exit(0)
longest, last = 0.0, time.monotonic()
signal.signal(signal.SIGTERM, end)
while True:
    now = time.monotonic()
    longest, last = max(longest, now - last), now
";

const HOG: &str = "
import time
end = time.monotonic() + 0.9
while time.monotonic() < end: pass
";

#[test]
fn a_starved_thread_is_seen_while_it_waits_and_measured_when_it_runs() {
    for (way, mut sampler) in both() {
        // What else runs here can make two waits look like one gap to the victim: the best of three trials counts.
        let mut failures = Vec::new();
        while failures.len() < 3 {
            match starve(way, &mut sampler) {
                Ok(()) => break,
                Err(Starved::NotHere) => {
                    println!("skipped: no real-time priority here");
                    return;
                }
                Err(Starved::Otherwise(why)) => failures.push(why),
            }
        }
        assert!(failures.len() < 3, "{way:?}: {failures:?}");
    }
}

enum Starved {
    /// No right to do it.
    NotHere,
    /// Not the whole gap is explained.
    Otherwise(String),
}

/// One trial: what is said of waits is never too much, and in a good trial it is all.
fn starve(way: SampleWay, sampler: &mut Sampler) -> Result<(), Starved> {
    let processor = processor();
    let mut victim = Mortal(
        Command::new("taskset")
            .args(["-c", &processor, "python3", "-c", VICTIM])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let residents = [resident(victim.pid())];
    let before = until(sampler, &residents, "it runs", |s| {
        counters(s).each.is_some() && counters(s).on_cpu > Duration::from_millis(100)
    });
    let hog = ["-f", "1", "taskset", "-c", &processor, "python3", "-c", HOG];
    let mut hog = Mortal(Command::new("chrt").args(hog).spawn().unwrap());
    let mut starving = None;
    let mut told = Vec::new();
    while hog.0.try_wait().unwrap().is_none() {
        let read = sampler.sample(&residents);
        let each = counters(&read.samples[0]).each.clone();
        starving = starving.max(each.as_ref().and_then(|e| e.unmoved_runnable));
        told.extend(each);
        std::thread::sleep(Duration::from_millis(40));
    }
    if !hog.0.wait().unwrap().success() {
        return Err(Starved::NotHere);
    }
    let after = until(sampler, &residents, "it ran again", |s| {
        let ran = counters(s).on_cpu - counters(&before).on_cpu;
        ran > Duration::from_millis(50) && counters(s).each.is_some()
    });
    told.extend(counters(&after).each.clone());
    victim.signal(rustix::process::Signal::TERM);
    let mut text = String::new();
    std::io::Read::read_to_string(victim.0.stdout.as_mut().unwrap(), &mut text).unwrap();
    let gap = Duration::from_secs_f64(text.trim().parse().unwrap());
    // Time on a processor is booked in steps of the timer: 10 ms at most.
    let step = Duration::from_millis(10);
    let lower = told.iter().map(|e| e.mean_wait).max().max(starving).unwrap();
    let upper = told.iter().map(|e| e.most_waited).max().unwrap();
    assert!(lower <= gap + step, "{way:?}: a wait of {lower:?} in a gap of {gap:?}: {told:?}");
    let exact = told.iter().filter_map(|e| e.longest_wait).max();
    assert!(exact.is_none_or(|e| e <= gap + step), "{way:?}: {exact:?} in a gap of {gap:?}");
    let limit = told.iter().filter_map(|e| e.wait_limit).max();
    let explains = |wait: Option<Duration>| wait.is_none_or(|w| w + step >= gap);
    let all = explains(Some(upper)) && explains(exact) && explains(limit);
    let long = Duration::from_millis(200);
    if all && gap > 2 * long && starving.is_some_and(|s| s > long) {
        return Ok(());
    }
    let waits = format!("{starving:?} {lower:?} {exact:?} {limit:?} {upper:?}");
    Err(Starved::Otherwise(format!("a gap of {gap:?}, waits {waits}")))
}
