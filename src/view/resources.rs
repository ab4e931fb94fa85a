//! What sources tell of a lock, as a view shows it: fencing tokens and side effects. Counters of every configured resource
//! are there from the start; values that were not read lately are not.

use std::sync::Arc;

use super::{Aspect, BlindReason, coverage};
use crate::config::Fencing as Rules;
use crate::derive::State;
use crate::derive::fencing::{Fencing, Reads};
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
    /// The last token that went down, by its resource (under the empty name those issued), and how many seconds ago; `None`
    /// when that is longer ago than `retain`.
    pub fell: Option<(Arc<str>, f64)>,
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
    /// Seconds since the last duplicates were counted; `None` when that is longer ago than `retain`.
    pub duplicated_seconds: Option<f64>,
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
            duplicated_seconds: known.and_then(|k| recent(state, k.duplicated?, now)),
        }
    });
    ToldView { fencing: fencing(state, lock, told, now), effects: effects.collect() }
}

/// Seconds since then, unless that is too long ago for anybody to look at.
fn recent(state: &State, at: Mono, now: Mono) -> Option<f64> {
    (now.since(at) < state.rules.retain).then(|| now.secs_since(at).max(0.0))
}

fn fencing(state: &State, lock: &Lock, told: Option<&Told>, now: Mono) -> Option<FencingView> {
    let rules = lock.rules.fencing.as_ref();
    let told = told.map(|t| &t.fencing);
    let issues = rules.is_some_and(|r| r.issued.is_some())
        || told.is_some_and(|t| t.issued.reads.last.is_some());
    if rules.is_none() && !issues {
        return None;
    }
    let is_read = |r: &Reads| is_fresh(r.last, now, state.rules.poll_interval);
    let mut view = FencingView {
        issued: told.map(|t| &t.issued).filter(|i| is_read(&i.reads)).and_then(|i| i.token),
        ..FencingView::default()
    };
    if issues {
        view.regressions.push(("".into(), told.map_or(0, |t| t.issued.regressions)));
    }
    for r in rules.map_or(&[][..], |r| &r.accepted) {
        let known = told.and_then(|t| t.accepted.get(&r.name));
        let token = known.filter(|k| is_read(&k.reads)).and_then(|k| k.token);
        view.accepted.push((r.name.clone(), token));
        view.regressions.push((r.name.clone(), known.map_or(0, |k| k.regressions)));
    }
    for r in rules.map_or(&[][..], |r| &r.rejected) {
        let known = told.and_then(|t| t.rejected.get(&r.name));
        view.rejections.push((r.name.clone(), known.map_or(0, |k| k.count.total())));
    }
    view.fell = told
        .and_then(|t| last_fall(t, &view))
        .and_then(|(name, at)| Some((name, recent(state, at, now)?)));
    Some(view)
}

/// The last regression of those that the view counts.
fn last_fall(told: &Fencing, view: &FencingView) -> Option<(Arc<str>, Mono)> {
    let falls = view.regressions.iter().filter_map(|(name, _)| {
        let at = match &**name {
            "" => told.issued.fell?,
            resource => told.accepted.get(resource)?.fell?.at,
        };
        Some((name.clone(), at))
    });
    falls.max_by_key(|(_, at)| *at)
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
    told: Option<&'a Fencing>,
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
