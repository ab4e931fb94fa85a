//! What of a lock's leases and holds cannot be judged, and why.

use std::time::Duration;

use super::holder::Holder;
use super::{Aspect, BlindReason};
use crate::derive::Signal;
use crate::derive::lock::Lock;
use crate::observe::lock::Endless;

/// What cannot be learned because a token does not tell one acquire from the next, or a lock that never expires by default
/// was not held often enough.
pub(super) fn tokens(lock: &Lock, lost: &mut Vec<(Aspect, BlindReason)>) {
    let Some(value) = &lock.value else { return };
    let learns_hold = lock.rules.max_hold.is_none() && !lock.rules.always_held;
    if !lock.is_per_acquire() {
        lost.push((Aspect::Token, BlindReason::ReusableToken));
        if learns_hold {
            lost.push((Aspect::Hold, BlindReason::ReusableToken));
        }
    } else if learns_hold
        && value.endless == Endless::Usual
        && lock.signals.get(Signal::LeaseWithoutTtl).is_none()
    {
        lost.push((Aspect::Hold, BlindReason::NoHistory));
    }
}

/// Whether some holders count only because the key is there: until when each of them holds is told in keys beside it, and
/// theirs was not read. The key stays for the longest of all, so one of them may be long gone.
pub(super) fn ends(lock: &Lock, holders: &[Holder<'_>], lost: &mut Vec<(Aspect, BlindReason)>) {
    if lock.is_guessed() {
        lost.push((Aspect::Lease, BlindReason::Unsupported));
    }
    if holders.iter().any(|h| lock.is_untold(h.tenure)) || lock.has_untold_beyond() {
        let is_told = lock.was_told_ends();
        let reason = if is_told { BlindReason::Unsupported } else { BlindReason::Permission };
        lost.push((Aspect::Lease, reason));
    }
}

/// Whether a renewal that is expected could be missed and nobody would know.
pub(super) fn renewals(
    lock: &Lock,
    holder: &Holder<'_>,
    poll: Duration,
    lost: &mut Vec<(Aspect, BlindReason)>,
) {
    let tenure = holder.tenure;
    let is_expected = lock.rules.renewed == Some(true) || tenure.value.always_renews.is_some();
    if !is_expected || tenure.shortened || lock.overdue_after(tenure, poll).is_some() {
        return;
    }
    // An expiry that several share is renewed by nobody in particular.
    let reason = if tenure.is_own { BlindReason::NoHistory } else { BlindReason::Unsupported };
    lost.push((Aspect::Renewals, reason));
}
