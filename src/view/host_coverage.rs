//! What of a worker's stalls, cgroup and JVM cannot be read, and why; nothing where nobody configured a process.

use super::BlindReason;
use super::host::beyond_cap;
use crate::config::WorkerGroup;
use crate::derive::fresh::is_fresh;
use crate::derive::host::StallRules;
use crate::derive::worker::Worker;
use crate::observe::Mono;
use crate::observe::stall::{HostUnknown, SampleWay};

/// Why the worst stall of a lock's holder is not known.
pub(super) fn stall(
    worker: &Worker,
    group: &WorkerGroup,
    now: Mono,
    rules: StallRules,
) -> Option<BlindReason> {
    let host = &worker.host;
    let is_known = host.worst_stall(now, rules).is_some_and(|worst| worst.upper.is_some());
    if is_known || (group.process.is_none() && group.heartbeat.is_none()) {
        return None;
    }
    host.refusal(now, rules).and_then(reason).or(Some(BlindReason::NoHistory))
}

/// What a failure means for whoever relies on it. A process that ended is told of as a process.
fn reason(why: HostUnknown) -> Option<BlindReason> {
    match why {
        HostUnknown::Gone => None,
        HostUnknown::Permission => Some(BlindReason::Permission),
        HostUnknown::Hidden => Some(BlindReason::Hidden),
        HostUnknown::Unsupported | HostUnknown::Absent | HostUnknown::Malformed => {
            Some(BlindReason::Unsupported)
        }
        HostUnknown::Failed => Some(BlindReason::Unreachable),
    }
}

/// Whether a worker is seen to run, and has been for long enough to be looked at, while nothing else is read of it.
fn hangs(worker: &Worker, now: Mono, rules: StallRules) -> bool {
    let is_recent = |at: Option<Mono>| is_fresh(at, now, rules.poll);
    worker.host.is_overdue(now, rules.poll)
        && worker.processes.values().any(|p| {
            let since = p.live_since();
            since.is_some() && !is_recent(since) && is_recent(p.last_span().map(|s| s.done))
        })
}

/// Adds what cannot be read of a worker's processes.
pub(super) fn worker(
    worker: &Worker,
    group: &WorkerGroup,
    now: Mono,
    rules: StallRules,
    lost: &mut Vec<(&'static str, &'static str)>,
) {
    if group.process.is_none() {
        return;
    }
    let host = &worker.host;
    let failures = host.failures(now, rules.poll);
    let has_jvm = host.jvms().last_read().is_some();
    let hangs = hangs(worker, now, rules).then_some(BlindReason::Unreachable);
    let is_capped = beyond_cap(host, now, rules) > 0;
    let threads = host.refusal(now, rules).and_then(reason);
    let threads = threads.or(is_capped.then_some(BlindReason::Unsupported)).or(hangs);
    // Thread by thread from /proc, because the kernel does not tell sums to everybody.
    let by_procfs = host.samples(now, rules).any(|s| s.way == SampleWay::Procfs);
    let is_rare = host.interval(now, rules).is_some_and(|i| i > rules.stall_poll.mul_f64(1.5));
    let rare = if by_procfs { BlindReason::Permission } else { BlindReason::Unsupported };
    for (aspect, why) in [
        ("threads", threads),
        ("cgroup", failures.cgroup.and_then(reason).or(hangs)),
        ("pressure", failures.pressure.and_then(reason)),
        ("jvm", failures.jvm.and_then(reason).or(hangs.filter(|_| has_jvm))),
        ("stall_resolution", is_rare.then_some(rare)),
    ] {
        lost.extend(why.map(|why| (aspect, why.as_str())));
    }
}
