//! Keys that tell more of a lock: who waits, the last fencing token, the holder's worker. Read for the locks that are held
//! (and for free ones, who waits), so many in each round and a handful of each lock; a round goes on where the last one
//! stopped, so that all have their turn. What cannot be read is left out.

use std::sync::Arc;

use tracing::warn;

use super::LOOKED_AT;
use super::ask::{self, Answer};
use super::refusals::{Kind, Refusals, Refused};
use crate::clock;
use crate::format::MAX_COMPANIONS;
use crate::observe::lock::{Companion, CompanionPart, CompanionRead, CompanionValue, Tells};
use crate::observe::{Decoded, KeyId, Mono, ServerTime, Span, StoreId};
use crate::poll::redis::ability::{Abilities, Ability};
use crate::poll::redis::cluster::key_slot::slot_of;
use crate::poll::redis::conn::Conn;
use crate::poll::redis::facts;
use crate::poll::redis::failure::Failure;
use crate::poll::redis::pack;
use crate::poll::redis::slot::Slot;
use crate::poll::redis::sweep::Sweeper;

/// Companions of one round.
pub const PER_ROUND: usize = 2000;
/// Companions of one lock: all that a format gives.
pub const PER_LOCK: usize = MAX_COMPANIONS;
/// Companions of one pipeline, and at most those of one lock more.
const PER_STEP: usize = 100;

/// The round over all companions.
#[derive(Default)]
pub struct Companions {
    /// The next place to look at.
    at: usize,
    /// Places that this round has not looked at.
    ahead: usize,
    /// Companions that this round may still read.
    left: usize,
    refusals: Refusals,
}

/// One companion that is asked for.
struct Question {
    place: u32,
    key: KeyId,
    decoded: Arc<Decoded>,
    index: usize,
}

impl Question {
    fn companion(&self) -> Option<&Companion> {
        self.decoded.companions.get(self.index)
    }
}

impl Companions {
    /// A round begins.
    pub fn begin(&mut self, sweeper: &Sweeper) {
        let ahead = if sweeper.slots.has_companions() { sweeper.slots.width() } else { 0 };
        (self.ahead, self.left) = (ahead, PER_ROUND);
    }

    /// Whether the round is over.
    pub fn is_done(&self) -> bool {
        self.ahead == 0 || self.left == 0
    }

    /// Rights may have been granted.
    pub fn retry_refused(&mut self, sweeper: &mut Sweeper) {
        self.refusals.forget();
        sweeper.slots.each(|slot| slot.refused_beside = Refused::default());
    }

    /// Reads the next of them for the store of that id; `now_ms` is the server's time.
    pub async fn step(
        &mut self,
        conn: &mut Conn,
        sweeper: &mut Sweeper,
        abilities: &mut Abilities,
        (store, now_ms): (StoreId, i64),
    ) -> Result<Vec<CompanionRead>, Failure> {
        let absolute = abilities.of("pexpiretime") == Ability::Works;
        let mut unnamed = Vec::new();
        let asked = self.gather(sweeper, abilities, absolute, &mut unnamed);
        let unnamed = refused_names(store, unnamed, ServerTime::from_ms(now_ms));
        let mut request = Vec::new();
        pack::command(&mut request, &["TIME"]);
        for companion in asked.iter().filter_map(Question::companion) {
            ask::pack(&mut request, companion, absolute, now_ms);
        }
        if asked.is_empty() {
            return Ok(unnamed);
        }
        let mut span = conn.exchange(&request, asked.len() + 1).await?;
        let time = facts::time(&mut conn.walk(0))?;
        let mut answers = Vec::with_capacity(asked.len());
        let mut fields = Vec::new();
        for (i, question) in asked.iter().enumerate() {
            let Some(companion) = question.companion() else { continue };
            let answer = ask::answer(companion, absolute, time, conn.walk(i + 1))?;
            if answer == Answer::Field {
                fields.push(i);
            }
            answers.push((ask::command(&companion.part, absolute), answer));
        }
        if !fields.is_empty() {
            span.done = read_fields(conn, &asked, &fields, &mut answers).await?.done;
        }
        let mut reads: Vec<CompanionRead> = Vec::new();
        for (question, (command, answer)) in asked.iter().zip(answers) {
            let Some(tells) = question.companion().map(|c| c.tells) else { continue };
            let Some(value) = self.note(sweeper, abilities, question, (command, answer)) else {
                continue;
            };
            match reads.last_mut().filter(|r| r.key == question.key) {
                Some(read) => read.told.push((tells, value)),
                None => {
                    let (key, told) = (question.key, vec![(tells, value)]);
                    reads.push(CompanionRead { store, key, span, time, told });
                }
            }
        }
        reads.extend(unnamed);
        Ok(reads)
    }

