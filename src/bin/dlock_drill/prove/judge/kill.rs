//! After a kill no renewal advances, and the lease ends within its length plus the skew bound.

use super::lost::{Lost, Search, search};
use super::needs::unmet;
use super::pause::waits;
use super::takeover::{Takeover, takeover};
use super::{Criterion, Judgement, expect_one_owner, is_end_unseen, secs};
use crate::outcome::Verdict;
use crate::prove::history::{History, Look};
use crate::prove::tenures::WRITE;

/// The criterion.
pub const CRITERION: Criterion = Criterion {
    name: "kill",
    about: "after a kill no renewal advances, and the lease ends within its length plus the skew bound",
    make: "kill the holder (kill -9), and leave everything else alone until the lease is over",
    watched: "the holder's liveness, every write of its lease after it, the instant of its end on the server",
    needs: "the lock by its `key` with its `lease`, and for its worker a `process` (on the exporter's host), a `heartbeat` or a list",
    judge,
};

const QUIET: &str = "no renewal advances after the holder is lost";
const ENDS: &str = "the lease ends within its length plus the skew bound";
/// Polls that the exporter has for the end, beyond the lease.
const LATE: f64 = 5.0;

fn judge(history: &History) -> Judgement {
    let lost = match search(history, &["dead", "replaced", "frozen", "unlisted"]) {
        Search::Lost(lost) => *lost,
        other => {
            let is_alive = matches!(other, Search::Alive { .. });
            let unmet = is_alive.then(|| unmet(history, ENDS, lacks)).flatten();
            return unmet
                .unwrap_or_else(|| waits(history, &other, QUIET, "the kill: kill the holder"));
        }
    };
    let mut judgement = Judgement::default();
    let fault = history.looks.get(lost.lost).map_or(0.0, |l| l.seconds);
    judgement.fault = Some(fault);
    judgement.saw(fault, format!("{} is {}", lost.tenure.who(), lost.liveness));
    let Some(base) = Base::of(history, &lost) else {
        judgement.waiting = Some("a read after the kill".to_owned());
        judgement.expect(QUIET, None, None, "");
        judgement.expect(ENDS, None, None, "");
        return judgement;
    };
    expect_quiet(&mut judgement, history, &lost, &base);
    expect_end(&mut judgement, history, &lost, &base);
    let next = history.tenures.after(&lost.tenure).next();
    if let Some(next) = next
        && let Takeover::Early(how) = takeover(history, &lost.tenure, next)
    {
        let what = "nobody else has the lock before that";
        judgement.expect_besides(what, Some(Verdict::Fail), Some(next.seen), how);
    }
    let is_over = judgement.waiting.is_none();
    expect_one_owner(&mut judgement, history, fault, is_over);
    judgement
}

/// What the end is measured by has to be configured: held against itself no lease is too long.
fn lacks(look: &Look) -> Option<String> {
    let lease = &look.document.lock.lease;
    let is_claim =
        lease.length_seconds.is_some() && lease.length_source.as_deref() != Some("learned");
    let text = "how long its lease may be is not known, or learned from the lock itself: configure `lease` of the lock";
    (!is_claim).then(|| text.to_owned())
}

/// The first read that is known to have come after the kill.
struct Base {
    at: usize,
    read: f64,
    expiry: Option<f64>,
}

impl Base {
    /// By the signal that says so, or the second read after the look that showed the loss.
    fn of(history: &History, lost: &Lost) -> Option<Self> {
        let mut reads = 0;
        let mut before = history.looks.get(lost.lost)?.read();
        for (at, look) in history.looks.iter().enumerate().skip(lost.lost) {
            let Some(read) = look.read() else { continue };
            if look.liveness(&lost.tenure.fingerprint).is_none() {
                break;
            }
            if Some(read) != before {
                (reads, before) = (reads + 1, Some(read));
            }
            if reads >= 2 || look.signal("holder_stale") == Some(true) {
                return Some(Self { at, read, expiry: look.document.lock.lease.expiry_timestamp });
            }
        }
        // It ended before that: the tenure's own last read is all there is.
        let (over, last) = (lost.tenure.over?, lost.tenure.last?);
        let at = history.looks.iter().position(|l| l.seconds >= over)?;
        Some(Self { at, read: last, expiry: lost.tenure.expiry })
    }
}

fn expect_quiet(judgement: &mut Judgement, history: &History, lost: &Lost, base: &Base) {
    let from = history.looks.get(base.at).map_or(0.0, |l| l.seconds);
    let later = history.looks.iter().skip(base.at).find(|look| {
        let is_own = look.liveness(&lost.tenure.fingerprint).is_some();
        let now = look.document.lock.lease.expiry_timestamp;
        is_own && now.zip(base.expiry).is_some_and(|(now, then)| now > then + WRITE)
    });
    let counted =
        |l: &crate::prove::history::Look| Some(l.document.lock.counts.renewals_after_lost_liveness);
    let proven = history.risen(judgement.fault.unwrap_or(from), counted).is_some_and(|n| n > 0);
    if let Some(look) = later {
        let by =
            look.document.lock.lease.expiry_timestamp.zip(base.expiry).map_or(0.0, |(a, b)| a - b);
        let text = format!("the lease was renewed by {} after the holder was lost", secs(by));
        return judgement.expect(QUIET, Some(Verdict::Fail), Some(look.seconds), text);
    }
    if proven {
        let text = "the exporter proved a renewal after lost liveness";
        let last = history.last().map(|l| l.seconds);
        return judgement.expect(QUIET, Some(Verdict::Fail), last, text);
    }
    let Some(over) = lost.tenure.over else { return judgement.expect(QUIET, None, None, "") };
    let is_written =
        lost.tenure.expiry.zip(base.expiry).is_some_and(|(last, then)| last > then + WRITE);
    let (verdict, text) = if is_written {
        (Verdict::Fail, "its last expiry is later than the one after the kill".to_owned())
    } else if history.has_restart(from, over) || is_end_unseen(history, &lost.tenure) {
        let text = "the exporter did not see the lock until its end: make the fault again";
        (Verdict::NotJudged, text.to_owned())
    } else {
        (Verdict::Pass, "its expiry stayed as the first read after the loss had it".to_owned())
    };
    judgement.expect(QUIET, Some(verdict), Some(over), text);
}

