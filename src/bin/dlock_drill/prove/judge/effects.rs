//! Exactly one effect per logical request, and the second attempt needs a higher token.

use super::needs::unmet;
use super::partition::{accepted_old, rejections};
use super::takeover::{Takeover, takeover};
use super::{Criterion, Judgement};
use crate::outcome::Verdict;
use crate::prove::history::{History, Look, is_lost};
use crate::prove::tenures::Tenure;

/// The criterion.
pub const CRITERION: Criterion = Criterion {
    name: "effects",
    about: "exactly one effect per logical request, the second attempt needing a higher token",
    make: "cut a holder off in the middle of a request (kill or freeze it, or cut it off), let a second worker take the lock and try \
           the same request again, and let the first one go on, if it can",
    watched: "the hand-over, the tokens that are given and accepted, writes that are refused, effects and requests of each resource",
    needs: "the lock by its `key`; `effects` with `total` and `distinct`; `fencing` with `issued` or `accepted`",
    judge,
};

const ONE: &str = "one effect for each request";
const HIGHER: &str = "the second attempt has a higher token";
const FENCED: &str = "no older token is accepted after it";
/// Polls after the second attempt in which duplicates show.
const SETTLE: f64 = 8.0;

fn judge(history: &History) -> Judgement {
    if let Some(unmet) = unmet(history, ONE, lacks) {
        return unmet;
    }
    let last = history.last().map_or(0.0, |l| l.seconds);
    let mut judgement = Judgement::default();
    let attempts = second_attempt(history);
    if attempts.is_none() {
        judgement.waiting = Some(if history.present().is_some() {
            "the first attempt to be cut off in the middle of a request, and a second one"
                .to_owned()
        } else {
            "a worker to hold the lock".to_owned()
        });
    }
    let settled = attempts.as_ref().map(|(.., second)| second.seen + history.poll * SETTLE);
    let has_worked = attempts
        .as_ref()
        .is_some_and(|(seen, ..)| history.risen(*seen, total).is_some_and(|n| n > 0));
    let is_settled = has_worked && settled.is_some_and(|at| last >= at);
    if let Some((_, first, second)) = &attempts {
        judgement.fault = Some(first.over.unwrap_or(second.seen));
        judgement.saw(second.seen, format!("{} has the lock after {}", second.who(), first.who()));
        if !is_settled {
            judgement.waiting = Some(if has_worked {
                "the second attempt to be counted".to_owned()
            } else {
                let who = second.who();
                format!(
                    "an effect of the second attempt: no effect was seen since {who} has the lock (if the first one's took place, let \
                     {who} do another request)"
                )
            });
        }
    }
    expect_one(&mut judgement, history, is_settled);
    expect_higher(&mut judgement, history, attempts.as_ref().map(|(_, f, s)| (f, s)), is_settled);
    let (verdict, text) = match accepted_old(history, 0.0) {
        Some(text) => (Some(Verdict::Fail), text),
        None => {
            let refused = history.risen(0.0, rejections);
            let told = refused
                .map_or(String::new(), |n| format!("{n} writes with an older one were refused"));
            (is_settled.then_some(Verdict::Pass), told)
        }
    };
    judgement.expect_besides(FENCED, verdict, Some(last), text);
    judgement
}

/// What is not configured, or cannot be read, and has to be.
fn lacks(look: &Look) -> Option<String> {
    let lock = &look.document.lock;
    if lock.effects.is_empty() {
        let text =
            "no source counts effects: add `effects` with `total` and `distinct` to the lock";
        return Some(text.to_owned());
    }
    if let Some(one) = lock.effects.iter().find(|e| e.duplicates.is_none()) {
        let who = &one.resource;
        let text = format!(
            "no source counts the requests of {who}: add `distinct` to the lock's `effects`"
        );
        return Some(text);
    }
    let fencing = lock.fencing.as_ref();
    let has_tokens = fencing.is_some_and(|f| f.issued.is_some() || !f.accepted.is_empty());
    let text =
        "no fencing source is configured: add `fencing` with `issued` or `accepted` to the lock";
    (!has_tokens).then(|| text.to_owned())
}

