//! With renewal paused apart from the work the lease is not extended, and a successor acquires cleanly.

use super::lost::{Search, search};
use super::pause::waits;
use super::takeover::{Takeover, takeover};
use super::{Criterion, Judgement, expect_one_owner, is_end_unseen, secs};
use crate::outcome::Verdict;
use crate::prove::history::{History, Look, is_lost};
use crate::prove::tenures::{Tenure, WRITE};

/// The criterion.
pub const CRITERION: Criterion = Criterion {
    name: "renewal",
    about: "with renewal paused apart from the work the lease is not extended, and a successor acquires cleanly",
    make: "let a second worker wait for the lock; stop only what renews (its thread, process or connection), let the work go on, and \
           press Enter (a line on standard input). Without that line a renewal that is overdue is taken for the pause, and one \
           that comes after it for its end",
    watched: "every write of the lease after it, the holder's liveness, how the lock comes to its successor",
    needs: "the lock by its `key`, and for its worker a `process` (on the exporter's host) or a `heartbeat` of the work",
    judge,
};

const WORKS: &str = "the work goes on until the lease is over";
const QUIET: &str = "the lease is not extended after the renewal is paused";
const CLEAN: &str = "a successor acquires cleanly";
/// Reads after the user's word until a renewal that was under way is in.
const READS: usize = 2;

fn judge(history: &History) -> Judgement {
    let Some(paused) = Paused::of(history) else {
        let found = search(history, &[]);
        return match found {
            Search::Alive { .. } if history.told.is_some() => Judgement::waits("reads after that"),
            Search::Alive { who, .. }
                if history.present().is_some_and(|t| !is_renewed(history.looks.iter(), t)) =>
            {
                Judgement::waits(format!("a renewal ({who})"))
            }
            other => waits(
                history,
                &other,
                QUIET,
                "the pause of the renewal: stop only what renews, and press Enter",
            ),
        };
    };
    let mut judgement = Judgement { fault: Some(paused.seconds), ..Judgement::default() };
    let by = if paused.is_told { "you said so" } else { "a renewal is overdue" };
    judgement
        .saw(paused.seconds, format!("the renewal of {} is paused: {by}", paused.tenure.who()));
    expect_works(&mut judgement, history, &paused);
    expect_quiet(&mut judgement, history, &paused);
    let is_over = expect_clean(&mut judgement, history, &paused);
    expect_one_owner(&mut judgement, history, paused.seconds, is_over);
    judgement
}

/// The pause, and the tenure that it fell in.
struct Paused {
    tenure: Tenure,
    /// The first look after it, by its place.
    at: usize,
    seconds: f64,
    expiry: Option<f64>,
    is_told: bool,
}

impl Paused {
    fn of(history: &History) -> Option<Self> {
        let (at, is_told) = match history.told {
            Some(told) => (after(history, told)?, true),
            None => (overdue(history)?, false),
        };
        let look = history.looks.get(at)?;
        let [holder] = look.document.lock.holders.as_slice() else { return None };
        let mut all = history.tenures.all().iter().rev();
        let tenure = all.find(|t| t.fingerprint == holder.fingerprint && t.seen <= look.seconds)?;
        Some(Self {
            tenure: tenure.clone(),
            at,
            seconds: history.told.unwrap_or(look.seconds),
            expiry: look.document.lock.lease.expiry_timestamp,
            is_told,
        })
    }
}

/// The look that shows the second read after the user's word.
fn after(history: &History, told: f64) -> Option<usize> {
    let mut before = history.looks.iter().rev().find(|l| l.seconds <= told).and_then(Look::read);
    let mut reads = 0;
    history.looks.iter().position(|look| {
        if look.seconds <= told || look.read().is_none() {
            return false;
        }
        if look.read() != before {
            (reads, before) = (reads + 1, look.read());
        }
        reads >= READS
    })
}

/// The first look of the last time that a renewal was overdue and did not come.
fn overdue(history: &History) -> Option<usize> {
    let mut found: Option<(usize, String, Option<f64>)> = None;
    for (n, look) in history.looks.iter().enumerate() {
        let lock = &look.document.lock;
        let [holder] = lock.holders.as_slice() else { continue };
        let now = lock.lease.expiry_timestamp;
        if let Some((_, fingerprint, then)) = &found {
            if *fingerprint != holder.fingerprint {
                break;
            }
            // It was only late.
            if now.zip(*then).is_some_and(|(now, then)| now > then + WRITE) {
                found = None;
            }
        }
        // The signal stays up for a while after a late one: the lease has to be as it was at the rise.
        if found.is_none() && look.signal("renewal_overdue") == Some(true) && is_due(look) {
            found = Some((n, holder.fingerprint.clone(), now));
        }
    }
    found.map(|(n, ..)| n)
}

/// Whether the last renewal is longer ago than they usually are apart.
fn is_due(look: &Look) -> bool {
    let lease = &look.document.lock.lease;
    let usual = lease.renewal_period_seconds;
    lease.renewal_age_seconds.zip(usual).is_none_or(|(age, usual)| age > usual)
}