fn expect_end(judgement: &mut Judgement, history: &History, lost: &Lost, base: &Base) {
    let look = history.looks.get(base.at);
    let lease = look.and_then(|l| l.document.lock.lease.length_seconds);
    let skew = look.and_then(|l| l.skew_seconds);
    let at = look.map(|l| l.seconds);
    let Some(expiry) = base.expiry else {
        let text = "the key has no expiry: it does not end by itself";
        return judgement.expect(ENDS, Some(Verdict::Fail), at, text);
    };
    let Some(lease) = lease else {
        let text = "the length of the lease is not known: configure `lease` of the lock";
        return judgement.expect(ENDS, Some(Verdict::NotJudged), at, text);
    };
    let allowed = lease + skew.unwrap_or(0.0);
    let source = look.and_then(|l| l.document.lock.lease.length_source.as_deref());
    let of = match skew {
        Some(skew) => format!("{} and {} of skew", secs(lease), secs(skew)),
        None => format!("{} (the skew bound is not known)", secs(lease)),
    };
    // The kill was before the read, so that the lease outlived it by at least this much.
    let least = expiry - base.read;
    let bound = history
        .looks
        .get(lost.alive)
        .and_then(|l| l.read())
        .map_or(0.0, |alive| (base.read - alive).max(0.0) + history.poll);
    if least > allowed + 0.001 {
        let text = format!("{} was left of it after the kill, and it may be {of}", secs(least));
        return judgement.expect(ENDS, Some(Verdict::Fail), at, text);
    }
    let Some(over) = lost.tenure.over else {
        let now = history.last().and_then(|l| l.read()).unwrap_or(base.read);
        if now > expiry + history.poll * LATE {
            let text = format!("{} after that it is still held", secs(now - expiry));
            return judgement.expect(ENDS, Some(Verdict::Fail), at, text);
        }
        judgement.waiting = Some(format!("the end of the lease of {}", lost.tenure.who()));
        return judgement.expect(ENDS, None, None, "");
    };
    let bounds = format!(
        "it ended {} to {} after the kill, which is known to within {}; it may take {of}{}",
        secs(least.max(0.0)),
        secs(least.max(0.0) + bound),
        secs(bound),
        lost.tenure
            .overrun
            .map_or(String::new(), |s| format!("; dlock_lease_overrun_seconds {s:.2}"))
    );
    if lost.tenure.gone.is_none() {
        let text = "the exporter was started anew and did not see its end: make the fault again";
        return judgement.expect(ENDS, Some(Verdict::NotJudged), Some(over), text);
    }
    let Some(evidence) = lost.tenure.evidence.as_deref() else {
        judgement.waiting = Some("how the lease ended".to_owned());
        return judgement.expect(ENDS, None, None, "");
    };
    // Held against itself no lease is too long.
    let is_learned = source == Some("learned");
    let (verdict, text) = match evidence {
        "lapsed" | "released" | "unknown" | "overwritten" if is_learned => (
            Verdict::NotJudged,
            format!(
                "{bounds}: how long it is was learned from the lease itself; configure `lease`"
            ),
        ),
        "lapsed" | "released" | "unknown" | "overwritten"
            if least + bound > allowed && longest(history, lost) > allowed + 0.001 =>
        {
            let most = secs(longest(history, lost));
            (
                Verdict::NotJudged,
                format!(
                    "{bounds}, and before the kill {most} of it were left: shorten poll_interval"
                ),
            )
        }
        // The reads around the kill leave it open; what was written before and after it does not.
        "lapsed" | "released" | "unknown" | "overwritten" if least + bound > allowed => (
            Verdict::Pass,
            format!(
                "{bounds}. That leaves it open, so it rests on what was written: no read of it ever showed more than {} left, and \
                 its expiry is that of the first read after the loss",
                secs(longest(history, lost))
            ),
        ),
        "lapsed" | "released" | "unknown" | "overwritten" => (Verdict::Pass, bounds),
        other => (
            Verdict::NotJudged,
            format!(
                "the server lost the lock meanwhile ({other}): that is another fault; make this one again"
            ),
        ),
    };
    judgement.expect(ENDS, Some(verdict), Some(over), text);
}

/// The most that a read has shown to be left of this tenure's lease.
fn longest(history: &History, lost: &Lost) -> f64 {
    let own = history.looks.iter().filter(|l| l.liveness(&lost.tenure.fingerprint).is_some());
    let left = own.filter_map(|l| Some(l.document.lock.lease.expiry_timestamp? - l.read()?));
    left.fold(0.0, f64::max)
}
