//! What the keys beside a lock's own told: who waits, which fencing token was issued, which worker holds. It is read after
//! the lock and not in the same transaction, so it says something of a holder only if that is still there afterwards.

use std::sync::Arc;

use super::crowd::Shown;
use super::cut::Cut;
use super::share::Share;
use super::unheld::WantedSince;
use super::{Lock, Phase, ReadContext};
use crate::derive::fresh::is_fresh;
use crate::derive::tenure::Seen;
use crate::derive::wanted::{Effects, Weight};
use crate::derive::words::BlindReason;
use crate::derive::workers::Workers;
use crate::observe::lock::{CompanionRead, CompanionValue, Decoded, Holding, Tells};
use crate::observe::{Expiry, Mono, ServerTime, Span, Token};

/// What keys beside a lock's own told last.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Who waits with a deadline ahead.
    pub waiters: Option<Waiters>,
    /// Since when it is free and wanted.
    pub(super) wanted: WantedSince,
    /// The last fencing token that the library's own counter shows.
    pub issued: Option<Issued>,
    /// The worker of the holder with this token.
    pub worker: Option<(Token, Arc<str>)>,
    /// The server refuses to show the worker's name.
    is_name_refused: bool,
    /// Since when expiries of single holders are waited for.
    pub(super) asked: Option<Mono>,
    /// The value whose holders' expiries are read beside it, and the key's own expiry.
    pub(super) awaited: Option<(Arc<Decoded>, Expiry)>,
    /// What was read so last.
    pub(super) told: Option<Told>,
    /// Holders whose expiry was not among what was told last.
    pub(super) untold: Vec<Token>,
    /// Holders whose own expiry was past or missing when it was told last: the key may go on naming them.
    pub(super) over: Vec<Token>,
    /// Holders that were told so and did not count as such before, with their hold counts, and when that was: the key was
    /// read apart from what lies beside it, and they end only if its next read shows them with the same hold count.
    pub(super) doubted: Option<(Vec<(Token, u64)>, Seen)>,
    /// The read before the one that shows new holders.
    pub(super) before: Option<Seen>,
    /// How many hold a lock of which not all holders are read, by its last count.
    pub(super) counted: Option<(u64, Mono)>,
    /// What of its last read is not known, if that did not show all.
    pub(super) cut: Option<Cut>,
    /// The library marks its holder as stalled, and that was told.
    is_stalled: bool,
}

/// Shares that were read beside a key, and what the key itself was like before that.
#[derive(Clone, Debug)]
pub(super) struct Told {
    value: Arc<Decoded>,
    key: Expiry,
    shares: Vec<Share>,
}

/// How many wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiters {
    /// How many.
    pub count: u64,
    /// When that was read.
    pub span: Span,
}

/// What a counter of fencing tokens showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Issued {
    /// The last token; `None` if there is no counter.
    pub token: Option<u64>,
    /// When that was read.
    pub span: Span,
    /// The same on the server's clock.
    pub time: ServerTime,
}

impl Beside {
    /// Why it names no worker.
    pub fn why_nameless(&self) -> BlindReason {
        match self.is_name_refused {
            true => BlindReason::Permission,
            false => BlindReason::OpaqueToken,
        }
    }
}

