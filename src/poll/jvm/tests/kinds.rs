//! Real JVMs with each kind of collector: their counters are what `jstat` shows, and pauses are what their own log says.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::jvms::{Jvm, classes, counters, has, not_tested, read_until, reader};
use crate::config::JvmMode;
use crate::derive::jvm::{Bounds, JvmHistory};
use crate::observe::jvm::Jvm as Counters;
use crate::observe::stall::HostUnknown;

/// Collections and their seconds as `jstat -gc` prints them: young, full, concurrent; what it does not have is absent.
fn jstat(pid: i32) -> Vec<Option<(u64, String)>> {
    let out = Command::new("jstat").args(["-gc", &pid.to_string()]).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let mut lines = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
    let (head, row) = (lines.next().unwrap(), lines.next().unwrap());
    let cell = |name: &str| head.iter().position(|h| *h == name).map(|at| row[at]);
    let pair =
        |count: &str, time: &str| Some((cell(count)?.parse().ok()?, cell(time)?.replace(',', ".")));
    vec![pair("YGC", "YGCT"), pair("FGC", "FGCT"), pair("CGC", "CGCT")]
}

fn as_jstat(jvm: &Counters) -> Vec<Option<(u64, String)>> {
    let of = |number| jvm.collectors.iter().find(move |c| c.number == number);
    (0..3).map(|n| of(n).map(|c| (c.invocations, format!("{:.3}", c.time.as_secs_f64())))).collect()
}

/// What a JVM's log says, in nanoseconds: stops of the world, and pauses of collections.
fn log(path: &Path) -> (Vec<u64>, Vec<u64>) {
    let text = fs::read_to_string(path).unwrap();
    let (mut stops, mut pauses) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if line.contains("Safepoint \"") {
            let total = line.rsplit("Total:").next().unwrap().trim();
            stops.push(total.split(' ').next().unwrap().parse().unwrap());
        } else if line.contains("Pause") && line.ends_with("ms") {
            let ms: f64 = line.rsplit(' ').next().unwrap().trim_end_matches("ms").parse().unwrap();
            pauses.push((ms * 1e6) as u64);
        }
    }
    (stops, pauses)
}

/// How far each of these lengths is from an entry of the log of its own; the closest are paired first.
fn apart(lengths: &[Duration], log: &[u64]) -> Vec<Duration> {
    let mut lengths: Vec<u64> =
        lengths.iter().map(|l| u64::try_from(l.as_nanos()).unwrap()).collect();
    let mut log = log.to_vec();
    let mut apart = Vec::new();
    while !lengths.is_empty() {
        let pairs = (0..lengths.len()).flat_map(|a| (0..log.len()).map(move |b| (a, b)));
        let closest = pairs.min_by_key(|(a, b)| lengths[*a].abs_diff(log[*b]));
        let (a, b) = closest.expect("the log has no more entries");
        apart.push(Duration::from_nanos(lengths.swap_remove(a).abs_diff(log.swap_remove(b))));
    }
    apart
}

