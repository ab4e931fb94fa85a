//! Whether a lock's key could be deleted by hand now without that two owners work at once. Every check that this needs is
//! listed with what it found, so that whoever must decide sees what is left to find out. It is never said to be safe while
//! one of them cannot be judged.
//!
//! What is looked for: a holder that is proven to have ended and cannot come back, long enough ago for its last requests to
//! have arrived; nothing that renews in its place; one history of the key; and resources that would refuse a late write.

use super::{Aspect, BlindReason, HolderView, Liveness, LockView, OtherRenewer, Signal, StoreView};

/// Seconds that the last requests of a holder that has ended may be under way.
const LAST_REQUESTS: f64 = 10.0;
/// Usual renewals that must have been missing before nothing renews any more.
const MISSED: f64 = 3.0;
/// Processes that are named at most where it is not known which one it was.
const NAMED: usize = 5;

/// The answer, and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// `None` when something that it needs cannot be judged.
    pub safe: Option<bool>,
    /// Of the token that would be taken away, for the record; `None` without exactly one holder.
    pub fingerprint: Option<String>,
    /// In so many seconds the lease is over by itself, if nothing renews it.
    pub ends_by_itself_seconds: Option<f64>,
    /// All checks.
    pub checks: Vec<Check>,
}

/// One of the checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its name.
    pub what: &'static str,
    /// `None` when it cannot be judged.
    pub passed: Option<bool>,
    /// What was found, for a person.
    pub found: String,
}

fn check(what: &'static str, passed: Option<bool>, found: impl Into<String>) -> Check {
    Check { what, passed, found: found.into() }
}

/// Judges one lock of a store.
pub fn release(store: &StoreView, lock: &LockView) -> Release {
    let held = held(store, lock);
    if held.passed != Some(true) {
        let safe = held.passed;
        return Release {
            safe,
            fingerprint: None,
            ends_by_itself_seconds: None,
            checks: vec![held],
        };
    }
    let (one, holder) = one_holder(lock);
    let mut checks = vec![held, one];
    checks.push(ended(holder));
    checks.push(ended_long_ago(lock, holder));
    let not_renewed = not_renewed(lock, holder);
    let no_other = no_other_renewer(lock, not_renewed.passed);
    checks.extend([not_renewed, no_other]);
    checks.push(own_token(lock));
    checks.push(not_on_purpose(lock));
    checks.push(one_history(store, lock));
    checks.push(fenced(lock));
    let any = |wanted| checks.iter().any(|c| c.passed == wanted);
    Release {
        safe: if any(Some(false)) { Some(false) } else { (!any(None)).then_some(true) },
        fingerprint: holder.map(|h| h.fingerprint.clone()).filter(|f| !f.is_empty()),
        ends_by_itself_seconds: lock.remaining_seconds,
        checks,
    }
}

fn held(store: &StoreView, lock: &LockView) -> Check {
    let (passed, found) = match lock.held {
        Some(true) if store.fresh && lock.fresh => (Some(true), "it is held"),
        Some(false) if store.fresh && lock.fresh => (Some(false), "it is free: nothing to release"),
        _ => (None, "it was not read lately: what the key holds now is not known"),
    };
    check("held", passed, found)
}

fn one_holder(lock: &LockView) -> (Check, Option<&HolderView>) {
    let what = "one_holder";
    match lock.holders.as_slice() {
        _ if lock.votes.is_some() => {
            let found =
                "it is spread over several keys or servers; each would have to be looked at";
            (check(what, None, found), None)
        }
        [only] if lock.holders_beyond == 0 && lock.limit.is_none() => {
            (check(what, Some(true), "one owner has it"), Some(only))
        }
        _ => {
            let found = "deleting its key would take it from all of its holders";
            (check(what, Some(false), found), None)
        }
    }
}

fn ended(holder: Option<&HolderView>) -> Check {
    let (passed, found) = match holder.map(|h| h.liveness) {
        None => (None, "there is no single holder to judge"),
        Some(Liveness::Dead) => (Some(true), "its process is gone"),
        Some(Liveness::Alive) => (Some(false), "its holder is alive"),
        Some(Liveness::Stopped) => {
            (Some(false), "its process is stopped and may go on at any time")
        }
        Some(Liveness::Frozen) => {
            (Some(false), "its heartbeat stands still; whether its process may go on is not known")
        }
        Some(Liveness::Replaced) => {
            (None, "another process has its name or pid; whether the former has ended is not known")
        }
        Some(Liveness::Unlisted) => {
            (None, "no list of live workers names it, which does not prove that it has ended")
        }
        Some(Liveness::Unknown) => (None, "whether its holder lives is not known"),
    };
    check("holder_ended", passed, found)
}

/// What must have passed since the end.
fn grace(lock: &LockView) -> f64 {
    lock.renewal_period_seconds.map_or(0.0, |p| p * MISSED).max(LAST_REQUESTS)
}