impl Lock {
    /// Takes what keys beside the lock told.
    pub fn told_beside(
        &mut self,
        read: &CompanionRead,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        for (tells, value) in &read.told {
            if *tells == Tells::Worker {
                self.beside.is_name_refused = *value == CompanionValue::Refused;
            }
            match (tells, value) {
                (Tells::Waiters, value) => {
                    let count = number(value).unwrap_or(0);
                    self.beside.waiters = Some(Waiters { count, span: read.span });
                    self.wanted_by(count, read.span, fx);
                    self.judge_unheld(c, fx);
                }
                (Tells::FencingToken, value) => {
                    let token = number(value);
                    let issued = Issued { token, span: read.span, time: read.time };
                    // What is not a number is no counter, and nothing is known of it.
                    let is_known = token.is_some() || *value == CompanionValue::Missing;
                    self.beside.issued = is_known.then_some(issued);
                }
                (Tells::Worker, CompanionValue::Text(name)) => self.name_beside(name, read),
                (Tells::Holders, value) => self.counted(number(value), read.span.done),
                (Tells::Stalled, value) => self.noted_stalled(is_there(value), read.span.done, fx),
                (Tells::Worker | Tells::HolderExpiry(_), _) => {}
            }
        }
        let mut shown = self.shares_beside(read);
        self.beside.doubted = None;
        if !shown.is_empty() {
            self.beside.asked = None;
            let is_told = |h: &&Holding| shown.iter().any(|(t, _)| *t == h.owner.token);
            let holders = self.beside.awaited.iter().flat_map(|(value, _)| &value.holders);
            self.beside.untold =
                holders.filter(|h| !is_told(h)).map(|h| h.owner.token.clone()).collect();
            self.beside.told = self.beside.awaited.as_ref().map(|(value, key)| Told {
                value: value.clone(),
                key: *key,
                shares: shown.iter().filter_map(|(_, share)| share.clone()).collect(),
            });
            let was_over = std::mem::take(&mut self.beside.over);
            let ended = shown.iter().filter(|(_, share)| share.is_none()).map(|(t, _)| t.clone());
            let (over, new): (Vec<_>, Vec<_>) = ended.partition(|t| was_over.contains(t));
            shown.retain(|(token, _)| !new.contains(token));
            (self.beside.over, self.beside.doubted) = (over, self.doubt(&new, c.seen));
            self.read_members(shown, &was_over, c, workers, fx);
        }
    }

    fn doubt(&self, tokens: &[Token], seen: Seen) -> Option<(Vec<(Token, u64)>, Seen)> {
        let (value, _) = self.beside.awaited.as_ref()?;
        let doubted = value.holders.iter().filter(|h| tokens.contains(&h.owner.token));
        let doubted: Vec<_> = doubted.map(|h| (h.owner.token.clone(), h.count)).collect();
        (!doubted.is_empty()).then_some((doubted, seen))
    }

    /// The key was read again. Who was told to be over, and neither took nor gave back a hold since, was: as of then.
    pub(super) fn settle_doubts(
        &mut self,
        value: &Decoded,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let Some((doubted, seen)) = self.beside.doubted.take() else { return };
        let is_same = |(token, count): &(Token, u64)| {
            value.holders.iter().any(|h| h.owner.token == *token && h.count == *count)
        };
        let ended: Vec<Token> = doubted.into_iter().filter(is_same).map(|(t, _)| t).collect();
        if ended.is_empty() {
            return;
        }
        self.beside.over.extend(ended.iter().cloned());
        let shown = ended.into_iter().map(|token| (token, None)).collect();
        self.read_members(shown, &[], &ReadContext { seen, ..*c }, workers, fx);
    }

    /// Holders whose expiry is still to be read beside the key have what they had when that was read last, if the key and
    /// its expiry are as they were: whoever renews a share puts off the key's end as well.
    pub(super) fn as_told_before(
        &self,
        shown: &mut [Shown],
        value: &Arc<Decoded>,
        key: Expiry,
        now: ServerTime,
    ) {
        let is_same = |t: &&Told| is_close(t.key, key) && t.value.holders == value.holders;
        let Some(told) = self.beside.told.as_ref().filter(is_same) else { return };
        for (token, share) in shown.iter_mut().filter(|(_, share)| share.is_none()) {
            let is_owner = |s: &&Share| s.owner().is_some_and(|o| o.token == *token);
            let known = told.shares.iter().find(is_owner);
            *share = known.filter(|s| is_ahead(s.expiry, now)).cloned();
        }
    }

