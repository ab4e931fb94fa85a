//! Series of a group of locks: so many for each group, however many locks it has.

use crate::expose::catalogue::group as cat;
use crate::expose::sheet::Sheet;
use crate::view::{GroupView, StoreView};

/// Adds the group's series. What rests on its locks' reads is withheld while those are old; counters stay.
pub fn add(sheet: &mut Sheet, store: &StoreView, group: &GroupView) {
    let at = [&*store.name, &*group.name];
    let counts = &group.counts;
    sheet.add(&cat::ACQUISITIONS, at, counts.acquisitions as f64);
    sheet.add(&cat::RENEWALS, at, counts.renewals as f64);
    sheet.add(&cat::LATE_RENEWALS, at, counts.late_renewals as f64);
    sheet.add(&cat::RENEWALS_AFTER_LOST, at, counts.renewals_after_lost_liveness as f64);
    for (evidence, n) in &counts.ends {
        sheet.add(&cat::ENDS, [at[0], at[1], evidence.as_str()], *n as f64);
    }
    for (state, n) in counts.expired_under_holder.iter().flatten() {
        sheet.add(&cat::EXPIRED_UNDER_HOLDER, [at[0], at[1], state.as_str()], *n as f64);
    }
    for (signal, n) in &counts.rises {
        sheet.add(&cat::SIGNAL_RISES, [at[0], at[1], signal.as_str()], *n as f64);
    }
    if !store.fresh || !store.counted {
        return;
    }
    if group.is_known() {
        sheet.add(&cat::LOCKS, [at[0], at[1], "held"], group.held as f64);
        sheet.add(&cat::LOCKS, [at[0], at[1], "free"], group.free as f64);
    }
    for (signal, n) in &group.flagged {
        sheet.add(&cat::FLAGGED, [at[0], at[1], signal.as_str()], *n as f64);
    }
    sheet.add_some(&cat::REMAINING_MIN, at, group.remaining_min_seconds);
    sheet.add_some(&cat::HELD_MAX, at, group.held_max_seconds);
}
