//! What more is known of why something of a lock cannot be judged: what was looked for and where, so that the words of a
//! page can point to what would help. Judges nothing; reasons are those of `coverage`.

use std::sync::Arc;

use super::holder::Holder;
use super::{Aspect, BlindReason};
use crate::config::{LiveList, Preset, TokenKind};
use crate::derive::State;
use crate::derive::list::List;
use crate::derive::lock::{Lock, Shown};
use crate::derive::tenure::Tenure;
use crate::observe::Mono;

/// More of why.
#[derive(Clone, Debug, PartialEq)]
pub enum Hint {
    /// A holder's token names nobody to what is configured to name it.
    Unnamed(Vec<Namer>),
    /// A list of live workers was never seen to name anybody.
    ListNamesNobody(Arc<str>),
    /// BullMQ's, which has only workers with a name of their own.
    BullMqNamesNobody(Arc<str>),
    /// A list cannot be read.
    ListUnread(Arc<str>),
    /// A list does not name the holder, and in so many seconds that will count.
    NotInList(Arc<str>, f64),
    /// The key is nothing that the format, which the config declares, or any other reads.
    Shows(Shown, Option<Arc<str>>),
    /// Tokens do not tell one acquire from the next, and how that is known.
    Reuse(Reuse),
    /// The tokens that are issued can be read, and nobody is known to check them.
    NoResource,
}

/// What should tell who a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namer {
    /// The lock's `holder` pattern.
    Pattern,
    /// The store's `owner_index`.
    Index,
    /// That, but it was never read.
    UnreadIndex,
}

/// How it is known that a token may be the same for every acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The config says so.
    Config,
    /// It is the format's design.
    Design(&'static str),
    /// It is not known: the format is a guess, or leaves it to its users.
    Possible,
}

/// All hints for what cannot be judged of a lock.
pub(super) fn hints(
    state: &State,
    lock: &Lock,
    holders: &[Holder<'_>],
    blind: &[(Aspect, BlindReason)],
    now: Mono,
) -> Vec<(Aspect, Hint)> {
    let has = |aspect, reason| blind.contains(&(aspect, reason));
    let mut hints = Vec::new();
    if has(Aspect::Holder, BlindReason::OpaqueToken) {
        hints.push((Aspect::Holder, Hint::Unnamed(namers(state, lock))));
    }
    let list = holders.iter().find_map(|h| of_list(state, lock, h.tenure, now));
    let list = list.or_else(|| of_silent_list(state, lock, now));
    hints.extend(list.map(|hint| (Aspect::Holder, hint)));
    if has(Aspect::Lease, BlindReason::Unsupported)
        && let Some(shown) = lock.shapes.shown
    {
        let declared = lock.rules.format.as_deref().map(Arc::from);
        hints.push((Aspect::Lease, Hint::Shows(shown, declared)));
    }
    if has(Aspect::Token, BlindReason::ReusableToken) {
        hints.push((Aspect::Token, Hint::Reuse(reuse(lock))));
    }
    if has(Aspect::Fencing, BlindReason::NotConfigured) && issues(state, lock) {
        hints.push((Aspect::Fencing, Hint::NoResource));
    }
    hints
}

/// Why a holder has no name; `None` where a list is to say whether it lives, which needs none.
pub(super) fn unnamed(state: &State, lock: &Lock, tenure: &Tenure) -> Option<BlindReason> {
    let is_asked = lock.rules.holder.is_some() || !lock.rules.workers.is_empty();
    if tenure.owner.is_some() && (is_asked || has_index(state, lock)) {
        return Some(BlindReason::OpaqueToken);
    }
    list_of(state, lock).is_none().then_some(BlindReason::NotConfigured)
}

/// What is configured to name a lock's holder.
fn namers(state: &State, lock: &Lock) -> Vec<Namer> {
    let pattern = lock.rules.holder.as_ref().map(|_| Namer::Pattern);
    let was_read = state.stores.get(&lock.store).is_some_and(|s| s.owners.was_read);
    let index = if was_read { Namer::Index } else { Namer::UnreadIndex };
    pattern.into_iter().chain(has_index(state, lock).then_some(index)).collect()
}

fn has_index(state: &State, lock: &Lock) -> bool {
    state.rules.owner_indexes.contains(&lock.store_name)
}

/// The list that must name a lock's holders.
fn list_of<'a>(state: &'a State, lock: &'a Lock) -> Option<(&'a Arc<str>, &'a List)> {
    let name = state.workers.lists.name_for(lock)?;
    Some((name, state.workers.lists.get(name)?))
}

/// A list that can be read and does not name this holder (yet).
pub(super) fn of_list(state: &State, lock: &Lock, tenure: &Tenure, now: Mono) -> Option<Hint> {
    let (name, list) = list_of(state, lock)?;
    let owner = tenure.owner.as_ref()?;
    let named = tenure.seat.named.as_ref();
    let is_telling = list.reads.failure.is_none() && list.is_fresh(now) && list.has_named();
    let left = list.waits(owner, named, tenure.first.span.done, now).filter(|_| is_telling)?;
    let is_unknown = list.verdict(owner, named, now).0 == crate::derive::Liveness::Unknown;
    is_unknown.then(|| Hint::NotInList(name.clone(), left.as_secs_f64()))
}

/// A list that says nothing of anybody.
fn of_silent_list(state: &State, lock: &Lock, now: Mono) -> Option<Hint> {
    let (name, list) = list_of(state, lock)?;
    if list.reads.failure.is_some() || !list.is_fresh(now) {
        return Some(Hint::ListUnread(name.clone()));
    }
    if list.has_named() {
        return None;
    }
    let is_bullmq = |l: &LiveList| l.name == *name && matches!(l.preset, Preset::BullMq { .. });
    Some(if state.rules.live_workers.iter().any(is_bullmq) {
        Hint::BullMqNamesNobody(name.clone())
    } else {
        Hint::ListNamesNobody(name.clone())
    })
}

fn reuse(lock: &Lock) -> Reuse {
    match &lock.value {
        _ if lock.rules.token == Some(TokenKind::Reusable) => Reuse::Config,
        Some(value) if value.reuses_tokens => Reuse::Design(value.format),
        _ => Reuse::Possible,
    }
}

/// Whether something tells which tokens are issued.
fn issues(state: &State, lock: &Lock) -> bool {
    let told = state.resources.of(&lock.store_name, &lock.name);
    lock.rules.fencing.as_ref().is_some_and(|f| f.issued.is_some())
        || told.is_some_and(|t| t.fencing.issued.reads.last.is_some())
}
