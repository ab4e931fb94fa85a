//! What sources tell of a lock, as a view shows it: fencing tokens and side effects. Counters of every configured resource
//! are there from the start; values that were not read lately are not.

use std::sync::Arc;

use super::{Aspect, BlindReason, coverage};
use crate::config::Fencing as Rules;
use crate::derive::State;
use crate::derive::fencing::Reads;
use crate::derive::fresh::is_fresh;
use crate::derive::lock::Lock;
use crate::derive::resources::Told;
use crate::observe::Mono;

/// What sources tell of a lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToldView {
    /// Its fencing tokens; `None` if nothing tells of any.
    pub fencing: Option<FencingView>,
    /// Side effects, by resource.
    pub effects: Vec<EffectsView>,
}

/// Fencing tokens of a lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FencingView {
    /// The last token issued.
    pub issued: Option<u64>,
    /// The largest token that each resource accepted.
    pub accepted: Vec<(Arc<str>, Option<u64>)>,
    /// Tokens that went down, by resource; under the empty name those issued.
    pub regressions: Vec<(Arc<str>, u64)>,
    /// Writes that each resource refused.
    pub rejections: Vec<(Arc<str>, u64)>,
}

/// Side effects on one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectsView {
    /// The resource.
    pub resource: Arc<str>,
    /// How many.
    pub total: u64,
    /// How many beyond one for each request; `None` if nothing counts requests.
    pub duplicates: Option<u64>,
}

pub(super) fn told(state: &State, lock: &Lock, now: Mono) -> ToldView {
    let told = state.resources.of(&lock.store_name, &lock.name);
    let effects = lock.rules.effects.iter().map(|e| {
        let known = told.and_then(|t| t.effects.get(&e.name));
        EffectsView {
            resource: e.name.clone(),
            total: known.and_then(|k| k.total()).unwrap_or(0),
            duplicates: e
                .distinct
                .as_ref()
                .map(|_| known.and_then(|k| k.duplicates()).unwrap_or(0)),
        }
    });
    ToldView { fencing: fencing(state, lock, told, now), effects: effects.collect() }
}

fn fencing(state: &State, lock: &Lock, told: Option<&Told>, now: Mono) -> Option<FencingView> {
    let rules = lock.rules.fencing.as_ref();
    let told = told.map(|t| &t.fencing);
    let issues = rules.is_some_and(|r| r.issued.is_some())
        || told.is_some_and(|t| t.issued.reads.last.is_some());
    if rules.is_none() && !issues {
        return None;
    }
    let recent = |r: &Reads| is_fresh(r.last, now, state.rules.poll_interval);
    let mut view = FencingView {
        issued: told.map(|t| &t.issued).filter(|i| recent(&i.reads)).and_then(|i| i.token),
        ..FencingView::default()
    };
    if issues {
        view.regressions.push(("".into(), told.map_or(0, |t| t.issued.regressions)));
    }
    for r in rules.map_or(&[][..], |r| &r.accepted) {
        let known = told.and_then(|t| t.accepted.get(&r.name));
        let token = known.filter(|k| recent(&k.reads)).and_then(|k| k.token);
        view.accepted.push((r.name.clone(), token));
        view.regressions.push((r.name.clone(), known.map_or(0, |k| k.regressions)));
    }
    for r in rules.map_or(&[][..], |r| &r.rejected) {
        let known = told.and_then(|t| t.rejected.get(&r.name));
        view.rejections.push((r.name.clone(), known.map_or(0, |k| k.count.total())));
    }
    Some(view)
}

/// What of its fencing cannot be judged.
pub(super) fn blind(state: &State, lock: &Lock, now: Mono, lost: &mut Vec<(Aspect, BlindReason)>) {
    let rules = lock.rules.fencing.as_ref();
    let told = state.resources.of(&lock.store_name, &lock.name).map(|t| &t.fencing);
    // Where the counter of tokens was never seen there are none to be checked, as far as is known.
    let has_token =
        rules.is_none_or(|f| f.issued.is_none()) || told.is_some_and(|t| t.issued.reads.has_shown);
    if has_token && rules.is_none_or(|f| f.accepted.is_empty()) {
        // Nobody is known to check its tokens.
        lost.push((Aspect::Fencing, BlindReason::NotConfigured));
    }
    let Some(rules) = rules else { return };
    for (is_token, reads) in all_reads(rules, told) {
        let reason = match reads {
            Some(Reads { failure: Some(reason), .. }) => coverage::source_reason(*reason),
            Some(r) if is_fresh(r.last, now, state.rules.poll_interval) => {
                if r.has_shown || !is_token {
                    continue;
                }
                BlindReason::NoHistory
            }
            Some(Reads { last: Some(_), .. }) => BlindReason::Unreachable,
            _ => BlindReason::NoHistory,
        };
        lost.push((Aspect::Fencing, reason));
    }
}

/// How reading each configured source goes, and whether it shows a token: a count that is not there is 0. `None` before the
/// first read.
fn all_reads<'a>(
    rules: &'a Rules,
    told: Option<&'a crate::derive::fencing::Fencing>,
) -> impl Iterator<Item = (bool, Option<&'a Reads>)> {
    let issued = rules.issued.iter().map(move |_| told.map(|t| &t.issued.reads));
    let accepted = rules
        .accepted
        .iter()
        .map(move |r| told.and_then(|t| Some(&t.accepted.get(&r.name)?.reads)));
    let rejected = rules
        .rejected
        .iter()
        .map(move |r| told.and_then(|t| Some(&t.rejected.get(&r.name)?.reads)));
    issued.chain(accepted).map(|r| (true, r)).chain(rejected.map(|r| (false, r)))
}

/// Why the list that should name a lock's holders does not tell, if it does not.
pub(super) fn list_reason(state: &State, lock: &Lock, now: Mono) -> Option<BlindReason> {
    let name = state.workers.lists.name_for(lock)?;
    let Some(list) = state.workers.lists.get(name) else { return Some(BlindReason::NotConfigured) };
    match list.reads.failure {
        Some(reason) => Some(coverage::source_reason(reason)),
        None if list.is_fresh(now) => (!list.has_named()).then_some(BlindReason::NoHistory),
        None if list.reads.last.is_some() => Some(BlindReason::Unreachable),
        None => Some(BlindReason::NoHistory),
    }
}