    /// What holders have whose expiry stands beside the key.
    fn shares_beside(&self, read: &CompanionRead) -> Vec<Shown> {
        let Some((value, _)) = &self.beside.awaited else { return Vec::new() };
        // A key that was read meanwhile may have had other holders.
        if self.seen.is_none_or(|seen| read.span.sent < seen.span.done) {
            return Vec::new();
        }
        let holders = (0u16..).zip(&value.holders);
        holders
            .filter_map(|(i, holding)| {
                let own = read.told.iter().filter(|(tells, _)| *tells == Tells::HolderExpiry(i));
                let expiry = latest(own.map(|(_, told)| told), holding.count, read.time)?;
                let share = expiry.map(|expiry| Share {
                    holding: Some(holding.clone()),
                    value: value.clone(),
                    expiry,
                    is_own: true,
                });
                Some((holding.owner.token.clone(), share))
            })
            .collect()
    }

    /// The name is that of the owner if the owner is still the same at the next read.
    fn name_beside(&mut self, name: &Arc<str>, read: &CompanionRead) {
        let Phase::Held(tenure) = &self.phase else { return };
        if name.is_empty() || read.span.sent < tenure.first.span.done {
            return;
        }
        self.beside.worker = tenure.owner.as_ref().map(|o| (o.token.clone(), name.clone()));
    }

    /// A library that marks all its holders and lets each clear its mark with a renewal shows one between two renewals of
    /// healthy ones too. One whose renewal is overdue did not clear it.
    fn noted_stalled(&mut self, is_marked: bool, at: Mono, fx: &mut Effects) {
        let is_overdue = self.tenure().is_some_and(|t| t.overdue.is_some());
        let is_stalled = is_marked && is_overdue;
        if is_stalled && !self.beside.is_stalled {
            let detail = "its library has taken note that the holder stalled";
            self.note(at, "noted_stalled", detail, Weight::Change, fx);
        }
        self.beside.is_stalled = is_stalled;
    }

    /// Whether it ever showed who waits.
    pub fn shows_waiters(&self) -> bool {
        self.beside.waiters.is_some() || self.waiters_inside.is_some()
    }

    /// How many wait, by the last read if that is recent enough.
    pub fn waiters(&self, now: Mono, poll: std::time::Duration) -> Option<u64> {
        let recent = |w: &Waiters| is_fresh(Some(w.span.done), now, poll);
        self.beside.waiters.filter(recent).or(self.waiters_inside.filter(recent)).map(|w| w.count)
    }
}

/// Until when somebody holds who took the lock `holds` times: until the last of these ends. Inner `None` if all of them are
/// over, outer if that is not known of all.
fn latest<'a>(
    told: impl Iterator<Item = &'a CompanionValue>,
    holds: u64,
    now: ServerTime,
) -> Option<Option<Expiry>> {
    let mut over = 0;
    let mut last = None;
    for value in told {
        match (value, last) {
            (CompanionValue::Until(Expiry::At(e)), _) if *e <= now => over += 1,
            (CompanionValue::Missing, _) => over += 1,
            (CompanionValue::Until(Expiry::At(e)), Some(Expiry::At(known))) => {
                last = Some(Expiry::At(known.max(*e)));
            }
            (CompanionValue::Until(Expiry::Never), _) => last = Some(Expiry::Never),
            (CompanionValue::Until(expiry), None) => last = Some(*expiry),
            _ => {}
        }
    }
    if last.is_some() || over >= holds { Some(last) } else { None }
}

/// The same to what a server below 7.0 tells.
fn is_close(a: Expiry, b: Expiry) -> bool {
    match (a, b) {
        (Expiry::At(a), Expiry::At(b)) => a.micros_since(b).abs() <= 2_000,
        (a, b) => a == b,
    }
}

pub(super) fn is_ahead(expiry: Expiry, now: ServerTime) -> bool {
    match expiry {
        Expiry::At(e) => e > now,
        Expiry::Never => true,
    }
}

fn number(value: &CompanionValue) -> Option<u64> {
    match value {
        CompanionValue::Number(n) => u64::try_from(*n).ok(),
        CompanionValue::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn is_there(value: &CompanionValue) -> bool {
    !matches!(value, CompanionValue::Missing | CompanionValue::Number(..=0))
}