/// The first attempt that was cut off, with the one after it, and when that was over.
fn second_attempt(history: &History) -> Option<(f64, Tenure, Tenure)> {
    let all = history.tenures.all();
    let mut pairs = all.iter().zip(all.iter().skip(1));
    let found = pairs.find(|(first, second)| {
        let is_let_go = first.evidence.as_deref() == Some("released");
        let own = history.looks.iter().filter(|l| l.liveness(&first.fingerprint).is_some());
        let was_lost = own.clone().any(|l| l.liveness(&first.fingerprint).is_some_and(is_lost));
        let was_refused = history.risen(second.seen, rejections).is_some_and(|n| n > 0);
        let is_known = first.evidence.as_deref().is_some_and(|e| e != "unknown");
        let ran_out = || matches!(takeover(history, first, second), Takeover::AfterExpiry(_));
        was_lost || was_refused || (is_known && !is_let_go) || ran_out()
    });
    found.map(|(first, second)| (second.seen, first.clone(), second.clone()))
}

/// Effects on all resources.
fn total(look: &Look) -> Option<u64> {
    let effects = &look.document.lock.effects;
    (!effects.is_empty()).then(|| effects.iter().map(|e| e.total).sum())
}

fn expect_one(judgement: &mut Judgement, history: &History, is_settled: bool) {
    let last = history.last().map(|l| l.seconds);
    let duplicates =
        |look: &Look| look.document.lock.effects.iter().map(|e| e.duplicates).sum::<Option<u64>>();
    let twice = history.risen(0.0, duplicates);
    let all = history.risen(0.0, total);
    if let Some(twice) = twice.filter(|n| *n > 0) {
        let noun = if twice == 1 { "effect" } else { "effects" };
        let text = format!("{twice} {noun} beyond one for each request");
        return judgement.expect(ONE, Some(Verdict::Fail), last, text);
    }
    if !is_settled {
        return judgement.expect(ONE, None, None, "");
    }
    let (verdict, text) = match (twice, all) {
        // Counts are kept where the effects are, so that no read is missed; but a new run of the exporter begins with what is there.
        _ if history.has_restart(0.0, f64::INFINITY) => (
            Verdict::NotJudged,
            "the exporter was started anew meanwhile: make the fault again".to_owned(),
        ),
        (Some(_), Some(all)) => (Verdict::Pass, format!("{all} effects, none of them twice")),
        _ => (Verdict::NotJudged, "the counts were not read".to_owned()),
    };
    judgement.expect(ONE, Some(verdict), last, text);
}

fn expect_higher(
    judgement: &mut Judgement,
    history: &History,
    attempts: Option<(&Tenure, &Tenure)>,
    is_settled: bool,
) {
    let Some((first, second)) = attempts else { return judgement.expect(HIGHER, None, None, "") };
    let is_first = |l: &&Look| l.liveness(&first.fingerprint).is_some();
    let before = history.looks.iter().rev().find(is_first).and_then(token);
    let with = history.looks.iter().filter(|l| l.seconds >= second.seen);
    let higher = with.clone().find(|l| token(l).zip(before).is_some_and(|(now, then)| now > then));
    let last = history.last().map(|l| l.seconds);
    match (before, higher) {
        (Some(then), Some(look)) => {
            let text = format!("{} after {then}", token(look).unwrap_or_default());
            judgement.expect(HIGHER, Some(Verdict::Pass), Some(look.seconds), text);
        }
        _ if !is_settled => judgement.expect(HIGHER, None, None, ""),
        (Some(then), None) if with.clone().any(|l| token(l).is_some()) => {
            let text = format!("it was {then} before, and is not higher");
            judgement.expect(HIGHER, Some(Verdict::Fail), last, text);
        }
        _ => judgement.expect(
            HIGHER,
            Some(Verdict::NotJudged),
            last,
            "no token was read in both attempts",
        ),
    }
}

/// The last token that was given; where that is not read, the largest that a resource accepted.
fn token(look: &Look) -> Option<u64> {
    let fencing = look.document.lock.fencing.as_ref()?;
    fencing.issued.or_else(|| fencing.accepted.values().flatten().copied().max())
}
