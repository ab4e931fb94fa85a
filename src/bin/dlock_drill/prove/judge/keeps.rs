//! Whether a holder that is back leaves alone what is another's by now. It refutes as soon as that is seen, and passes only when
//! nothing came for long enough.

use super::takeover::{Takeover, takeover};
use super::{Judgement, contested};
use crate::outcome::Verdict;
use crate::prove::history::History;
use crate::prove::tenures::Tenure;

/// Adds that `old` does not take the lock from `next` again.
pub(super) fn expect_keeps(
    judgement: &mut Judgement,
    what: &'static str,
    history: &History,
    (old, next): (&Tenure, &Tenure),
    is_settled: bool,
) {
    let reusable = history.last().is_some_and(|l| {
        let mut blind = l.document.lock.cannot_be_judged.iter();
        blind.any(|c| c.aspect == "token" && c.reason == "reusable_token")
    });
    let mut before = next;
    for later in history.tenures.after(next) {
        let is_token = later.fingerprint == old.fingerprint;
        if is_token && !reusable {
            let text =
                format!("the token of {} is back after {} had the lock", old.who(), next.who());
            return judgement.expect(what, Some(Verdict::Fail), Some(later.seen), text);
        }
        let is_old = is_token || (old.worker.is_some() && later.worker == old.worker);
        if is_old && let Takeover::Early(how) = takeover(history, before, later) {
            return judgement.expect(what, Some(Verdict::Fail), Some(later.seen), how);
        }
        before = later;
    }
    if let Some((at, how)) = contested(history, next.seen, |kind| kind != "fencing") {
        return judgement.expect(what, Some(Verdict::Fail), Some(at), how);
    }
    if !is_settled {
        return judgement.expect(what, None, None, "");
    }
    let last = history.last().map(|l| l.seconds);
    if history.has_gap_since(next.seen) {
        let text = "the exporter did not see the lock all the time: make the fault again";
        return judgement.expect(what, Some(Verdict::NotJudged), last, text);
    }
    let text = "it was back, and its token was not seen again";
    judgement.expect(what, Some(Verdict::Pass), last, text);
}
