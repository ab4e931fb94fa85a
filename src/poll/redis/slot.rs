//! What one node's poller remembers of one key: how to read it, and what it showed last, so that unchanged bytes cost a
//! comparison and no decoding. Pure.

use std::sync::Arc;

use super::asides::Aside;
use super::batch::{Form, HEAD, MAX_ELEMENTS, ends};
use super::beside::Refused;
use super::codec::{Item, Walk};
use super::collection;
use super::keys::WatchedKey;
use crate::format::{self, Raw};
use crate::observe::lock::{Shape, Unreadable};
use crate::observe::{Decoded, Expiry, Found, Mono, ServerTime};

/// Bytes of a hash, set or sorted set that is still read; its length says nothing of the size of its elements.
pub const MAX_COLLECTION: usize = 64 << 10;

/// Two expiries made of `TIME` + `PTTL` this far apart are the same one: both are rounded to a millisecond.
const SAME_EXPIRY_MICROS: i64 = 2_000;

/// One key.
pub struct Slot {
    /// Which.
    pub watched: Arc<WatchedKey>,
    /// How to read it; `None` until its type was asked for.
    pub form: Option<Form>,
    /// The batch it is in.
    pub home: Option<usize>,
    /// How often in a row it was of another type than the server said.
    pub strikes: u8,
    /// It was a string longer than [`HEAD`] once, and is never fetched whole again.
    pub long: bool,
    /// It was a value of more than [`MAX_COLLECTION`] bytes, and is not read again until it went away.
    pub huge: bool,
    /// Since when it is known to have too many elements to be read; it is counted again now and then.
    pub crowded: Option<Mono>,
    /// Why it cannot be read, and since when.
    pub denied: Option<(Unreadable, Mono)>,
    /// It is among the denied because others of its pattern are, and was not asked for.
    pub is_presumed: bool,
    /// A read showed an owner: it is a lock.
    pub has_owned: bool,
    /// What was last told of it.
    pub told_aside: Aside,
    /// The last read said that it is there.
    pub is_there: bool,
    /// Its format has more to tell in other keys.
    pub has_companions: bool,
    /// Which of those were refused.
    pub refused_beside: Refused,
    /// Since when every read has said that there is no such key.
    pub absent_since: Option<Mono>,
    /// When the last read of it was asked for that showed how it stands.
    pub read_at: Option<Mono>,
    /// When it was last told to have changed.
    pub changed_at: Option<Mono>,
    pub(super) cache: Option<Cached>,
}

/// What a key showed last.
pub(super) struct Cached {
    bytes: Box<[u8]>,
    full_len: usize,
    form: Form,
    pub(super) decoded: Arc<Decoded>,
    pub(super) expiry: Option<ServerTime>,
}

/// What came of looking at a reply.
pub enum Outcome {
    /// This.
    Found(Found),
    /// This, and from now on the key is read in another form.
    Moved(Found, Form),
    /// The key is of another type than we thought: ask for it.
    Retype,
}

/// The clock and the kind of expiries in a reply.
#[derive(Clone, Copy)]
pub struct Stamp {
    /// `TIME` before the expiries were read.
    pub time: ServerTime,
    /// `TIME` after that.
    pub until: ServerTime,
    /// Expiries are absolute; otherwise they are what remains.
    pub absolute: bool,
}

impl Slot {
    /// A key that nothing is known of yet.
    pub fn new(watched: Arc<WatchedKey>) -> Self {
        Self {
            watched,
            form: None,
            home: None,
            strikes: 0,
            long: false,
            huge: false,
            crowded: None,
            denied: None,
            is_presumed: false,
            has_owned: false,
            told_aside: Aside::No,
            is_there: false,
            has_companions: false,
            refused_beside: Refused::default(),
            absent_since: None,
            read_at: None,
            changed_at: None,
            cache: None,
        }
    }

    /// Reads the key's elements of a reply. `expiry` is the server's number, `head` the second column of [`Form::Long`] and
    /// `tail` its third; of [`Form::Zset`] that is the second.
    pub fn read(
        &mut self,
        form: Form,
        value: &mut Walk<'_>,
        head: &mut Walk<'_>,
        tail: &mut Walk<'_>,
        expiry: Option<i64>,
        stamp: Stamp,
    ) -> Outcome {
        let outcome = self.look(form, value, head, tail, expiry, stamp);
        match outcome.unwrap_or(Outcome::Found(Found::Unreadable(Unreadable::Unexpected))) {
            Outcome::Found(Found::Absent) => {
                self.huge = false;
                if let Some(cache) = &mut self.cache {
                    cache.expiry = None;
                }
                // A value too large to be read may come back as a lock.
                match form {
                    Form::Opaque => Outcome::Moved(Found::Absent, Form::Text),
                    _ => Outcome::Found(Found::Absent),
                }
            }
            other => other,
        }
    }

