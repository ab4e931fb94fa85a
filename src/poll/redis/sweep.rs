//! Reads the watched keys of one node: batch by batch in a sweep, or some at once. Decides how each key is read (its
//! form) and keeps out of the batches what may not be read. Knows no pace and no clock of its own; `node` drives it.

use std::collections::VecDeque;

use super::ability::Abilities;
use super::batch::{self, Dialect, Form};
use super::batch_size::BatchSize;
use super::blame::{Blame, blame, is_refused};
use super::cluster::Membership;
use super::cluster::redirect::Redirect;
use super::conn::Conn;
use super::context::Settings;
use super::failure::Failure;
use super::groups::Groups;
use super::refused::Refusals;
use super::slot::{Outcome, Stamp};
use super::slots::Slots;
use crate::observe::lock::Unreadable;
use crate::observe::node::Flushes;
use crate::observe::{BatchRead, Found, KeyId, KeyRead, Mono, NodeRef, Span};

/// The keys of one node and how they are read.
pub struct Sweeper {
    pub(super) node: NodeRef,
    pub(super) connection: u64,
    pub(super) slots: Slots,
    pub(super) groups: Groups,
    /// How many keys a transaction has.
    pub(super) size: BatchSize,
    /// Full transactions since the server was last asked what they took.
    pub(super) transactions: u64,
    /// The newest key that was ever in the list.
    pub(super) newest: Option<KeyId>,
    /// Keys whose type has to be asked for.
    pub(super) untyped: VecDeque<u32>,
    /// Room for the keys of batches that are under way.
    pub(super) spare: Vec<Vec<u32>>,
    /// Keys that changed their form during the present transaction.
    moves: Vec<(u32, Option<Form>)>,
    expiries: Vec<Option<i64>>,
    /// Refused keys are tried again with the next sweep.
    pub(super) retry_refused: bool,
    /// How often keys of each entry were refused.
    pub(super) refusals: Refusals,
    /// How long a found key may be away, and those that were away so long.
    pub(super) settings: Settings,
    pub(super) gone: Vec<KeyId>,
    /// The server is out of memory; when a transaction was last tried in vain.
    pub(super) starved: Option<Mono>,
    /// What is different on a node of a cluster.
    pub(super) membership: Option<Membership>,
    /// A replica of a cluster on which we may not read.
    pub(super) is_shut_out: bool,
    /// Keys that another node is to be asked for, until that is told.
    pub(super) strays: Vec<(KeyId, Redirect)>,
    /// How often databases were emptied by the last count, and since when it has not risen.
    pub(super) flushes: Option<(Flushes, Mono)>,
    /// Up to when keys that did not change had their turn to be read.
    pub(super) turned_at: Option<Mono>,
    /// The server's run id.
    pub(super) run_id: Option<String>,
}

impl Sweeper {
    /// No keys yet.
    pub fn new(node: NodeRef, settings: Settings) -> Self {
        let dialect = Dialect { absolute: false, role: false, multi: true };
        Self {
            node,
            connection: 0,
            slots: Slots::default(),
            groups: Groups::new(dialect, batch::BATCH),
            size: BatchSize::default(),
            transactions: 0,
            newest: None,
            untyped: VecDeque::new(),
            spare: Vec::new(),
            moves: Vec::new(),
            expiries: Vec::new(),
            retry_refused: false,
            refusals: Refusals::default(),
            settings,
            gone: Vec::new(),
            starved: None,
            membership: None,
            is_shut_out: false,
            strays: Vec::new(),
            flushes: None,
            turned_at: None,
            run_id: None,
        }
    }

    /// A new connection, perhaps to another server: all types are asked for again, what was refused stays refused.
    pub fn connected(&mut self, connection: u64, dialect: Dialect, membership: Option<Membership>) {
        self.connection = connection;
        self.membership = membership;
        // Keys of two slots cannot be in one transaction.
        let limit = if membership.is_some() { 1 } else { self.size.keys() };
        self.size.connected();
        self.transactions = 0;
        let multi = self.starved.is_none();
        self.groups = Groups::new(Dialect { multi, ..dialect }, limit);
        self.untyped.clear();
        self.moves.clear();
        self.flushes = None;
        let places: Vec<u32> = self.slots.places().collect();
        for place in places {
            let Some(slot) = self.slots.get_mut(place) else { continue };
            slot.absent_since = None;
            slot.read_at = None;
            slot.home = None;
            let form = slot.form.take().filter(|f| *f == Form::Denied);
            self.settle(place, form);
        }
    }

    /// Gives what was refused another try with the next sweep.
    pub fn retry_refused(&mut self) {
        self.retry_refused = true;
    }

