//! What deciding whether a key has to be read needs to know of it, in few bytes: of very many keys that rest, those that have to be
//! read are found by going over these alone. Made of a slot, and kept only as long as nobody may have changed that.

use super::batch::Form;
use super::slot::Slot;
use crate::observe::{KeyId, Mono, ServerTime};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    pub id: KeyId,
    pub kind: Kind,
    /// When the last read was asked for that showed how it stands; the beginning of time if none did.
    pub read_at: Mono,
    /// When it was last told to have changed.
    changed_at: Mono,
    /// When its lease ends.
    end: ServerTime,
    /// Its format has more to tell in other keys.
    pub has_companions: bool,
}

/// How a key that did not change is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is neither read here nor told.
    LeftOut,
    /// Its type is to be asked for, and it is read then.
    Untyped,
    /// Nothing can be told of it without a read.
    Unknown,
    /// By itself.
    Told,
    /// By one word with all that are like it: locks of a group that a pattern found, and that are there.
    Covered,
}

impl Brief {
    /// Of a slot.
    pub fn of(slot: &Slot) -> Self {
        let rules = &slot.watched.rules;
        let is_member = slot.watched.found && rules.group.is_some() && rules.servers.is_none();
        let cache = slot.cache.as_ref().filter(|_| slot.is_there);
        let kind = match (slot.form, slot.absent_since, cache) {
            (None, ..) => Kind::Untyped,
            // The sweep's plan tells those.
            (Some(Form::Denied), ..) => Kind::LeftOut,
            (_, Some(_), _) => Kind::Told,
            (_, None, None) => Kind::Unknown,
            (..) if is_member => Kind::Covered,
            (..) => Kind::Told,
        };
        let end = cache.filter(|_| slot.absent_since.is_none()).and_then(|c| c.expiry);
        Self {
            id: slot.watched.id,
            kind,
            read_at: slot.read_at.unwrap_or_default(),
            changed_at: slot.changed_at.unwrap_or_default(),
            end: end.unwrap_or(ServerTime(i64::MAX)),
            has_companions: slot.has_companions,
        }
    }

    /// Whether it is known to be as it was at this time of the server, if all changes since an instant were told of, of keys up to
    /// a number. A lease that ends so soon is read.
    pub fn is_known(&self, time: ServerTime, since: Mono, last: Option<KeyId>, near: i64) -> bool {
        self.kind != Kind::Unknown
            && self.read_at > Mono(0)
            && self.read_at >= since
            && self.changed_at <= self.read_at
            && Some(self.id) <= last
            && self.end.micros_since(time) > near
    }
}
