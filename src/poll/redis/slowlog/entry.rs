//! The reply to `SLOWLOG GET` or `COMMANDLOG GET` as entries that point into it. Pure: any bytes may come. What the server
//! cut is known by the mark that it puts there, and never taken for whole.

use crate::poll::redis::codec::{Item, Walk};

/// Entries that are looked at.
pub const MOST: usize = 128;
/// Arguments of one entry that are looked at; servers log 32.
const MOST_ARGUMENTS: usize = 64;
/// Bytes of one argument that servers log.
pub const SHOWN: usize = 128;

/// One entry.
#[derive(Debug, PartialEq)]
pub struct Entry<'a> {
    /// Its id.
    pub id: u64,
    /// When it ended, in seconds since the epoch.
    pub at_secs: i64,
    /// How long it took in microseconds.
    pub micros: u64,
    /// The command and its arguments.
    pub args: Vec<Arg<'a>>,
    /// There were more of them.
    pub is_short: bool,
    /// The client's address; empty where it is not told.
    pub addr: &'a [u8],
    /// The client's name; empty where it is not told.
    pub name: &'a [u8],
}

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arg<'a> {
    /// What is shown of it.
    pub bytes: &'a [u8],
    /// So many more bytes are not.
    pub beyond: u64,
}

impl<'a> Entry<'a> {
    /// Whether the server cut anything.
    pub fn is_cut(&self) -> bool {
        self.is_short || self.args.iter().any(|a| a.beyond > 0)
    }

    /// The name of the command.
    pub fn command(&self) -> &'a [u8] {
        self.args.first().map_or(&[], |a| a.bytes)
    }

    /// Whether the command is one of these, which are written in capitals.
    pub fn is_any_of(&self, names: &[&str]) -> bool {
        names.iter().any(|n| self.command().eq_ignore_ascii_case(n.as_bytes()))
    }

    /// The argument at a place, the command's name being at 0, if it is there as a whole.
    pub fn whole(&self, place: usize) -> Option<&'a [u8]> {
        self.args.get(place).filter(|a| a.beyond == 0).map(|a| a.bytes)
    }

    /// Of a script or function: how many keys it was given.
    pub fn numkeys(&self) -> Option<usize> {
        let is_script =
            self.is_any_of(&["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO"]);
        let number = self.whole(2).filter(|_| is_script)?;
        std::str::from_utf8(number).ok()?.parse().ok()
    }

    /// Whether a key may stand in what is not shown as an argument of its own.
    pub fn may_hide_keys(&self) -> bool {
        self.is_short && self.numkeys().is_none_or(|keys| self.args.len().saturating_sub(3) < keys)
    }
}

/// The entries, newest first; `None` if that is no such reply.
pub fn entries(mut walk: Walk<'_>) -> Option<Vec<Entry<'_>>> {
    let count = walk.many()?;
    (0..count.min(MOST)).map(|_| entry(Walk::new(walk.raw()?))).collect()
}

fn entry(mut walk: Walk<'_>) -> Option<Entry<'_>> {
    let fields = walk.many().filter(|n| *n >= 4)?;
    let id = u64::try_from(walk.int()?).ok()?;
    let at_secs = walk.int()?;
    let micros = u64::try_from(walk.int()?).ok()?;
    let count = walk.many()?;
    let mut args = Vec::with_capacity(count.min(MOST_ARGUMENTS));
    let mut is_short = count > MOST_ARGUMENTS;
    for place in 0..count {
        let bytes = walk.bytes()?;
        if place > 0 && place + 1 == count && cut_before(bytes, b" more arguments)") == Some(&[]) {
            is_short = true;
        } else if place < MOST_ARGUMENTS {
            args.push(arg(bytes));
        }
    }
    let mut told = |place| if fields > place { text(&mut walk) } else { Some(&[][..]) };
    let (addr, name) = (told(4)?, told(5)?);
    Some(Entry { id, at_secs, micros, args, is_short, addr, name })
}

/// The next element if it is text or nothing.
fn text<'a>(walk: &mut Walk<'a>) -> Option<&'a [u8]> {
    match walk.next()? {
        Item::Bulk(b) | Item::Simple(b) | Item::Other(b) => Some(b),
        Item::Null => Some(&[]),
        _ => None,
    }
}

/// An argument that is longer than what is shown ends in a mark that says by how much it was longer.
fn arg(bytes: &[u8]) -> Arg<'_> {
    let whole = Arg { bytes, beyond: 0 };
    if bytes.len() <= SHOWN {
        return whole;
    }
    match (cut_before(bytes, b" more bytes)"), number_before(bytes, b" more bytes)")) {
        (Some(shown), Some(beyond)) if shown.len() == SHOWN && beyond > 0 => {
            Arg { bytes: shown, beyond }
        }
        _ => whole,
    }
}

/// What stands before a mark `... (N ending`.
fn cut_before<'a>(bytes: &'a [u8], ending: &[u8]) -> Option<&'a [u8]> {
    let begun = bytes.strip_suffix(ending)?;
    let digits = begun.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let begun = begun.get(..begun.len().checked_sub(digits)?).filter(|_| digits > 0)?;
    begun.strip_suffix(b"... (")
}

fn number_before(bytes: &[u8], ending: &[u8]) -> Option<u64> {
    let begun = bytes.strip_suffix(ending)?;
    let from = begun.iter().rposition(|b| *b == b'(')?;
    std::str::from_utf8(begun.get(from + 1..)?).ok()?.parse().ok()
}

#[cfg(test)]
pub(in crate::poll::redis::slowlog) mod tests;