    /// Runs one batch of the plan.
    pub async fn run(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        (form, index): (Form, usize),
    ) -> Result<Vec<BatchRead>, Failure> {
        self.try_transaction(conn).await?;
        let batch = self.groups.take(form, index, &self.slots);
        let mut reads = Vec::with_capacity(1);
        let done = match batch.members.is_empty() {
            true => Ok(None),
            false => self.transact(conn, form, &batch.members, &batch.packed, &mut reads).await,
        };
        let aborted = matches!(done, Ok(Some(_)));
        let members = if aborted { batch.members.clone() } else { Vec::new() };
        self.groups.restore(form, index, batch);
        let blame = done?;
        self.after((blame.is_none() && !reads.is_empty()).then_some(form), abilities);
        if let Some(blame) = blame {
            self.bisect(conn, abilities, form, members, blame, &mut reads).await?;
        }
        Ok(reads)
    }

    /// One batch. If the server refused it, says whose fault that was.
    pub(super) async fn transact(
        &mut self,
        conn: &mut Conn,
        form: Form,
        members: &[u32],
        packed: &batch::Packed,
        reads: &mut Vec<BatchRead>,
    ) -> Result<Option<Blame>, Failure> {
        let (span, replies) = self.ask_batch(conn, form, members, packed).await?;
        self.take_replies(conn, form, members, (span, replies), reads)
    }

    /// What the replies that are looked at hold of one batch.
    pub(super) fn take_replies(
        &mut self,
        conn: &Conn,
        form: Form,
        members: &[u32],
        (span, replies): (Span, usize),
        reads: &mut Vec<BatchRead>,
    ) -> Result<Option<Blame>, Failure> {
        let dialect = self.groups.dialect();
        if is_refused(conn, dialect, replies) {
            let asked = self.membership.is_some().then(|| self.host());
            return blame(conn, form, dialect, members.len(), replies, asked).map(Some);
        }
        let walk = match dialect.multi {
            true => conn.walk(replies.saturating_sub(1)),
            false => conn.walk_all().ok_or_else(|| Failure::unexpected("a read"))?,
        };
        self.transactions += u64::from(members.len() >= self.groups.limit());
        let count = if form == Form::Denied { 0 } else { members.len() };
        let mut exec = batch::open(form, dialect, count, walk, &mut self.expiries)?;
        let stamp = Stamp { time: exec.time, until: exec.until, absolute: dialect.absolute };
        let mut found = Vec::with_capacity(members.len());
        for (i, place) in members.iter().enumerate() {
            let Some(slot) = self.slots.get_mut(*place) else { continue };
            let key = slot.watched.id;
            if form == Form::Denied {
                let why = slot.denied.map_or(Unreadable::Unexpected, |(why, _)| why);
                found.push(KeyRead { key, found: Found::Unreadable(why) });
                continue;
            }
            let expiry = self.expiries.get(i).copied().flatten();
            let read = match slot.read(
                form,
                &mut exec.values,
                &mut exec.heads,
                &mut exec.tails,
                expiry,
                stamp,
            ) {
                Outcome::Found(read) => read,
                Outcome::Moved(read, form) => {
                    slot.crowded = (form == Form::Opaque && !slot.huge).then_some(span.done);
                    self.moves.push((*place, Some(form)));
                    read
                }
                Outcome::Retype => {
                    slot.read_at = None;
                    self.moves.push((*place, None));
                    continue;
                }
            };
            slot.strikes = 0;
            slot.note_read(&read, span);
            if slot.denied.take().is_some() {
                self.refusals.readable(slot.watched.entry, true);
            }
            if slot.note_absence(&read, span, &self.settings) {
                self.gone.push(key);
            }
            found.push(KeyRead { key, found: read });
        }
        reads.push(BatchRead {
            node: self.node.clone(),
            connection: self.connection,
            span,
            // What is absent outside of a transaction may have expired after the first.
            time: if dialect.multi { exec.time } else { exec.until },
            role: exec.role,
            offset: exec.offset,
            reads: found,
        });
        Ok(None)
    }

    /// Puts a key among those of its form, or among those to be typed.
    pub(super) fn settle(&mut self, place: u32, form: Option<Form>) {
        let Some(slot) = self.slots.get_mut(place) else { return };
        if let (Some(old), Some(home)) = (slot.form, slot.home) {
            self.groups.remove(old, home, place);
        }
        slot.form = form;
        slot.home = form.and_then(|form| self.groups.insert(form, place));
        if form.is_none() {
            self.untyped.push_back(place);
        }
    }

    /// What a transaction left to do; `read` is the form of what it read, unless that was refused.
    pub(super) fn after(&mut self, read: Option<Form>, abilities: &mut Abilities) {
        for (place, form) in std::mem::take(&mut self.moves) {
            match form {
                Some(form) => self.settle(place, Some(form)),
                None => self.strike(place),
            }
        }
        match read {
            Some(Form::Text) => abilities.serves("mget"),
            Some(Form::Hash) => abilities.serves("hgetall"),
            Some(Form::Zset) => {
                abilities.serves("zrange");
                abilities.serves("zcard");
            }
            Some(Form::Set) => abilities.serves("smembers"),
            _ => {}
        }
    }
}
