//! Verdicts and reasons in words for people. A word between backticks is something to type or to look for.

use crate::view::{
    Aspect, Ballot, BlindReason, ClockStatus, Evidence, Liveness, Mode, Signal, StallSource,
};

/// What a signal says.
pub fn signal(signal: Signal) -> &'static str {
    match signal {
        Signal::Contested => "two owners were valid at once",
        Signal::RenewalAfterLostLiveness => "still renewed although its holder lost liveness",
        Signal::HolderStale => "its holder lost liveness and still owns it",
        Signal::RenewalOverdue => "a renewal that should have come did not",
        Signal::QuorumDegraded => "its owner has lost servers, or has none to spare",
        Signal::LeaseLapsesInUse => "its leases run out while it is in use",
        Signal::LeaseWithoutTtl => "has no expiry: nothing frees it",
        Signal::ReplicaDiverged => "a replica shows something else",
        Signal::HolderUnexpected => "held by somebody whom the config does not expect",
        Signal::HeldTooLong => "held longer than it should be",
        Signal::LeaseShorterThanStall => "its holder stalled for longer than the lease survives",
        Signal::LeaseAbsurd => "its lease is absurdly long, or grows",
        Signal::HoldCountCreep => "its hold count grows and grows",
        Signal::Unheld => "nobody holds it although somebody should",
        Signal::ShapeUnexpected => "its key is of another type or shape",
    }
}

/// What it means when a signal is up, for somebody who has to decide what to do.
pub fn meaning(signal: Signal) -> &'static str {
    match signal {
        Signal::Contested => {
            "Two primaries grant it to two owners, or the servers lost it (or enough votes of it), or somebody wrote over it, \
             and another owner got it before the first one's lease was over: both may work under it."
        }
        Signal::RenewalAfterLostLiveness => {
            "Its holder is dead, replaced, frozen or stopped, and something goes on renewing the lease: it will never run out \
             by itself."
        }
        Signal::HolderStale => {
            "Its holder is dead, replaced, frozen, stopped, or not listed as a live worker, and still owns the key: nobody else \
             gets the lock before the lease runs out, and work may be half done."
        }
        Signal::RenewalOverdue => {
            "By its habit a renewal should have come and did not: the lease may run out under its holder."
        }
        Signal::QuorumDegraded => {
            "Its owner has it on fewer servers than it had, or on no more than it needs while another answers without it: when \
             one more is lost, another owner can get it."
        }
        Signal::LeaseLapsesInUse => {
            "Three of its last five leases ran out and it was taken again at once, or they ran out under a holder: the \
             lease is too short for the work, or nothing renews it."
        }
        Signal::LeaseWithoutTtl => {
            "The key has no expiry: if its holder dies, nobody gets the lock."
        }
        Signal::ReplicaDiverged => {
            "A replica shows another owner or expiry: a failover now would break the lock."
        }
        Signal::HolderUnexpected => {
            "Its holder is not among the lock's `workers` in the config: another deployment, or another service with \
             the same key."
        }
        Signal::HeldTooLong => "Held longer than `max_hold`, or far longer than ever before.",
        Signal::LeaseShorterThanStall => {
            "Its holder was kept from running for longer than the lease leaves room for: another such stall, and the \
             lease runs out while it still works."
        }
        Signal::LeaseAbsurd => {
            "Far more of the lease remains than a lease of this lock has: a wrong unit, a clock that stepped, or an \
             extension that adds up. If its holder dies, nobody gets the lock for as long."
        }
        Signal::HoldCountCreep => {
            "Its holder takes it again and again without letting go as often: it will not be free when the work is done."
        }
        Signal::Unheld => {
            "It is expected to be always held, or somebody waits for it, and it is free for too long."
        }
        Signal::ShapeUnexpected => {
            "The key holds another type or kind of value than it did, or than the config says: two libraries may share it."
        }
    }
}

/// The metric of a signal, as alerts name it.
pub fn metric(signal: Signal) -> String {
    format!("dlock_{}", signal.as_str())
}

