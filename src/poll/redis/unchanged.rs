//! Which keys of the primary a sweep need not read, since its event feed proves that nothing was done to them: they are told
//! as they were, as of the instant that was proven. What cannot be proven is read. Does not ask for the proof.

use std::collections::HashMap;
use std::time::Duration;

use super::ability::Abilities;
use super::batch::{BATCH, Form};
use super::brief::Kind;
use super::conn::Conn;
use super::context::Settings;
use super::failure::Failure;
use super::groups::pack;
use super::slot::Slot;
use super::sweep::Sweeper;
use crate::clock;
use crate::observe::lock::Unchanged;
use crate::observe::{
    BatchRead, Expiry, Found, KeyId, KeyRead, Mono, NodeFacts, Observation, Role, ServerTime, Span,
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
    /// Places of those that are told by themselves, until they are.
    rest: Vec<u32>,
    /// What is told of the others by one word, until it is.
    word: Option<Unchanged>,
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

/// Which keys have their turn to be read although they did not change: over a sweep interval all of them once, so that no sweep
/// reads very many for that alone.
struct Turn {
    from: usize,
    to: usize,
    /// What was read before that has its turn whatever its place is.
    oldest: Mono,
    /// What was read since needs none.
    newest: Mono,
}

impl Turn {
    /// Of the time since the last one.
    fn new(last: &mut Option<Mono>, now: Mono, settings: &Settings, width: usize) -> Self {
        let interval = settings.sweep_interval.max(Duration::from_nanos(1));
        let place = |at: Mono| {
            let passed = u128::from(at.0) % interval.as_nanos();
            usize::try_from(passed * width as u128 / interval.as_nanos()).unwrap_or(0)
        };
        let (from, to) = (place(last.unwrap_or(now)), place(now));
        *last = Some(now);
        let oldest = now.minus(interval.saturating_add(settings.poll_interval * 4));
        Self { from, to, oldest, newest: now.minus(interval / 2) }
    }

    fn has_come(&self, place: u32, read_at: Mono) -> bool {
        let place = place as usize;
        let is_between = match self.from <= self.to {
            true => self.from <= place && place < self.to,
            false => self.from <= place || place < self.to,
        };
        read_at <= self.oldest || (is_between && read_at < self.newest)
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

    /// What of the keys has to be read, if it is less than half of them. Each is read once in a sweep interval all the same, a few
    /// in each sweep.
    pub fn divide(&mut self, probe: BatchRead, proven: Proven) -> Option<Sparse> {
        let (_, unflushed) = self.flushes?;
        let since = proven.since.max(unflushed);
        let now = clock::mono();
        let turn = Turn::new(&mut self.turned_at, now, &self.settings, self.slots.width());
        let (mut due, mut rest, mut except) = (Vec::new(), Vec::new(), Vec::new());
        let mut covered = 0;
        for (place, brief) in self.slots.briefs() {
            match brief.kind {
                Kind::LeftOut => continue,
                Kind::Untyped => {
                    except.push(brief.id);
                    continue;
                }
                Kind::Unknown | Kind::Told | Kind::Covered => {}
            }
            let is_known = brief.is_known(probe.time, since, proven.last, NEAR_MICROS);
            let is_covered = brief.kind == Kind::Covered;
            match (is_known, is_covered) {
                (true, true) => covered += 1,
                (true, false) if !turn.has_come(place, brief.read_at) => rest.push(place),
                (true, false) => {}
                (false, _) => except.push(brief.id),
            }
            if !is_known || turn.has_come(place, brief.read_at) {
                due.push(place);
            }
        }
        except.sort_unstable();
        let word = proven.last.filter(|_| covered > 0);
        let word = word.map(|last| Unchanged { probe: probe.clone(), last, except });
        (due.len() < rest.len() + covered).then_some(Sparse { probe, due, rest, word })
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
    pub fn tell_some(&mut self, sparse: &mut Sparse) -> Option<Observation> {
        if let Some(word) = sparse.word.take() {
            return Some(Observation::Unchanged(Box::new(word)));
        }
        if sparse.rest.is_empty() {
            return None;
        }
        let some = sparse.rest.split_off(sparse.rest.len().saturating_sub(TOLD_AT_ONCE));
        Some(Observation::Batch(self.tell_unchanged(&sparse.probe, &some)))
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
