//! After a partition heals the old holder does not reassert a lock that was reassigned, and the resource refuses its old token.

use super::keeps::expect_keeps;
use super::lost::{Search, search};
use super::needs::unmet;
use super::takeover::{Takeover, takeover};
use super::{Criterion, Judgement, secs};
use crate::outcome::Verdict;
use crate::prove::history::{History, Look};
use crate::prove::judge::pause::waits;
use crate::prove::tenures::Tenure;

/// The criterion.
pub const CRITERION: Criterion = Criterion {
    name: "partition",
    about: "after a partition heals the old holder does not reassert a lock that was reassigned, and the resource refuses its old \
            token",
    make: "let a second worker wait for the lock; cut the holder off from the lock server (not from the resource) until the second \
           one has the lock, let that do some work, then heal. If the holder's heartbeat goes another way, press Enter when it is \
           healed",
    watched: "how the lease ends, who has the lock after it, heartbeats that return, tokens that the resource accepts and refuses",
    needs: "the lock by its `key`; for its worker a `heartbeat` in the same server; `fencing` with `accepted` and `rejected`",
    judge,
};

const AFTER: &str = "the lock is reassigned only after the lease is over on the server";
const KEEPS: &str = "the old holder does not reassert it";
const REFUSES: &str = "the resource refuses the old token";
/// Polls after the heal in which nothing may happen; a lease at least.
const SETTLE: f64 = 6.0;
/// Looks at a heart that stands still, in polls, before its next beat says that it is back.
const STILL: f64 = 2.0;

fn judge(history: &History) -> Judgement {
    let Some((old, next, fault)) = reassigned(history) else {
        if let Some(unmet) = unmet(history, REFUSES, lacks) {
            return unmet;
        }
        return match search(history, &["frozen", "stopped", "unlisted"]) {
            Search::Lost(lost) => {
                let at = history.looks.get(lost.lost).map_or(0.0, |l| l.seconds);
                let mut judgement = Judgement::waits("another worker to acquire: leave it cut off");
                judgement.fault = Some(at);
                judgement.saw(at, format!("{} is {}", lost.tenure.who(), lost.liveness));
                judgement
            }
            other => waits(
                history,
                &other,
                KEEPS,
                "the partition: cut the holder off from the lock server",
            ),
        };
    };
    let mut judgement = Judgement { fault: Some(fault), ..Judgement::default() };
    judgement.saw(next.seen, format!("{} has the lock after {}", next.who(), old.who()));
    expect_after(&mut judgement, history, &old, &next);
    let healed = healed(history, &old, &next);
    match healed {
        Some(at) => judgement.saw(at, format!("{} is back", old.who())),
        None => {
            // Back at once it may find out before it works, and nothing would be refused.
            let is_refused = history.risen(next.seen, rejections) != Some(0);
            let once = if is_refused { "" } else { ", once it tried to work with its old token" };
            judgement.waiting = Some(format!(
                "the heal{once}: let {} reach the lock server again, and press Enter then if that is not seen",
                old.who()
            ));
        }
    }
    let lease = history.last().and_then(|l| l.document.lock.lease.length_seconds).unwrap_or(0.0);
    let settle = lease.max(history.poll * SETTLE);
    let now = history.last().map_or(0.0, |l| l.seconds);
    let is_settled = healed.is_some_and(|at| now >= at + settle);
    if healed.is_some() && !is_settled {
        judgement.waiting = Some(format!(
            "what {} does in the {} after the heal: leave everything alone",
            old.who(),
            secs(settle)
        ));
    }
    expect_keeps(&mut judgement, KEEPS, history, (&old, &next), is_settled);
    expect_refuses(&mut judgement, history, &next, is_settled);
    judgement
}

/// The tenure that was cut short, the one after it, and when the first one was over.
fn reassigned(history: &History) -> Option<(Tenure, Tenure, f64)> {
    let all = history.tenures.all();
    let pairs = all.iter().zip(all.iter().skip(1));
    // A hand-over that was a release is no partition.
    let mut pairs = pairs.filter(|(old, next)| {
        !old.is_same_worker(next)
            && old.fingerprint != next.fingerprint
            && old.evidence.as_deref() != Some("released")
    });
    let found = pairs.find(|(old, next)| {
        old.evidence.as_deref().is_some_and(|e| e != "unknown")
            || was_cut(history, old)
            || matches!(takeover(history, old, next), Takeover::AfterExpiry(_))
    });
    found.map(|(old, next)| (old.clone(), next.clone(), old.over.unwrap_or(next.seen)))
}

/// Whether something showed that it was cut off: its liveness was lost, or a renewal overdue.
fn was_cut(history: &History, old: &Tenure) -> bool {
    let own = history.looks.iter().filter(|l| l.liveness(&old.fingerprint).is_some());
    own.clone().any(|l| {
        l.signal("renewal_overdue") == Some(true)
            || l.liveness(&old.fingerprint).is_some_and(crate::prove::history::is_lost)
    })
}