/// Runs a JVM with this collector, reads it all the while, and compares.
fn agrees(collector: &str) {
    let dir = TempDir::new().unwrap();
    let log_path = dir.path().join("log");
    let option = format!("-XX:+Use{collector}");
    if classes().is_none() {
        return;
    }
    if !has(&option) {
        return not_tested(&format!("this JVM has no {collector}"));
    }
    let logging = format!("-Xlog:safepoint,gc,gc+phases:file={}:uptime", log_path.display());
    let Some(mut jvm) = Jvm::start(&[&option, &logging]) else { return };
    let resident = jvm.resident(JvmMode::Auto);
    let (mut jvms, mut history) = (reader(), JvmHistory::default());
    counters(&mut jvms, &resident);
    let (mut stops, mut pauses): (Vec<Bounds>, Vec<Bounds>) = (Vec::new(), Vec::new());
    let mut look = |jvms: &mut _| {
        let read = read_until(jvms, &resident, |r| r.is_some_and(|r| r.seen.is_ok())).unwrap();
        let counters = read.seen.unwrap();
        let step = history.read(read.process, read.span, &counters);
        stops.extend(step.stop);
        pauses.extend(step.pause);
        counters
    };
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for what in ["keep 20", "gc 4", "churn 30", "gc 8", "churn 30", "stop 15"] {
                jvm.tell(what);
            }
            is_done.store(true, Ordering::Release);
        });
        // The last look is of what happened before it was done.
        loop {
            let was_done = is_done.load(Ordering::Acquire);
            let _ = look(&mut jvms);
            if was_done {
                break;
            }
            std::thread::sleep(Duration::from_millis(4));
        }
    });

    // Idle now, but a concurrent cycle may still be going on.
    let mut tries = 0;
    let shown = loop {
        let before = jstat(jvm.pid);
        let ours = counters(&mut jvms, &resident);
        if before == jstat(jvm.pid) {
            break before.into_iter().zip(as_jstat(&ours)).filter(|(jstat, _)| jstat.is_some());
        }
        tries += 1;
        assert!(tries < 10, "jstat never shows the same twice");
    };
    let shown: Vec<_> = shown.collect();
    assert!(!shown.is_empty(), "jstat shows collections");
    for (jstat, ours) in &shown {
        assert_eq!(jstat, ours, "{collector}: jstat and we");
    }
    let ours = look(&mut jvms);

    let (logged_stops, logged_pauses) = log(&log_path);
    let sum: u64 = logged_stops.iter().sum();
    let stopped = ours.safepoint_time.unwrap() + ours.sync_time.unwrap();
    let missing = u64::try_from(stopped.as_nanos()).unwrap().abs_diff(sum);
    // The log comes a moment after the counters, and a stop may have been between the two.
    assert!(missing < 1_000_000, "{collector}: {stopped:?} and in the log {sum} ns");
    assert_eq!(history.stopped(), Some(stopped), "{collector}");
    let longest = Duration::from_nanos(logged_stops.iter().copied().max().unwrap_or(0));
    assert!(stops.iter().all(|b| b.lower <= longest + Duration::from_millis(1)), "{stops:?}");
    let exact =
        |all: &[Bounds]| all.iter().filter(|b| b.is_exact()).map(|b| b.lower).collect::<Vec<_>>();
    let (stops, pauses) = (exact(&stops), exact(&pauses));
    assert!(stops.len() >= 4, "{collector}: few are exact: {stops:?}");
    let far = apart(&stops, &logged_stops);
    assert!(far.iter().all(|far| *far < Duration::from_micros(1)), "{collector}: {far:?}");
    // What they do beside the program comes between several short pauses in a row, of which few are read one by one.
    match collector {
        "ShenandoahGC" => return,
        "ZGC" => {}
        _ => assert!(pauses.len() >= 4, "{collector}: few are exact: {pauses:?}"),
    }
    // The log takes its own time, a moment apart; where others want the processor, now and then it waits in between.
    let far = apart(&pauses, &logged_pauses);
    let near = far.iter().filter(|far| **far < Duration::from_millis(1)).count();
    assert!(near * 10 >= far.len() * 9, "{collector}: {far:?}");
}

#[test]
fn g1_agrees_with_jstat_and_its_log() {
    agrees("G1GC");
}

#[test]
fn serial_agrees_with_jstat_and_its_log() {
    agrees("SerialGC");
}

#[test]
fn parallel_agrees_with_jstat_and_its_log() {
    agrees("ParallelGC");
}

#[test]
fn z_agrees_with_jstat_and_its_log() {
    agrees("ZGC");
}

#[test]
fn shenandoah_agrees_with_jstat_and_its_log() {
    agrees("ShenandoahGC");
}

#[test]
fn a_stopped_jvm_is_read_and_a_killed_one_is_gone() {
    let Some(mut jvm) = Jvm::start(&["-XX:+UseSerialGC"]) else { return };
    let resident = jvm.resident(JvmMode::Auto);
    let mut jvms = reader();
    let first = counters(&mut jvms, &resident);
    if first.ticks.is_some() {
        read_until(&mut jvms, &resident, |r| {
            r.and_then(|r| r.seen.as_ref().ok()).is_some_and(|j| j.ticks > first.ticks)
        });
    }
    jvm.signal("-STOP");
    let state = format!("/proc/{}/stat", jvm.pid);
    while !fs::read_to_string(&state).unwrap().contains(") T ") {
        std::thread::sleep(Duration::from_millis(5));
    }
    let stopped = counters(&mut jvms, &resident);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(counters(&mut jvms, &resident), stopped, "not even its clock moves");
    jvm.signal("-CONT");

    let left = format!("{}/{}", left_behind(jvm.pid), jvm.pid);
    jvm.signal("-KILL");
    // Not yet waited for: a zombie.
    let gone =
        |r: Option<&crate::observe::JvmRead>| r.is_some_and(|r| r.seen == Err(HostUnknown::Gone));
    read_until(&mut jvms, &resident, gone);
    jvm.kill();
    assert!(fs::metadata(&left).is_ok(), "{left} is left behind");
    assert!(gone(jvms.read(&resident).as_ref()), "the file is still open and says nothing");
    assert_eq!(reader().read(&resident), None, "nobody ever saw it as a JVM");
    let always = crate::poll::residents::Resident { jvm: JvmMode::Always, ..resident.clone() };
    assert!(gone(reader().read(&always).as_ref()));
    jvms.keep(|_| false);
    assert_eq!(jvms.read(&resident), None);
    fs::remove_file(left).unwrap();
}

/// The directory of a JVM's counters file on this machine.
fn left_behind(pid: i32) -> String {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let line = maps.lines().find(|l| l.contains("/hsperfdata_")).unwrap();
    let path = line.split_whitespace().next_back().unwrap();
    path.rsplit_once('/').unwrap().0.to_owned()
}