/// What a holder's liveness means.
pub fn liveness(liveness: Liveness) -> &'static str {
    match liveness {
        Liveness::Dead => "dead",
        Liveness::Replaced => "replaced by another process",
        Liveness::Stopped => "stopped",
        Liveness::Frozen => "frozen",
        Liveness::Unlisted => "not listed as a live worker",
        Liveness::Alive => "alive",
        Liveness::Unknown => "not judged",
    }
}

/// In what way a holder holds, where it is not alone.
pub fn mode(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Exclusive => None,
        Mode::Read => Some("reads"),
        Mode::Write => Some("writes"),
        Mode::Permit => Some("has a permit"),
    }
}

/// How a tenure ended.
pub fn end(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Released => "released it",
        Evidence::Lapsed => "its lease ran out",
        Evidence::Overwritten => "was overwritten",
        Evidence::Evicted => "the server evicted the key",
        Evidence::Flushed => "the database was emptied",
        Evidence::Failover => "ended by a failover or restart",
        Evidence::ClockStep => "the server's clock jumped over the expiry",
        Evidence::Unknown => "not known how it ended",
    }
}

/// What cannot be judged, why, and where it can be changed, what to set.
pub fn blind(aspect: Aspect, reason: BlindReason) -> String {
    format!("{}: {}", aspect.as_str(), why(aspect, reason))
}

/// What it means that a pointer finds nothing.
pub fn missed(pointer: &str) -> String {
    let shown = pointer.replace('`', "'");
    format!("holder: `{shown}` finds nothing in the value (see `owner_json`)")
}

fn why(aspect: Aspect, reason: BlindReason) -> &'static str {
    use {Aspect as A, BlindReason as R};
    match (aspect, reason) {
        (A::Holder, R::NotConfigured) => "not configured (set `holder`)",
        (A::Heartbeat | A::Process, R::NotConfigured) => "not configured (see `workers`)",
        (A::Holder, R::OpaqueToken) => "nothing names who its token stands for (set `holder`)",
        (A::Holder, R::Unsupported) => "its value names no owner",
        (A::Heartbeat, R::NoHistory) => "no beat seen yet",
        (A::Heartbeat, R::Unsupported) => "`frozen_after` is less than two usual beats",
        (A::Process, R::OpaqueToken) => "its token names no pid",
        (A::Process, R::NoHistory) => "no process seen yet",
        (A::Stall, R::NotConfigured) => "not configured (see `workers`)",
        (A::Stall, R::NoHistory) => "no stall or no habit of renewing known yet",
        (A::Clock, R::NotConfigured) => "not configured (see `clocks`)",
        (A::Clock, R::Unsupported) => {
            "a chronyd follows nothing, or contradicts `TIME`: the skew bound is from `TIME` alone"
        }
        (A::Clock, R::Unreachable) => "a chronyd does not answer",
        (A::Clock, R::NoHistory) => "a chronyd was not asked yet",
        (A::Fencing, R::NoHistory) => "no token seen yet",
        (A::Renewals, R::NoHistory) => "too few seen to know their habit",
        (_, R::NotConfigured) => "not configured",
        (_, R::Permission) => "permission refused",
        (_, R::Unsupported) => "not supported there",
        (_, R::Hidden) => "hidden from this exporter",
        (_, R::Unreachable) => "its source does not answer",
        (_, R::ForeignHost) => "on another host",
        (_, R::OpaqueToken) => "its token does not tell",
        (_, R::ReusableToken) => "may be the same for every acquire",
        (_, R::NoHistory) => "not seen for long enough",
    }
}