fn expect_after(judgement: &mut Judgement, history: &History, old: &Tenure, next: &Tenure) {
    let (verdict, text) = match takeover(history, old, next) {
        Takeover::Open => {
            judgement.waiting = Some("how the lease ended".to_owned());
            (None, String::new())
        }
        Takeover::AfterExpiry(how) => (Some(Verdict::Pass), how),
        Takeover::Early(how) => (Some(Verdict::Fail), how),
        Takeover::Released(how) => (Some(Verdict::NotJudged), format!("{how}: it was not cut off")),
        Takeover::Unclear(why) => (Some(Verdict::NotJudged), why),
    };
    judgement.expect(AFTER, verdict, Some(next.seen), text);
}

/// Gaps between beats from which on it is known what is usual.
const GAPS: usize = 4;

/// When the old holder was seen to be back: by its heart, which stood still when its lease ended and for longer than it usually does,
/// or by the user's word.
fn healed(history: &History, old: &Tenure, next: &Tenure) -> Option<f64> {
    if let Some(told) = history.told.filter(|told| *told >= next.seen) {
        return Some(told);
    }
    let worker = old.worker.as_ref()?;
    let over = old.over?;
    let usual = usual_gap(history, old, worker).unwrap_or(0.0);
    let long = (usual * 3.0).max(history.poll * STILL);
    let mut since: Option<(f64, f64)> = None;
    let mut was_still = false;
    for look in &history.looks {
        let Some(now) = look.workers.get(worker).and_then(|w| w.heartbeats) else { continue };
        match since {
            Some((at, count)) if count == now => {
                // The last beat before it is seen a poll later, as its end may be.
                let is_since = at <= over + history.poll && look.seconds >= over;
                was_still |= look.seconds - at >= long && is_since;
            }
            Some(_) if was_still && !look.is_after_restart && look.seconds > next.seen => {
                return Some(look.seconds);
            }
            _ => (since, was_still) = (Some((look.seconds, now)), false),
        }
    }
    None
}

/// The usual time between two beats of its heart while it had the lock.
fn usual_gap(history: &History, old: &Tenure, worker: &str) -> Option<f64> {
    let mut own = history.looks.iter().rev();
    let look = own.find(|l| l.liveness(&old.fingerprint).is_some())?;
    let beats = look.document.recent.beats.iter().find(|b| b.worker == worker)?;
    let ages = beats.ages_seconds.iter();
    let mut gaps: Vec<f64> =
        ages.clone().zip(ages.skip(1)).map(|(earlier, later)| earlier - later).collect();
    gaps.sort_by(f64::total_cmp);
    // Of a few a single stall would be the usual one.
    gaps.get(gaps.len() / 2).copied().filter(|_| gaps.len() >= GAPS)
}

fn expect_refuses(judgement: &mut Judgement, history: &History, next: &Tenure, is_settled: bool) {
    let last = history.last();
    let at = last.map(|l| l.seconds);
    if let Some(text) = accepted_old(history, next.seen) {
        return judgement.expect(REFUSES, Some(Verdict::Fail), at, text);
    }
    if let Some(text) = last.and_then(lacks) {
        return judgement.expect(REFUSES, Some(Verdict::NotJudged), at, text);
    }
    let refused = history.risen(next.seen, rejections).unwrap_or(0);
    if refused > 0 {
        let noun = if refused == 1 { "write" } else { "writes" };
        let base = history.since(next.seen).find_map(rejections);
        let rose = |l: &&Look| rejections(l).zip(base).is_some_and(|(now, then)| now > then);
        let seen = history.since(next.seen).find(rose).map(|l| l.seconds).or(at);
        // It may still accept one.
        let verdict = is_settled.then_some(Verdict::Pass);
        let text = format!("{refused} {noun} refused since {} has the lock", next.who());
        return judgement.expect(REFUSES, verdict, seen, text);
    }
    let verdict = is_settled.then_some(Verdict::NotJudged);
    let text = "no refused write was seen: let the old holder try to work with its old token";
    judgement.expect(REFUSES, verdict, None, text);
}

/// What is not configured, or was not read yet, and has to be.
fn lacks(look: &Look) -> Option<String> {
    let text = match &look.document.lock.fencing {
        None => {
            "no fencing source is configured: add `fencing` with `accepted` and `rejected` to the lock"
        }
        Some(f) if f.accepted.is_empty() => {
            "no source says what the resource accepted: add `accepted` to the lock's `fencing`"
        }
        Some(f) if f.rejections.is_empty() => {
            "no source says what the resource refused: add `rejected` to the lock's `fencing`"
        }
        Some(_) => return None,
    };
    Some(text.to_owned())
}

/// Writes that all resources refused.
pub(super) fn rejections(look: &Look) -> Option<u64> {
    let fencing = look.document.lock.fencing.as_ref().filter(|f| !f.rejections.is_empty())?;
    Some(fencing.rejections.values().sum())
}

/// That a resource accepted an older token after a newer one, since then.
pub(super) fn accepted_old(history: &History, since: f64) -> Option<String> {
    let regressions = |look: &Look| {
        let fencing = look.document.lock.fencing.as_ref()?;
        Some(fencing.regressions.iter().filter(|(r, _)| !r.is_empty()).map(|(_, n)| n).sum())
    };
    let fell = history.risen(since, regressions).unwrap_or(0);
    (fell > 0).then(|| "a resource accepted an older token after a newer one".to_owned())
}
