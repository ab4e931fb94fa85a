//! How a lock came from one owner to the next: after the lease was over, let go of, or taken too early. By the server's clock alone:
//! the first one's last expiry, and the reads between which the second one acquired.

use super::secs;
use crate::prove::history::{History, Look, is_lost};
use crate::prove::tenures::Tenure;

/// Two timestamps of the server are told apart from this on: expiries are exact to a millisecond.
const EXACT: f64 = 0.001;
/// Within this share of a lease nobody acquires and renews.
const SHORT: f64 = 0.2;
/// Polls until it is known how a tenure ended.
const SETTLED: f64 = 6.0;

/// How the lock changed hands.
#[derive(Clone, Debug, PartialEq)]
pub enum Takeover {
    /// It is not known yet.
    Open,
    /// The lease was over before.
    AfterExpiry(String),
    /// The first one let go of it.
    Released(String),
    /// The second one had it while the first one's lease still ran, and the first one did not let go.
    Early(String),
    /// It cannot be told, and why.
    Unclear(String),
}

/// Judges how `to` got the lock from `from`.
pub fn takeover(history: &History, from: &Tenure, to: &Tenure) -> Takeover {
    if from.is_same_worker(to) {
        return Takeover::Unclear(format!(
            "{} acquired it again itself: let a second worker wait for it",
            from.who()
        ));
    }
    let since = history.last().map_or(0.0, |l| l.seconds) - to.seen;
    let Some(evidence) = from.evidence.as_deref() else {
        if history.polls(since) < SETTLED {
            return Takeover::Open;
        }
        return by_bounds(history, from, to);
    };
    match evidence {
        "overwritten" => Takeover::Early(format!(
            "{} wrote over the token of {} (keyspace events show it)",
            to.who(),
            from.who()
        )),
        "lapsed" => Takeover::AfterExpiry(format!(
            "the lease of {} was seen to run out on the server, and {} acquired after it{}",
            from.who(),
            to.who(),
            gap(from, to)
        )),
        "released" | "unknown" => by_bounds(history, from, to),
        other => Takeover::Unclear(format!(
            "the server lost the lock meanwhile ({other}): that is another fault than this one; make the fault again"
        )),
    }
}

fn by_bounds(history: &History, from: &Tenure, to: &Tenure) -> Takeover {
    let is_released = from.evidence.as_deref() == Some("released");
    let Some(first) = to.first else {
        return Takeover::Unclear(
            "the exporter does not tell when it saw the successor".to_owned(),
        );
    };
    let exactly = acquired(history, from, to);
    let (after, seen) = (exactly.map(|at| at - EXACT).or(to.after), exactly.unwrap_or(first));
    match (from.expiry, after) {
        (Some(end), Some(after)) if after + EXACT >= end => {
            let how = match exactly {
                Some(at) => format!(
                    "by its own expiry {} acquired {} after the lease of {} was over",
                    to.who(),
                    secs((at - end).max(0.0)),
                    from.who()
                ),
                None => format!(
                    "the lock was seen without {} {} after the lease of {} was over",
                    to.who(),
                    secs(after - end),
                    from.who()
                ),
            };
            return Takeover::AfterExpiry(format!("{how}{}", gap(from, to)));
        }
        (Some(end), _) if seen + EXACT >= end => {
            let early = after.or(from.last).map_or(f64::INFINITY, |after| end - after);
            if is_released {
                return Takeover::Released(format!("{} let go of it{}", from.who(), gap(from, to)));
            }
            return Takeover::Unclear(format!(
                "{} acquired between {} before the end of the lease and {} after it: both lie between two reads; make the fault \
                 again, or shorten poll_interval",
                to.who(),
                secs(early),
                secs(seen - end)
            ));
        }
        _ => {}
    }
    // It was acquired while the lease still ran.
    let left = from.expiry.map_or("without an end".to_owned(), |end| {
        format!("of which at least {} was left", secs(end - seen))
    });
    match was_lost(history, from, to) {
        Some(true) => Takeover::Early(format!(
            "{} had the lock while {}, which could not let go of it, had a lease {left}",
            to.who(),
            from.who()
        )),
        Some(false) if is_released => Takeover::Released(format!(
            "{} was alive and let go of it{}",
            from.who(),
            gap(from, to)
        )),
        _ => Takeover::Unclear(format!(
            "{} had the lock while {} had a lease {left}; whether that let go of it is not known: turn on keyspace events, or \
             name its worker and where it beats",
            to.who(),
            from.who()
        )),
    }
}

/// When the second one acquired by its own expiry, less the length of the lease as it is configured: where the reads around it
/// leave no time for a renewal, and agree.
fn acquired(history: &History, from: &Tenure, to: &Tenure) -> Option<f64> {
    // As it was known then: what is learned later must not turn a verdict.
    let look = history.looks.iter().find(|l| l.seconds >= to.seen)?;
    let lease = &look.document.lock.lease;
    let length =
        lease.length_seconds.filter(|_| lease.length_source.as_deref() == Some("config"))?;
    let (before, first) = (to.after.or(from.last)?, to.first?);
    let at = to.first_expiry? - length;
    let is_between = at >= before - EXACT && at <= first + EXACT;
    let usual = lease.renewal_period_seconds.map_or(f64::INFINITY, |period| period * 0.8);
    (is_between && first - before <= usual.min(length * SHORT)).then_some(at)
}

/// Whether the first one was lost from before its tenure ended until the second one was seen; `None` if that is not known.
fn was_lost(history: &History, from: &Tenure, to: &Tenure) -> Option<bool> {
    let with = |look: &&Look| look.liveness(&from.fingerprint).is_some();
    let before = history.looks.iter().rev().filter(|l| l.seconds <= to.seen).find(with)?;
    let liveness = before.liveness(&from.fingerprint)?;
    if liveness == "unknown" {
        return None;
    }
    if !is_lost(liveness) {
        return Some(false);
    }
    let worker = from.worker.as_ref()?;
    let after = history.looks.iter().find(|l| l.seconds >= to.seen)?;
    match after.workers.get(worker)?.is_lost()? {
        true => Some(true),
        // It came back in between, and may have let go.
        false => None,
    }
}

/// How long nobody had it, between its bounds.
pub fn gap(from: &Tenure, to: &Tenure) -> String {
    let least = to.after.zip(from.gone).map_or(0.0, |(after, gone)| (after - gone).max(0.0));
    match to.first.zip(from.last) {
        Some((first, last)) if least > 0.0 => {
            format!("; nobody had it for {} to {}", secs(least), secs(first - last))
        }
        Some((first, last)) => format!("; nobody had it for at most {}", secs(first - last)),
        None => String::new(),
    }
}