/// What cannot be judged of a worker and why, both by their label values.
pub fn worker_blind(aspect: &str, reason: &str) -> String {
    let known = BlindReason::ALL.iter().find(|r| r.as_str() == reason);
    let aspects = Aspect::ALL.iter().find(|a| a.as_str() == aspect);
    let why = match (aspect, reason, aspects, known) {
        ("pressure", "unsupported", ..) => {
            "its cgroup is the root, or this kernel keeps none (see the log; `psi=1`)"
        }
        ("cgroup" | "pressure", "hidden", ..) => {
            "its cgroup is outside this exporter's cgroup namespace"
        }
        ("jvm", "permission", ..) => {
            "refused (needs the same user, or `CAP_SYS_PTRACE` and `CAP_DAC_READ_SEARCH`)"
        }
        ("jvm", "unsupported", ..) => "this JVM keeps no hsperfdata",
        ("cgroup", "unsupported", ..) => {
            "none that can be read, or its processes are in more of them than are looked at"
        }
        ("threads", "unsupported", ..) => "more of them than are looked at",
        ("stall_resolution", ..) => "sampled less often than `stall_poll` asks for",
        (_, _, Some(aspect), Some(reason)) => why(*aspect, *reason),
        (_, _, None, Some(reason)) => why(Aspect::Stall, *reason),
        (_, reason, _, None) => return format!("{}: {}", plain(aspect), plain(reason)),
    };
    format!("{}: {why}", plain(aspect))
}

/// What showed a stall.
pub fn stall(source: StallSource) -> &'static str {
    match source {
        StallSource::HeartbeatGap => "its heartbeat paused",
        StallSource::RunQueue => "waiting for a CPU",
        StallSource::OngoingRunQueue => "still waiting for a CPU",
        StallSource::Stopped => "stopped",
        StallSource::Frozen => "its cgroup frozen",
        StallSource::MemoryPressure => "waiting for memory",
        StallSource::IoPressure => "waiting for I/O",
        StallSource::Safepoint => "its JVM stopped the world",
        StallSource::BetweenSamples => "unseen between two samples",
        StallSource::DiskSleep => "asleep in state D",
    }
}

/// The state of a clock.
pub fn clock(status: ClockStatus) -> &'static str {
    match status {
        ClockStatus::Synchronized => "synchronized",
        ClockStatus::FreeRunning => "free running: its source was not heard of for long",
        ClockStatus::Local => "serves its own time as if it were true",
        ClockStatus::Unsynchronized => "not synchronized",
    }
}

/// What a server says of a lock over several.
pub fn ballot(ballot: Ballot) -> &'static str {
    match ballot {
        Ballot::Owner => "has its owner",
        Ballot::Other => "has another owner",
        Ballot::Nobody => "has no owner",
        Ballot::Refused => "does not say",
        Ballot::Silent => "does not answer",
    }
}

/// `one` or `many`, after the number.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A label value without its underscores.
pub fn plain(word: &str) -> String {
    word.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::catalogue;

    #[test]
    fn the_metric_of_each_signal_is_in_the_catalogue() {
        for signal in Signal::ALL {
            let name = metric(*signal);
            assert!(catalogue::all().any(|entry| entry.name == name), "{name}");
        }
    }

    #[test]
    fn what_is_not_seen_of_a_worker_reads_well() {
        let cases = [
            ("heartbeat", "unreachable", "heartbeat: its source does not answer"),
            ("threads", "permission", "threads: permission refused"),
            (
                "pressure",
                "unsupported",
                "pressure: its cgroup is the root, or this kernel keeps none (see the log; `psi=1`)",
            ),
            (
                "stall_resolution",
                "unsupported",
                "stall resolution: sampled less often than `stall_poll` asks for",
            ),
            ("new_thing", "new_reason", "new thing: new reason"),
        ];
        for (aspect, reason, text) in cases {
            assert_eq!(worker_blind(aspect, reason), text);
        }
    }

    #[test]
    fn reasons_point_to_what_can_be_configured() {
        use {Aspect as A, BlindReason as R};
        let cases = [
            (A::Holder, R::NotConfigured, "holder: not configured (set `holder`)"),
            (A::Heartbeat, R::NotConfigured, "heartbeat: not configured (see `workers`)"),
            (A::Process, R::OpaqueToken, "process: its token names no pid"),
            (A::Heartbeat, R::NoHistory, "heartbeat: no beat seen yet"),
            (A::Lease, R::Permission, "lease: permission refused"),
            (A::Clock, R::Unreachable, "clock: a chronyd does not answer"),
            (A::Stall, R::NotConfigured, "stall: not configured (see `workers`)"),
        ];
        for (aspect, reason, text) in cases {
            assert_eq!(blind(aspect, reason), text);
        }
    }
}
