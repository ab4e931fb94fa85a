//! After a pause longer than the lease a second worker acquires only after the lease is over on the server.

use super::keeps::expect_keeps;
use super::lost::{Lost, Search, search};
use super::takeover::{Takeover, takeover};
use super::{Criterion, Judgement, expect_one_owner, passed_over, secs};
use crate::outcome::Verdict;
use crate::prove::history::{History, Look};
use crate::prove::tenures::Tenure;

/// The criterion.
pub const CRITERION: Criterion = Criterion {
    name: "pause",
    about: "after a pause longer than the lease a second worker acquires only after the lease is over on the server, and the first \
            one does not take it back when it goes on",
    make: "let a second worker wait for the lock; freeze the holder (kill -STOP, cgroup.freeze, a VM's pause) for longer than its \
           lease; let it go on (kill -CONT) when you are asked to. If nothing shows that it goes on, press Enter then",
    watched: "the holder's liveness, its last expiry, the reads between which the second worker acquired, whose the lock is in the \
              two leases after the holder goes on",
    needs: "the lock by its `key`, and for its worker a `process` (on the exporter's host) or a `heartbeat`",
    judge,
};

pub(super) const STANDS: &str = "the holder stands still for as long as it has the lock";
/// Polls in which somebody should have looked at the holder.
const UNKNOWN: f64 = 10.0;
/// Leases, and polls at least, that are watched after the holder goes on.
const WAKES: f64 = 2.0;
const SETTLE: f64 = 6.0;
const KEEPS: &str = "the old holder does not take it back when it goes on";
const AFTER: &str = "another worker acquires only after the lease is over on the server";

fn judge(history: &History) -> Judgement {
    let lost = match search(history, &["stopped", "frozen"]) {
        Search::Lost(lost) => *lost,
        other => return waits(history, &other, STANDS, "the pause: freeze the holder"),
    };
    let mut judgement = Judgement::default();
    let seconds = |n: usize| history.looks.get(n).map_or(0.0, |l| l.seconds);
    let fault = seconds(lost.lost);
    judgement.fault = Some(fault);
    judgement.saw(fault, format!("{} is {}", lost.tenure.who(), lost.liveness));
    let next = history.tenures.after(&lost.tenure).next().cloned();
    expect_stands(&mut judgement, history, &lost);

    let mut is_over = false;
    match &next {
        None => {
            judgement.waiting = Some(match lost.tenure.over {
                None => format!("the end of the lease of {}", lost.tenure.who()),
                Some(_) => "another worker to acquire".to_owned(),
            });
            judgement.expect(AFTER, None, None, renewed(history, &lost));
        }
        Some(next) => {
            judgement.saw(next.seen, format!("{} has the lock", next.who()));
            let (verdict, detail) = match takeover(history, &lost.tenure, next) {
                Takeover::Open => {
                    judgement.waiting = Some("how the lease ended".to_owned());
                    (None, String::new())
                }
                Takeover::AfterExpiry(how) => (Some(Verdict::Pass), how),
                Takeover::Early(how) => (Some(Verdict::Fail), how),
                Takeover::Released(how) => (
                    Some(Verdict::NotJudged),
                    format!("{how}; it did not stand still until its lease was over"),
                ),
                Takeover::Unclear(why) => (Some(Verdict::NotJudged), why),
            };
            is_over = verdict.is_some();
            judgement.expect(AFTER, verdict, Some(next.seen), detail);
            // Where that is not as it should be, the rest says nothing of a pause.
            if is_over && judgement.is_all_well() {
                is_over = expect_wakes(&mut judgement, history, &lost, next);
            }
        }
    }
    expect_one_owner(&mut judgement, history, fault, is_over);
    judgement
}

/// What the holder does when it goes on; whether all of that was seen.
fn expect_wakes(judgement: &mut Judgement, history: &History, lost: &Lost, next: &Tenure) -> bool {
    let old = &lost.tenure;
    let lease = history.last().and_then(|l| l.document.lock.lease.length_seconds).unwrap_or(0.0);
    let settle = (lease * WAKES).max(history.poll * SETTLE);
    let now = history.last().map_or(0.0, |l| l.seconds);
    let back = woken(history, old, next);
    let is_settled = back.is_some_and(|at| now >= at + settle);
    match back {
        None => {
            judgement.waiting = Some(format!(
                "{who} to go on: now let {who} go on (kill -CONT); press Enter when it does, if that is not seen",
                who = old.who()
            ));
        }
        Some(at) => {
            judgement.saw(at, format!("{} goes on", old.who()));
            if !is_settled {
                judgement.waiting = Some(format!(
                    "what {} does in the {} after it goes on: leave everything alone",
                    old.who(),
                    secs(settle)
                ));
            }
        }
    }
    expect_keeps(judgement, KEEPS, history, (old, next), is_settled);
    is_settled
}

