//! Which keys of the primary a sweep need not read, since its event feed proves that nothing was done to them: they are told
//! as they were, as of the instant that was proven. What cannot be proven is read. Does not ask for the proof.

use std::collections::HashMap;

use super::ability::Abilities;
use super::batch::{BATCH, Form};
use super::conn::Conn;
use super::failure::Failure;
use super::groups::pack;
use super::slot::Slot;
use super::sweep::Sweeper;
use crate::clock;
use crate::observe::{
    BatchRead, Expiry, Found, KeyId, KeyRead, Mono, NodeFacts, Role, ServerTime, Span,
};

/// Unchanged keys told in one go.
const TOLD_AT_ONCE: usize = 1000;
/// A lease that ends this soon is read rather than taken for unchanged.
const NEAR_MICROS: i64 = 50_000;

/// What a feed has proven to a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Proven {
    /// All changes since then were told of.
    pub since: Mono,
    /// Of keys up to this number.
    pub last: Option<KeyId>,
}

/// A sweep that reads only what may have changed.
pub struct Sparse {
    /// When that was asked, and the answer of a read without keys.
    probe: BatchRead,
    /// Places of the keys to be read.
    due: Vec<u32>,
    /// Places of the others, until they are told.
    rest: Vec<u32>,
}

impl Sparse {
    /// Nothing has to be read, so that the facts that were read after the probe are all there is to know.
    pub fn is_idle(&self) -> bool {
        self.due.is_empty()
    }

    /// Steps that are left.
    pub fn steps(&self) -> usize {
        self.due.len().div_ceil(BATCH)
    }
}

impl Slot {
    /// The read shows how the key stands, or that this cannot be told.
    pub fn note_read(&mut self, read: &Found, span: Span) {
        self.read_at = match read {
            Found::Unreadable(_) => None,
            _ => Some(span.sent),
        };
    }

    /// What a read at this time of the server would show, if nothing was done to the key since the last one but by time;
    /// `None` if its lease has run out by then, or nearly, so that only a read can tell.
    pub fn unchanged(&self, time: ServerTime) -> Option<Found> {
        if self.absent_since.is_some() {
            return Some(Found::Absent);
        }
        let cache = self.cache.as_ref().filter(|_| self.is_there)?;
        let expiry = match cache.expiry {
            Some(at) if at.micros_since(time) <= NEAR_MICROS => return None,
            Some(at) => Expiry::At(at),
            None => Expiry::Never,
        };
        Some(Found::Present { value: cache.decoded.clone(), expiry })
    }
}

impl Sweeper {
    /// A read without keys: the server's time, role and offset. `None` if it is no primary's, or not in a transaction.
    pub async fn probe(&mut self, conn: &mut Conn) -> Result<Option<BatchRead>, Failure> {
        let dialect = self.groups.dialect();
        if !dialect.multi || !dialect.role || self.is_shut_out {
            return Ok(None);
        }
        let packed = pack(Form::Denied, dialect, &[], &self.slots);
        let mut reads = Vec::with_capacity(1);
        let blame = self.transact(conn, Form::Denied, &[], &packed, &mut reads).await?;
        let probe = reads.pop().filter(|p| blame.is_none() && p.role == Role::Master);
        Ok(probe)
    }

    /// Takes which server this is, and how often databases were emptied, which a feed need not tell of.
    pub fn note_facts(&mut self, facts: &NodeFacts) {
        self.run_id.clone_from(&facts.run_id);
        self.flushes = facts.flushes.map(|now| match self.flushes {
            Some((before, since)) if before == now => (now, since),
            _ => (now, facts.span.done),
        });
    }

    /// Takes which keys were told to have changed.
    pub fn note_changes(&mut self, changed: HashMap<KeyId, Mono>) {
        for (key, at) in changed {
            let place = self.slots.place(key);
            if let Some(slot) = place.and_then(|p| self.slots.get_mut(p)) {
                slot.changed_at = slot.changed_at.max(Some(at));
            }
        }
    }

    /// What of the keys has to be read, if it is less than half of them.
    pub fn divide(&self, probe: BatchRead, proven: Proven) -> Option<Sparse> {
        let (_, unflushed) = self.flushes?;
        let since = proven.since.max(unflushed);
        let oldest = clock::mono().minus(self.settings.sweep_interval);
        let (mut due, mut rest) = (Vec::new(), Vec::new());
        for place in self.slots.places() {
            let Some(slot) = self.slots.get(place) else { continue };
            let is_known = |at: Mono| {
                at >= since
                    && at > oldest
                    && slot.changed_at.is_none_or(|changed| changed <= at)
                    && Some(slot.watched.id) <= proven.last
                    && slot.unchanged(probe.time).is_some()
            };
            // Keys of unknown type are asked for that, and the refused ones are told by the sweep's plan.
            if slot.form.is_none_or(|form| form == Form::Denied) {
                continue;
            }
            if slot.read_at.is_some_and(is_known) { &mut rest } else { &mut due }.push(place);
        }
        (due.len() < rest.len()).then_some(Sparse { probe, due, rest })
    }

    /// Reads some of the keys that have to be read; nothing once there are none left.
    pub async fn read_due(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        sparse: &mut Sparse,
    ) -> Result<Option<Vec<BatchRead>>, Failure> {
        if sparse.due.is_empty() {
            return Ok(None);
        }
        let some = sparse.due.split_off(sparse.due.len().saturating_sub(BATCH));
        self.read_places(conn, abilities, some).await.map(Some)
    }

    /// Tells some of the keys that are as they were; nothing once there are none left. No other read may be told between
    /// the probe and the last of them.
    pub fn tell_some(&mut self, sparse: &mut Sparse) -> Option<BatchRead> {
        if sparse.rest.is_empty() {
            return None;
        }
        let some = sparse.rest.split_off(sparse.rest.len().saturating_sub(TOLD_AT_ONCE));
        Some(self.tell_unchanged(&sparse.probe, &some))
    }

    /// Tells keys as they were when the probe was made. Who was read since then has been told.
    fn tell_unchanged(&mut self, probe: &BatchRead, places: &[u32]) -> BatchRead {
        let mut reads = Vec::with_capacity(places.len());
        for place in places {
            let Some(slot) = self.slots.get_mut(*place) else { continue };
            let is_older = slot.read_at.is_some_and(|at| at < probe.span.sent);
            let Some(found) = slot.unchanged(probe.time).filter(|_| is_older) else { continue };
            if slot.note_absence(&found, probe.span, &self.settings) {
                self.gone.push(slot.watched.id);
            }
            reads.push(KeyRead { key: slot.watched.id, found });
        }
        BatchRead { reads, ..probe.clone() }
    }
}