    fn look(
        &mut self,
        form: Form,
        value: &mut Walk<'_>,
        head: &mut Walk<'_>,
        tail: &mut Walk<'_>,
        expiry: Option<i64>,
        stamp: Stamp,
    ) -> Option<Outcome> {
        // Both walks move on by one element whatever it is, or the next key would read this one's.
        let raw = if form.is_collection() { value.raw()? } else { &[] };
        let item = match form.is_collection() {
            true => Walk::new(raw).next()?,
            false => value.next()?,
        };
        let head = match form {
            Form::Long => Some((head.next()?, Some(tail.next()?))),
            Form::Zset => Some((tail.next()?, None)),
            _ => None,
        };
        let Some(expiry) = expiry else {
            return Some(Outcome::Found(Found::Unreadable(Unreadable::Unexpected)));
        };
        if expiry == -2 {
            return Some(Outcome::Found(Found::Absent));
        }
        let found = match (form, item, head) {
            (Form::Text, Item::Bulk(bytes), _) => {
                let cut = ends(bytes, bytes, bytes.len());
                let found = self.string(form, &cut, bytes.len(), expiry, stamp)?;
                if bytes.len() > HEAD {
                    self.long = true;
                    return Some(Outcome::Moved(found, Form::Long));
                }
                found
            }
            (Form::Long, Item::Int(len), Some((Item::Bulk(head), Some(Item::Bulk(tail))))) => {
                let len = usize::try_from(len).ok()?;
                self.string(form, &ends(head, tail, len), len, expiry, stamp)?
            }
            (form, Item::Many(_), count) if form.is_collection() => {
                let len = collection::len(form, raw)?;
                if len == 0 {
                    // It came after its value was read and before its expiry was; MGET says nil then, as below.
                    return Some(Outcome::Retype);
                }
                if len > MAX_ELEMENTS || raw.len() > MAX_COLLECTION {
                    self.huge |= raw.len() > MAX_COLLECTION;
                    let (kind, shape) = collection::kind(form);
                    let found = self.opaque(kind, shape, expiry, stamp)?;
                    return Some(Outcome::Moved(found, Form::Opaque));
                }
                let beyond = collection::beyond(count.map(|(n, _)| n), len)?;
                // The elements of an unchanged small value keep their order.
                self.present(form, raw, beyond, expiry, stamp, |w| {
                    let decoded = collection::open(form, raw)?.decode(&w.key, &w.rules, stamp.time);
                    Some(format::cut(decoded, &w.key, beyond))
                })?
            }
            (Form::Opaque, Item::Simple(b"string" | b"none"), _) => return Some(Outcome::Retype),
            // Not one that was counted or was too large: it was of another type until now.
            (Form::Opaque, Item::Simple(b"hash" | b"zset" | b"set"), _)
                if !self.huge && self.crowded.is_none() =>
            {
                return Some(Outcome::Retype);
            }
            (Form::Opaque, Item::Simple(kind), _) => {
                self.opaque(kind, collection::shape_of_type(kind), expiry, stamp)?
            }
            // MGET says nil for a key of another type, the others an error.
            (Form::Text, Item::Null, _) => return Some(Outcome::Retype),
            (_, Item::Error(e), _) if e.starts_with(b"WRONGTYPE") => return Some(Outcome::Retype),
            _ => Found::Unreadable(Unreadable::Unexpected),
        };
        Some(Outcome::Found(found))
    }

    /// What it showed last, if the last read showed that or that the key is gone; and whether somebody holds it.
    pub fn last(&self) -> Option<(&Arc<Decoded>, bool)> {
        let decoded = &self.cache.as_ref()?.decoded;
        let is_known = self.is_there || self.absent_since.is_some();
        is_known.then_some((decoded, self.is_there && !decoded.holders.is_empty()))
    }

    fn string(
        &mut self,
        form: Form,
        bytes: &[u8],
        full_len: usize,
        expiry: i64,
        stamp: Stamp,
    ) -> Option<Found> {
        // A string is the same value whichever command read it.
        let form = if form == Form::Long { Form::Text } else { form };
        let raw = Raw::String { bytes, full_len };
        self.present(form, bytes, full_len, expiry, stamp, |w| {
            Some(format::decode(&w.key, raw, &w.rules, stamp.time))
        })
    }

    fn opaque(&mut self, kind: &[u8], shape: Shape, expiry: i64, stamp: Stamp) -> Option<Found> {
        let raw = Raw::Unread(shape);
        self.present(Form::Opaque, kind, 0, expiry, stamp, |w| {
            Some(format::decode(&w.key, raw, &w.rules, stamp.time))
        })
    }

    /// `None` if it could not be decoded because it is no such value.
    fn present(
        &mut self,
        form: Form,
        bytes: &[u8],
        full_len: usize,
        expiry: i64,
        stamp: Stamp,
        decode: impl FnOnce(&WatchedKey) -> Option<Decoded>,
    ) -> Option<Found> {
        let is_known = self
            .cache
            .as_ref()
            .is_some_and(|c| c.form == form && c.full_len == full_len && *c.bytes == *bytes);
        if !is_known {
            self.cache = None;
            let decoded = Arc::new(decode(&self.watched)?);
            self.has_companions = !decoded.companions.is_empty();
            self.cache =
                Some(Cached { bytes: bytes.into(), full_len, form, decoded, expiry: None });
        }
        let cache = self.cache.as_mut()?;
        let expiry = match expiry {
            ..0 => None,
            ms if stamp.absolute => Some(ServerTime::from_ms(ms)),
            left => {
                let now_ms = stamp.time.0.div_euclid(1000);
                let at = ServerTime::from_ms(now_ms.saturating_add(left));
                // A server that was interrupted in between read the remaining time later than its clock.
                let took = stamp.until.micros_since(stamp.time).max(0);
                let same = |old: &ServerTime| {
                    let later = old.micros_since(at);
                    later >= -SAME_EXPIRY_MICROS && later <= took.saturating_add(SAME_EXPIRY_MICROS)
                };
                Some(cache.expiry.filter(same).unwrap_or(at))
            }
        };
        cache.expiry = expiry;
        let value = cache.decoded.clone();
        Some(Found::Present { value, expiry: expiry.map_or(Expiry::Never, Expiry::At) })
    }
}

#[cfg(test)]
mod tests;