fn expect_works(judgement: &mut Judgement, history: &History, paused: &Paused) {
    let own = history.looks.iter().skip(paused.at);
    let states: Vec<(f64, &str)> =
        own.filter_map(|l| Some((l.seconds, l.liveness(&paused.tenure.fingerprint)?))).collect();
    if let Some((at, state)) = states.iter().find(|(_, state)| is_lost(state)) {
        let text = format!("{} is {state}: stop only what renews", paused.tenure.who());
        return judgement.expect(WORKS, Some(Verdict::NotJudged), Some(*at), text);
    }
    if !states.iter().any(|(_, state)| *state == "alive") && !states.is_empty() {
        let text =
            "nothing tells whether the work goes on: configure a `heartbeat` of it or a `process`";
        return judgement.expect(WORKS, Some(Verdict::NotJudged), None, text);
    }
    match paused.tenure.over {
        Some(over) => judgement.expect(WORKS, Some(Verdict::Pass), Some(over), ""),
        None => judgement.expect(WORKS, None, None, ""),
    }
}

fn expect_quiet(judgement: &mut Judgement, history: &History, paused: &Paused) {
    let is_later =
        |now: Option<f64>| now.zip(paused.expiry).is_some_and(|(now, then)| now > then + WRITE);
    let later = history.looks.iter().skip(paused.at).find(|l| {
        l.liveness(&paused.tenure.fingerprint).is_some()
            && is_later(l.document.lock.lease.expiry_timestamp)
    });
    let from = history.looks.get(paused.at).map_or(0.0, |l| l.seconds);
    if let Some(look) = later {
        let now = look
            .document
            .lock
            .lease
            .expiry_timestamp
            .zip(paused.expiry)
            .map_or(0.0, |(a, b)| a - b);
        let text = format!("it was extended by {}: something else renews it", secs(now));
        return judgement.expect(QUIET, Some(Verdict::Fail), Some(look.seconds), text);
    }
    let Some(over) = paused.tenure.over else { return judgement.expect(QUIET, None, None, "") };
    let (verdict, text) = if is_later(paused.tenure.expiry) {
        (Verdict::Fail, "its last expiry is later than the one after the pause".to_owned())
    } else if paused.expiry.is_none() {
        (Verdict::NotJudged, "the key has no expiry".to_owned())
    } else if !is_renewed(history.looks.iter().take(paused.at + 1), &paused.tenure) {
        (Verdict::NotJudged, "no renewal was seen before the pause: let it renew first".to_owned())
    } else if history.has_restart(from, over) || is_end_unseen(history, &paused.tenure) {
        let text = "the exporter did not see the lock until its end: make the fault again";
        (Verdict::NotJudged, text.to_owned())
    } else {
        (Verdict::Pass, "its expiry stayed as it was".to_owned())
    };
    judgement.expect(QUIET, Some(verdict), Some(over), text);
}

fn expect_clean(judgement: &mut Judgement, history: &History, paused: &Paused) -> bool {
    let Some(next) = history.tenures.after(&paused.tenure).next() else {
        judgement.waiting = Some(match paused.tenure.over {
            None => format!("the end of the lease of {}", paused.tenure.who()),
            Some(_) => "a successor to acquire".to_owned(),
        });
        judgement.expect(CLEAN, None, None, "");
        return false;
    };
    judgement.saw(next.seen, format!("{} has the lock", next.who()));
    let (verdict, text) = match takeover(history, &paused.tenure, next) {
        Takeover::Open => {
            judgement.waiting = Some("how the lease ended".to_owned());
            (None, String::new())
        }
        Takeover::AfterExpiry(how) => (Some(Verdict::Pass), how),
        Takeover::Released(how) if was_due(history, paused) => (Some(Verdict::Pass), how),
        Takeover::Released(how) => (
            Some(Verdict::NotJudged),
            format!(
                "{how} before a renewal was due: nothing shows that it was paused; let the work take longer"
            ),
        ),
        Takeover::Early(how) => (Some(Verdict::Fail), how),
        Takeover::Unclear(why) => (Some(Verdict::NotJudged), why),
    };
    judgement.expect(CLEAN, verdict, Some(next.seen), text);
    verdict.is_some()
}

/// Whether a renewal was due while it still had the lock, and did not come.
fn was_due(history: &History, paused: &Paused) -> bool {
    let own = history.looks.iter().skip(paused.at);
    own.filter(|l| l.liveness(&paused.tenure.fingerprint).is_some()).any(|l| {
        let lease = &l.document.lock.lease;
        let is_past = |(age, usual): (f64, f64)| age > usual;
        l.signal("renewal_overdue") == Some(true)
            || lease.renewal_age_seconds.zip(lease.renewal_period_seconds).is_some_and(is_past)
    })
}

/// Whether anything renews this tenure's lock: a period is known, or a renewal was seen.
fn is_renewed<'a>(mut looks: impl Iterator<Item = &'a Look>, tenure: &Tenure) -> bool {
    looks.any(|l| {
        let lease = &l.document.lock.lease;
        let is_later = |(now, then): (f64, f64)| now > then + WRITE;
        l.liveness(&tenure.fingerprint).is_some()
            && (lease.renewal_period_seconds.is_some()
                || lease.expiry_timestamp.zip(tenure.first_expiry).is_some_and(is_later))
    })
}