/// When the holder was seen to go on after the other one had the lock, or the user said so.
fn woken(history: &History, old: &Tenure, next: &Tenure) -> Option<f64> {
    let told = history.told.filter(|told| *told >= next.seen);
    let worker = old.worker.as_ref();
    let mut later = history.since(old.over.unwrap_or(next.seen).max(next.seen));
    let is_back =
        |l: &&Look| worker.and_then(|w| l.workers.get(w)).and_then(|w| w.is_lost()) == Some(false);
    let seen = later.find(is_back).map(|l| l.seconds);
    told.into_iter().chain(seen).reduce(f64::min)
}

/// That the holder was lost until its lease was over, by the worker's own liveness in a look that came later.
pub(super) fn expect_stands(judgement: &mut Judgement, history: &History, lost: &Lost) {
    let Some(over) = lost.tenure.over else {
        judgement.expect(STANDS, None, None, "");
        return;
    };
    let look = history.looks.iter().find(|l| l.seconds >= over);
    let is_lost =
        look.zip(lost.tenure.worker.as_ref()).and_then(|(l, w)| l.workers.get(w)?.is_lost());
    let (verdict, detail) = match is_lost {
        Some(true) => (Verdict::Pass, String::new()),
        Some(false) => (
            Verdict::NotJudged,
            format!("{} was back when its lease ended: pause it for longer", lost.tenure.who()),
        ),
        None => (
            Verdict::NotJudged,
            "how the worker was when its lease ended is not known: its holder names no worker"
                .to_owned(),
        ),
    };
    judgement.expect(STANDS, Some(verdict), Some(over), detail);
}

/// What is waited for, or what is missing, while nobody is lost.
pub(super) fn waits(
    history: &History,
    search: &Search,
    what: &'static str,
    fault: &str,
) -> Judgement {
    let mut judgement = waited(history, search, what, fault);
    passed_over::tell(&mut judgement, history);
    judgement
}

fn waited(history: &History, search: &Search, what: &'static str, fault: &str) -> Judgement {
    if history.tenures.is_missing {
        return Judgement::cannot(
            what,
            "the exporter keeps no tenures of this lock: name it by its `key` in the exporter's config",
        );
    }
    let watched = history.last().map_or(0.0, |l| l.seconds);
    match search {
        Search::NoHolder => Judgement::waits("a worker to hold the lock"),
        Search::NoLiveness { since } if history.polls(watched - since) > UNKNOWN => {
            let reasons = history.last().map(|l| {
                let blind = l.document.lock.cannot_be_judged.iter();
                blind
                    .filter(|c| ["holder", "heartbeat", "process"].contains(&c.aspect.as_str()))
                    .map(|c| format!("{} ({})", c.aspect, c.reason))
                    .collect::<Vec<_>>()
                    .join(", ")
            });
            let reasons =
                reasons.filter(|r| !r.is_empty()).map_or(String::new(), |r| format!(": {r}"));
            Judgement::cannot(
                what,
                format!(
                    "nothing tells whether the holder lives{reasons}; configure for its worker a `process` or a `heartbeat`, and how \
                     a token names the worker (`holder`)"
                ),
            )
        }
        Search::NoLiveness { .. } => Judgement::waits("a sign of life of the holder"),
        Search::Alive { who, returns: 0 } => Judgement::waits(format!("{fault} now ({who})")),
        Search::Alive { who, .. } => Judgement::waits(format!(
            "{fault} again, for longer ({who}; it was back before its lease was over)"
        )),
        Search::Lost(_) => Judgement::waits(fault),
    }
}

/// A lease that goes on while its holder stands still is a finding of its own.
fn renewed(history: &History, lost: &Lost) -> String {
    let at = |n: usize| history.looks.get(n).and_then(|l| l.document.lock.lease.expiry_timestamp);
    let later = history.looks.len().checked_sub(1).filter(|_| lost.tenure.over.is_none());
    match at(lost.lost).zip(later.and_then(at)) {
        Some((then, now)) if now > then + 0.5 => format!(
            "the lease is still renewed, by {} since the holder stood still: something else renews it (see `renewal`)",
            secs(now - then)
        ),
        _ => String::new(),
    }
}