    /// What is asked for in this step; moves on.
    fn gather(
        &mut self,
        sweeper: &Sweeper,
        abilities: &Abilities,
        absolute: bool,
        unnamed: &mut Vec<KeyId>,
    ) -> Vec<Question> {
        let now = clock::mono();
        let mut asked = Vec::new();
        let mut looked_at = 0;
        while !self.is_done() && asked.len() < PER_STEP && looked_at < LOOKED_AT {
            let place = self.at % sweeper.slots.width().max(1);
            self.at = place + 1;
            self.ahead -= 1;
            looked_at += 1;
            let Ok(place) = u32::try_from(place) else { continue };
            let Some(slot) = sweeper.slots.get(place).filter(|s| s.has_companions) else {
                continue;
            };
            let Some((decoded, is_held)) = slot.last() else { continue };
            let is_open = |c: &Companion| {
                abilities.worth_trying(ask::command(&c.part, absolute))
                    && !self.leaves_alone(slot, Kind::of(decoded.format, c.tells), now)
            };
            // What lies in another slot of a cluster may be another shard's.
            let is_scattered = sweeper.membership.is_some();
            let is_here = |c: &Companion| !is_scattered || slot_of(&c.key) == slot.watched.slot;
            let wanted =
                |c: &Companion| is_here(c) && (is_held || c.tells == Tells::Waiters) && is_open(c);
            let is_shut = |c: &Companion| c.tells == Tells::Worker && !is_open(c);
            let is_unnamed = is_held && decoded.companions.iter().any(is_shut);
            let wanted = (0..).zip(&decoded.companions).filter(|(_, c)| wanted(c));
            let wanted: Vec<usize> = wanted.take(PER_LOCK).map(|(index, _)| index).collect();
            if wanted.len() > self.left {
                // Half of what lies beside a lock would tell of some holders that they are gone. It is the next round's first.
                (self.at, self.left) = (self.at - 1, 0);
                break;
            }
            self.left -= wanted.len();
            let question =
                |index| Question { place, key: slot.watched.id, decoded: decoded.clone(), index };
            asked.extend(wanted.into_iter().map(question));
            if is_unnamed {
                unnamed.push(slot.watched.id);
                self.left = self.left.saturating_sub(1);
            }
        }
        asked
    }

    fn leaves_alone(&self, slot: &Slot, kind: Kind, now: Mono) -> bool {
        slot.refused_beside.covers(kind, now) || self.refusals.covers(kind, now)
    }

    /// Remembers how a question fared; gives what it told.
    fn note(
        &mut self,
        sweeper: &mut Sweeper,
        abilities: &mut Abilities,
        question: &Question,
        (command, answer): (&'static str, Answer),
    ) -> Option<CompanionValue> {
        let now = clock::mono();
        let format = question.decoded.format;
        let kind = Kind::of(format, question.companion()?.tells);
        match answer {
            Answer::Told(value) => {
                self.refusals.answered(kind);
                abilities.serves(command);
                return Some(value);
            }
            Answer::Field | Answer::Useless => {}
            Answer::Unable if command != "pexpiretime" && command != "pttl" => {
                tell_unable(abilities, command);
            }
            Answer::Refused | Answer::Unable => {
                if let Some(slot) = sweeper.slots.get_mut(question.place) {
                    slot.refused_beside.add(kind, now);
                }
                if self.refusals.refused(kind, now) {
                    // Not which keys: their names may hold an owner's token.
                    warn!(format, node = %sweeper.node.addr,
                        "keys beside locks of this format cannot be read, so who waits, fencing tokens or workers are not told; may the ACL user read them? tried again in 5 minutes or at a reload");
                }
            }
        }
        None
    }
}

/// Workers' names that are not asked for because the server refused them before.
fn refused_names(store: StoreId, keys: Vec<KeyId>, time: ServerTime) -> Vec<CompanionRead> {
    let now = clock::mono();
    let span = Span { sent: now, done: now };
    let told = || vec![(Tells::Worker, CompanionValue::Refused)];
    keys.into_iter().map(|key| CompanionRead { store, key, span, time, told: told() }).collect()
}

/// A command is not sent any more for a while.
pub fn tell_unable(abilities: &mut Abilities, command: &'static str) {
    if !matches!(abilities.of(command), Ability::Refused(_)) {
        warn!(
            command,
            "refused, so what lies beside locks is not all told; grant it as the README's line does"
        );
    }
    abilities.refuse(command);
}

/// Reads the fields that are known to be small.
async fn read_fields(
    conn: &mut Conn,
    asked: &[Question],
    fields: &[usize],
    answers: &mut [(&'static str, Answer)],
) -> Result<Span, Failure> {
    let mut request = Vec::new();
    let of = |i: &usize| asked.get(*i).and_then(Question::companion);
    for companion in fields.iter().filter_map(of) {
        if let CompanionPart::Field(field) = &companion.part {
            pack::command(&mut request, &[b"HGET".as_slice(), &companion.key, field]);
        }
    }
    let span = conn.exchange(&request, fields.len()).await?;
    for (reply, i) in fields.iter().enumerate() {
        if let (Some(companion), Some(answer)) = (of(i), answers.get_mut(*i)) {
            *answer = ("hget", ask::field(companion, conn.walk(reply))?);
        }
    }
    Ok(span)
}
