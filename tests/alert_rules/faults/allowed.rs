//! Faults that no test can see, or that none should, each with the reason. What is not listed here must be seen.

/// Parts that a survivor's line has, in this order, and why it may survive.
const ALLOWED: &[(&[&str], &str)] = &[
    (
        &["matcher: no worker!=\"\""],
        "nothing is known of a worker without a name, so that a join with it finds nothing anyway",
    ),
    (&["on: no job in"], "an address is scraped by one job; naming both is the custom"),
    (
        &["DlockHolderUnobserved", "max and min", "(dlock:holder:info"],
        "every value is 1: who holds",
    ),
    (&["DlockShardMissing", "max and min"], "every value is 1: who watches which share"),
    (&["dlock:holder:info: max and min"], "every value is 1: who holds"),
    (
        &["dlock:store_signal:locks_shown: max and min"],
        "every value is 1: which locks show the signal",
    ),
    (&["dlock:worker:dead: max and min"], "every value is 1: which worker is dead"),
    (&["dlock:recent_holder:info: max and min"], "every value is 1: who held"),
    (
        &["DlockExpiredUnderHolder", "max and min", "(dlock_lock_previous_holder_info"],
        "every value is 1: who held, alive",
    ),
    (
        &["DlockWorkerCoverageLost", "max and min"],
        "every value is 1: the series is absent otherwise",
    ),
    (&["dlock:worker:dead: arithmetic"], "the value does not matter, only whether there is one"),
    (
        &["DlockStoreUnwatched", "on: no instance in"],
        "another exporter of the job that shows the locks is a watch, which is left out below",
    ),
    (
        &["DlockStoreUnwatched", "range:"],
        "how long it is remembered that somebody read the locks: tested for dlock_store_up",
    ),
    (
        &["DlockExpiredUnderHolder", "range: 1500s in dlock_store_lease_ends_total"],
        "how long a step explains an end: the end itself must be newer than five minutes",
    ),
    (
        &["DlockStoreUnwatched", "max and min"],
        "the value does not matter, only whether there is one",
    ),
    (&["max and min", "_total > 0 unless"], "the value does not matter, only whether there is one"),
    (
        &["DlockLeaseShorterThanStall", "max and min", "in max by (store, lock) ((dlock:recent"],
        "the value does not matter: the description asks for it again",
    ),
    (
        &["DlockLeaseMayBeShorterThanStall", "matcher: no bound"],
        "the lower bound is never above the upper one",
    ),
    (
        &["DlockHolderReplaced", "max and min", "(dlock:holder:info"],
        "two holders at once are a semaphore, left out, or a handover, shorter than the for",
    ),
    (
        &["dlock:lock:renewed_after_lost_seconds", "max and min", "((dlock:holder:renewed"],
        "two lost holders at once are a semaphore, left out",
    ),
    (
        &["dlock:lock:renewed_after_lost_seconds", "on: no worker in unless"],
        "two lost holders at once are a semaphore, left out",
    ),
    (&["dlock:lock:holder_lost_seconds: threshold: >"], "a few seconds beside the slack"),
    (
        &["DlockHolderThrottled", "range:", "cpu_waiting"],
        "waits for a CPU and throttling go together, also over another range",
    ),
    (
        &["DlockExpiredUnderHolder", "range: 4500s in dlock_worker_restarts_total"],
        "how long a restart excuses is a guess",
    ),
    (
        &["DlockStoreClockStepped (warning): max and min", "abs("],
        "two exporters that see a step see it as large",
    ),
];

fn has(line: &str, parts: &[&str]) -> bool {
    let mut rest = line;
    parts.iter().all(|part| {
        let found = rest.find(part);
        rest = found.map_or("", |at| &rest[at + part.len()..]);
        found.is_some()
    })
}

/// Whether the survivor is listed.
pub fn is(line: &str) -> bool {
    ALLOWED.iter().any(|(parts, _)| has(line, parts))
}

/// What is listed and did not survive.
pub fn idle(survivors: &[String]) -> Vec<String> {
    let idle = ALLOWED.iter().filter(|(parts, _)| !survivors.iter().any(|s| has(s, parts)));
    idle.map(|(parts, why)| format!("{}: {why}", parts.join(" ... "))).collect()
}