fn ended_long_ago(lock: &LockView, holder: Option<&HolderView>) -> Check {
    let (what, grace) = ("ended_long_ago", grace(lock));
    match holder.and_then(|h| h.lost_seconds) {
        Some(lost) if lost >= grace => check(what, Some(true), format!("{lost:.0} s ago")),
        Some(lost) => {
            let found = format!("{lost:.0} s ago; wait until it is {grace:.0} s");
            check(what, Some(false), found)
        }
        None => check(what, None, "since when its holder has ended is not known"),
    }
}

fn not_renewed(lock: &LockView, holder: Option<&HolderView>) -> Check {
    let (what, grace) = ("not_renewed", grace(lock));
    let age = holder.and_then(|h| h.renewal_age_seconds).or(lock.renewal_age_seconds);
    let lost = holder.and_then(|h| h.lost_seconds);
    if judged(lock, Signal::RenewalAfterLostLiveness) == Some(true) {
        return check(what, Some(false), "something renews it although its holder has ended");
    }
    if lock.renewal_period_seconds.is_none() && lock.counts.renewals > 0 {
        return check(what, None, "how often it is renewed is not known yet");
    }
    match (age, lost) {
        (Some(age), Some(lost)) if age < lost => check(
            what,
            Some(false),
            format!("it was written {age:.0} s ago, after its holder ended"),
        ),
        (Some(age), Some(_)) if age >= grace => {
            check(what, Some(true), format!("it was last written {age:.0} s ago"))
        }
        (Some(age), Some(_)) => {
            let found = format!("it was written {age:.0} s ago; wait until that is {grace:.0} s");
            check(what, Some(false), found)
        }
        _ => check(what, None, "whether something renews it is not known"),
    }
}

/// Whether another process that renewed it could go on. One that stands still writes nothing, and may later.
fn no_other_renewer(lock: &LockView, not_renewed: Option<bool>) -> Check {
    let (passed, found) = match &lock.other_renewer {
        Some(OtherRenewer { pids, lives }) => {
            let (passed, who) = (lives.map(|l| !l), renewers(pids));
            let found = match (lives, pids.len() > 1) {
                (Some(true), false) => format!("{who} renewed it for its holder, and lives"),
                (Some(true), true) => {
                    format!("{who} renewed it for its holder, and all of them live")
                }
                (None, _) => {
                    format!("{who} renewed it for its holder; whether it lives is not known")
                }
                (Some(false), _) => {
                    format!("{who} renewed it for its holder, and has no connection left")
                }
            };
            (passed, found)
        }
        None if not_renewed == Some(true) => {
            (Some(true), "no other process was seen to renew it, and nothing does".to_owned())
        }
        None => (None, "who renews it is not known".to_owned()),
    };
    check("no_other_renewer", passed, found)
}

/// Who may have renewed, in words. Where several fit, nobody may be ended for it before it is known who it was.
fn renewers(pids: &[i32]) -> String {
    let named: Vec<String> = pids.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match pids.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match pids.len() {
        1 => format!("process {}", named.join("")),
        _ => format!("one of the processes {}{more} (the likeliest first)", named.join(", ")),
    }
}

fn own_token(lock: &LockView) -> Check {
    let is_reused = lock.blind.contains(&(Aspect::Token, BlindReason::ReusableToken));
    let (passed, found) = match is_reused {
        true => (None, "the same token may be another acquire's: it may be held by somebody else"),
        false => (Some(true), "its token is of one acquire"),
    };
    check("own_token", passed, found)
}

fn not_on_purpose(lock: &LockView) -> Check {
    let (passed, found) = match lock.left_to_expire {
        true => (false, "it is let run out on purpose: until then nobody else shall have it"),
        false => (true, "it is not let run out on purpose"),
    };
    check("not_left_to_expire", Some(passed), found)
}

fn one_history(store: &StoreView, lock: &LockView) -> Check {
    let is_up = |signal| judged(lock, signal) == Some(true);
    let (passed, found) = if is_up(Signal::Contested) {
        (Some(false), "two owners were valid at once")
    } else if store.primaries.is_some_and(|n| n > 1) || store.sentinels_disagree == Some(true) {
        (Some(false), "more than one server may be its primary")
    } else if is_up(Signal::ReplicaDiverged) {
        (Some(false), "a replica shows something else")
    } else if judged(lock, Signal::Contested).is_none() || store.primaries.is_none() {
        (None, "whether two owners or two primaries have it is not judged")
    } else {
        (Some(true), "one primary, one owner")
    };
    check("one_history", passed, found)
}

fn fenced(lock: &LockView) -> Check {
    let (passed, found) = match &lock.told.fencing {
        Some(f) if f.regressions.iter().any(|(_, n)| *n > 0) => {
            (Some(false), "a token went down: a resource accepts late writes of former holders")
        }
        Some(f) if f.accepted.is_empty() || f.accepted.iter().any(|(_, t)| t.is_none()) => {
            (None, "which tokens its resources accepted cannot be read")
        }
        Some(_) => (Some(true), "the tokens that its resources accepted never went down"),
        None => (None, "whether its resources would refuse a late write is not known: no fencing"),
    };
    check("fenced", passed, found)
}

fn judged(lock: &LockView, signal: Signal) -> Option<bool> {
    lock.signals.iter().find(|(s, _)| *s == signal).and_then(|(_, up)| *up)
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;
