//! Faults that no test can see, each with the reason. What is not listed here must be seen.

/// The beginning of a survivor's line, and why it may survive.
const ALLOWED: &[(&str, &str)] = &[
    ("holders.yml: DlockHolderUnobserved (critical): max and min", "every value is 1: who holds"),
    ("holders.yml: DlockHolderUnobserved (warning): max and min", "every value is 1: who holds"),
    ("recording.yml: dlock:holder:info: max and min", "every value is 1: who holds"),
    ("recording.yml: dlock:recent_holder:info: max and min", "every value is 1: who held"),
    (
        "watching.yml: DlockWorkerCoverageLost (info): max and min",
        "every value is 1: the series is absent otherwise",
    ),
    (
        "watching.yml: DlockStoreUnwatched (critical): max and min: the other in max by (store) (last_over_time",
        "the value does not matter, only whether there is one",
    ),
    (
        "locks.yml: DlockHolderReplaced (warning): max and min: the other in max by (store, lock) (dlock:holder:info",
        "two holders at once are a semaphore, which is left out, or a handover, which is shorter than the for",
    ),
    (
        "recording.yml: dlock:lock:renewed_after_lost_seconds: max and min: the other in max by (store, lock) ((dlock",
        "two lost holders of one lock at once are a semaphore, which is left out",
    ),
    (
        "recording.yml: dlock:lock:holder_lost_seconds: threshold: >= 0",
        "lost for exactly the slack: an instant",
    ),
];

/// Whether the survivor is listed.
pub fn is(line: &str) -> bool {
    ALLOWED.iter().any(|(begin, _)| line.starts_with(begin))
}

/// What is listed and did not survive.
pub fn idle(survivors: &[String]) -> Vec<String> {
    let begins = ALLOWED.iter().map(|(begin, _)| *begin);
    let idle = begins.filter(|begin| !survivors.iter().any(|s| s.starts_with(begin)));
    idle.map(str::to_owned).collect()
}
