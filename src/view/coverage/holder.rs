//! What of a lock's holder cannot be judged: who it is, its heartbeat, its process.

use super::super::holder::Holder;
use super::super::{Aspect, BlindReason, hint, host_coverage};
use super::source_reason;
use crate::config::{ProcessSource, SeriesTier, WorkerGroup};
use crate::derive::lock::Lock;
use crate::derive::worker::Worker;
use crate::derive::{Liveness, State};
use crate::observe::Mono;
use crate::observe::worker::ProcessUnknown;

pub(super) fn holder(
    state: &State,
    lock: &Lock,
    holder: &Holder<'_>,
    now: Mono,
    lost: &mut Vec<(Aspect, BlindReason)>,
) {
    let (tenure, before) = (holder.tenure, lost.len());
    // A list may name what the token names, whoever that is.
    let is_judged = holder.judged.liveness != Liveness::Unknown;
    if !is_judged && hint::of_list(state, lock, tenure, now).is_some() {
        lost.push((Aspect::Holder, BlindReason::NoHistory));
    }
    let Some(name) = tenure.worker() else {
        if is_judged {
            return;
        }
        let reason = if tenure.seat.is_missing() {
            // More workers than `max_workers`.
            BlindReason::Unsupported
        } else if tenure.owner.is_some() && state.workers.lists.needs_name(lock) {
            lock.beside.why_nameless()
        } else if let Some(reason) = hint::unnamed(state, lock, tenure) {
            reason
        } else {
            // What the list says that should name it was said.
            return;
        };
        lost.push((Aspect::Holder, reason));
        return;
    };
    let Some((worker, group, rules)) = state.workers.with_group(name) else {
        if !is_judged {
            lost.push((Aspect::Heartbeat, BlindReason::NotConfigured));
        }
        return;
    };
    if group.heartbeat.is_none() && group.process.is_none() && !is_judged {
        lost.push((Aspect::Heartbeat, BlindReason::NotConfigured));
    }
    if let Some(reason) = heartbeat(worker, group, rules) {
        lost.push((Aspect::Heartbeat, reason));
    }
    let pid = tenure.owner.as_ref().and_then(|o| o.pid);
    if let Some(reason) = process(worker, group, pid) {
        lost.push((Aspect::Process, reason));
    }
    if lock.rules.series == SeriesTier::Full
        && process(worker, group, pid).is_none()
        && let Some(reason) = host_coverage::stall(worker, group, now, state.rules.stalls())
    {
        lost.push((Aspect::Stall, reason));
    }
    // Its sources can be read, and have yet to say something of this tenure.
    let mut own = lost.iter().skip(before);
    let is_told = own.any(|(a, _)| matches!(a, Aspect::Heartbeat | Aspect::Process));
    if !is_told && !is_judged {
        let aspect = if group.heartbeat.is_some() { Aspect::Heartbeat } else { Aspect::Process };
        lost.push((aspect, BlindReason::NoHistory));
    }
}

pub(super) fn heartbeat(
    worker: &Worker,
    group: &WorkerGroup,
    rules: crate::derive::heartbeat::BeatRules,
) -> Option<BlindReason> {
    group.heartbeat.as_ref()?;
    let beat = &worker.heartbeat;
    if let Some(reason) = beat.failure {
        Some(source_reason(reason))
    } else if !beat.is_threshold_sane(rules) {
        Some(BlindReason::Unsupported)
    } else if !beat.is_judged(rules) {
        Some(BlindReason::NoHistory)
    } else {
        None
    }
}

pub(super) fn process(
    worker: &Worker,
    group: &WorkerGroup,
    pid: Option<i32>,
) -> Option<BlindReason> {
    if *group.process.as_ref()? == ProcessSource::FromHolder && pid.is_none() {
        // Other tokens of the worker may name some.
        return Some(BlindReason::OpaqueToken);
    }
    let Some(processes) = worker.processes_of(pid, group) else {
        return Some(BlindReason::NoHistory);
    };
    match processes.unknown() {
        Some(ProcessUnknown::Hidden) => Some(BlindReason::Hidden),
        Some(ProcessUnknown::ForeignHost) => Some(BlindReason::ForeignHost),
        Some(ProcessUnknown::NoPid) => Some(BlindReason::OpaqueToken),
        Some(ProcessUnknown::NoPidFile | ProcessUnknown::Failed) => Some(BlindReason::Unreachable),
        None => (processes.liveness() == Liveness::Unknown).then_some(BlindReason::NoHistory),
    }
}
