//! The transactions that sweeps are made of: how one is written for a group of keys, and what its reply holds. Pure. All
//! keys of a batch are of one form, because each form is read by its own commands. A server without memory for
//! transactions gets the same commands without the brackets around them (see `memory`).
//!
//! Expiries alone, and then the values of keys whose expiry changed, would take a fifth less of the server's time while
//! nothing changes (5.7 instead of 7.2 ms for 10,000 strings on Redis 7.0: it is the expiries that cost). It would miss a value
//! that changes under the same expiry (`KEEPTTL`, a hold count, any key without one), and tear apart what verdicts
//! need of one instant. Where an event feed proves that keys are unchanged, they are not read at all (see `unchanged`).

use std::borrow::Cow;

use super::ability::{Abilities, Ability};
use super::codec::{Item, Walk};
use super::failure::Failure;
use super::{facts, pack, role};
use crate::observe::{Role, ServerTime};

/// Keys of one transaction: measured to block the server for less than 0.1 ms.
pub const BATCH: usize = 50;
/// Bytes of a string that are read of a long value at its beginning, and as many at its end: what is told apart by its last
/// bytes is another value.
pub const HEAD: usize = 512;
/// Elements of a hash or set that is still read; a lock has a handful of owners. Of a sorted set so many are read, those
/// with the highest scores, and the others counted.
pub const MAX_ELEMENTS: usize = 64;

/// How a key is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A string not known to be long, or no key at all: `MGET`.
    Text,
    /// A string that was once longer than [`HEAD`]: `STRLEN` and `GETRANGE` of both ends.
    Long,
    /// A small hash: `HGETALL`.
    Hash,
    /// The end of a sorted set, and how many members it has: `ZRANGE` and `ZCARD`.
    Zset,
    /// A small set: `SMEMBERS`.
    Set,
    /// Any other type: only that it is there, and its expiry.
    Opaque,
    /// Not readable at present; the batch reads nothing but when that is.
    Denied,
}

impl Form {
    /// All forms.
    pub const ALL: [Form; 7] =
        [Form::Text, Form::Long, Form::Hash, Form::Zset, Form::Set, Form::Opaque, Form::Denied];

    /// Whether it is read whole, and may be larger than its number of elements tells.
    pub fn is_collection(self) -> bool {
        matches!(self, Form::Hash | Form::Zset | Form::Set)
    }

    /// Commands that come once for each key, besides the expiry.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Form::Text | Form::Denied => &[],
            Form::Long => &["STRLEN", "GETRANGE", "GETRANGE -"],
            Form::Hash => &["HGETALL"],
            Form::Zset => &["ZRANGE", "ZCARD"],
            Form::Set => &["SMEMBERS"],
            Form::Opaque => &["TYPE"],
        }
    }
}

/// What the server has of the commands a batch would like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// `PEXPIRETIME`; `PTTL` otherwise.
    pub absolute: bool,
    /// `ROLE`.
    pub role: bool,
    /// `MULTI` and `EXEC`.
    pub multi: bool,
}

impl Dialect {
    /// As far as it was found out.
    pub fn of(abilities: &Abilities) -> Self {
        Self {
            absolute: abilities.of("pexpiretime") == Ability::Works,
            role: abilities.of("role") == Ability::Works,
            multi: true,
        }
    }

    /// Whether the time is read after the expiries too: before 7.2 the clock runs on inside a transaction, and outside of
    /// one keys expire between any two commands.
    fn times_twice(self) -> bool {
        !self.absolute || !self.multi
    }

    /// The command for a key's expiry.
    pub fn expiry(self) -> &'static str {
        if self.absolute { "PEXPIRETIME" } else { "PTTL" }
    }
}

/// A packed batch.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    /// The request.
    pub bytes: Vec<u8>,
    /// Replies it will have; of a transaction the last is that of `EXEC`.
    pub replies: usize,
}

/// Packs the batch over keys of one form.
pub fn pack<'a, K>(form: Form, dialect: Dialect, keys: K) -> Packed
where
    K: Iterator<Item = &'a [u8]> + Clone,
{
    let mut bytes = Vec::new();
    let mut replies = 0;
    let count = keys.clone().count();
    let mut add = |args: &[&[u8]]| {
        pack::command(&mut bytes, args);
        replies += 1;
    };
    if dialect.multi {
        add(&[b"MULTI"]);
    }
    add(&[b"TIME"]);
    for column in form.columns() {
        for key in keys.clone() {
            match *column {
                "GETRANGE" => add(&[b"GETRANGE", key, b"0", b"511"]),
                "GETRANGE -" => add(&[b"GETRANGE", key, b"-512", b"-1"]),
                // Where scores are expiries, who holds on comes before who is long gone. This form of the command is as old
                // as sorted sets.
                "ZRANGE" => add(&[b"ZRANGE", key, b"-64", b"-1", b"WITHSCORES"]),
                name => add(&[name.as_bytes(), key]),
            }
        }
    }
    if form == Form::Text {
        pack::command_over(&mut bytes, "MGET", count, keys.clone());
        replies += 1;
    }
    let mut add = |args: &[&[u8]]| {
        pack::command(&mut bytes, args);
        replies += 1;
    };
    if form != Form::Denied {
        keys.for_each(|key| add(&[dialect.expiry().as_bytes(), key]));
        if dialect.times_twice() {
            add(&[b"TIME"]);
        }
    }
    if dialect.role {
        add(&[b"ROLE"]);
    }
    if dialect.multi {
        add(&[b"EXEC"]);
    }
    Packed { bytes, replies }
}

/// Which key of `count` the reply `index` of a transaction is about; `None` if it is about none or all.
pub fn member_of(form: Form, count: usize, index: usize) -> Option<usize> {
    let first = if form == Form::Text { 3 } else { 2 };
    let columns = form.columns().len() + usize::from(form != Form::Denied);
    let place = index.checked_sub(first)?;
    (count > 0 && place < columns * count).then(|| place % count)
}

/// The reply to `EXEC`, opened; or what it would have been.
pub struct Exec<'a> {
    /// `TIME`.
    pub time: ServerTime,
    /// `TIME` after the expiries were read, where it may have moved on.
    pub until: ServerTime,
    /// `ROLE`.
    pub role: Role,
    /// Offset in `ROLE`.
    pub offset: Option<u64>,
    /// The first column (of [`Form::Text`]: the elements of `MGET`), one element for each key.
    pub values: Walk<'a>,
    /// The second column of [`Form::Long`].
    pub heads: Walk<'a>,
    /// Its third column; the second of [`Form::Zset`].
    pub tails: Walk<'a>,
}

/// Opens the reply of a batch over `count` keys and puts their expiries, as the server wrote them, into `expiries`;
/// `None` there is an answer that is no number.
pub fn open<'a>(
    form: Form,
    dialect: Dialect,
    count: usize,
    mut walk: Walk<'a>,
    expiries: &mut Vec<Option<i64>>,
) -> Result<Exec<'a>, Failure> {
    let bad = || Failure::unexpected("EXEC");
    expiries.clear();
    if dialect.multi {
        walk.many().ok_or_else(bad)?;
    }
    let time = facts::time(&mut walk)?;
    let mut values = walk.clone();
    let (mut heads, mut tails) = (walk.clone(), walk.clone());
    match form {
        Form::Text => {
            (values.many() == Some(count)).then_some(()).ok_or_else(bad)?;
            walk.skip().ok_or_else(bad)?;
        }
        _ => {
            for _ in form.columns() {
                heads = std::mem::replace(&mut tails, walk.clone());
                (0..count).try_for_each(|_| walk.skip()).ok_or_else(bad)?;
            }
        }
    }
    if form != Form::Denied {
        for _ in 0..count {
            expiries.push(match walk.next().ok_or_else(bad)? {
                Item::Int(n) => Some(n),
                Item::Many(_) => return Err(bad()),
                _ => None,
            });
        }
    }
    let until = match form != Form::Denied && dialect.times_twice() {
        true => facts::time(&mut walk)?,
        false => time,
    };
    let (role, offset) = match dialect.role {
        true => role::read(&mut walk).ok_or_else(bad)?,
        false => (Role::Unknown, None),
    };
    Ok(Exec { time, until, role, offset, values, heads, tails })
}

/// Both ends of a string of this length, or all of it where they meet; `head` and `tail` may be more of it than that.
pub fn ends<'a>(head: &'a [u8], tail: &'a [u8], len: usize) -> Cow<'a, [u8]> {
    let head = head.get(..HEAD).unwrap_or(head);
    let tail = tail.get(tail.len().saturating_sub(HEAD)..).unwrap_or(tail);
    // What of the end the beginning has already.
    let twice = (head.len() + tail.len()).saturating_sub(len);
    match tail.get(twice..) {
        Some(rest) if !rest.is_empty() => Cow::Owned([head, rest].concat()),
        _ => Cow::Borrowed(head),
    }
}

#[cfg(test)]
mod tests;
