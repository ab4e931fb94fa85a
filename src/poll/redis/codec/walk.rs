//! Walks the elements of one complete reply in the order they are written, borrowing everything.

use super::{Head, Scanner, head, number};

/// One element, or the beginning of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// A bulk string.
    Bulk(&'a [u8]),
    /// A simple string.
    Simple(&'a [u8]),
    /// An integer.
    Int(i64),
    /// No value.
    Null,
    /// An error.
    Error(&'a [u8]),
    /// Array, set, push or map: so many elements follow (two for each entry of a map).
    Many(usize),
    /// A double, boolean, big number or verbatim string, as it is written.
    Other(&'a [u8]),
}

/// A place in a reply. Anything that is no reply ends the walk.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    buf: &'a [u8],
    pos: usize,
}

impl<'a> Walk<'a> {
    /// Begins at the first element of a frame.
    pub fn new(frame: &'a [u8]) -> Self {
        Self { buf: frame, pos: 0 }
    }

    /// The next element; attributes are passed over.
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator would invite adapters that lose the nesting"
    )]
    pub fn next(&mut self) -> Option<Item<'a>> {
        loop {
            let (head, next) = head(self.buf, self.pos).ok().flatten()?;
            self.pos = next;
            return Some(match head {
                Head::Many(b'|', n) => {
                    for _ in 0..n {
                        self.skip()?;
                    }
                    continue;
                }
                Head::Many(_, n) => Item::Many(usize::try_from(n).ok()?),
                Head::Null => Item::Null,
                Head::Bulk(b'$', body) => Item::Bulk(body),
                Head::Bulk(b'!', body) => Item::Error(body),
                // `txt:` stands before the text of a verbatim string.
                Head::Bulk(_, body) => Item::Other(body.get(4..)?),
                Head::Line(b'+', line) => Item::Simple(line),
                Head::Line(b'-', line) => Item::Error(line),
                Head::Line(b':', line) => Item::Int(number(line)?),
                Head::Line(_, line) => Item::Other(line),
            });
        }
    }

    /// Passes over one element with everything in it.
    pub fn skip(&mut self) -> Option<()> {
        self.pos = Scanner::at(self.pos).advance(self.buf).ok().flatten()?;
        Some(())
    }

    /// Bytes that are still ahead.
    pub fn rest(&self) -> usize {
        self.buf.len().saturating_sub(self.pos)
    }

    /// One element with everything in it, as it is written.
    pub fn raw(&mut self) -> Option<&'a [u8]> {
        let from = self.pos;
        self.skip()?;
        self.buf.get(from..self.pos)
    }

    /// The next element if it is an integer.
    pub fn int(&mut self) -> Option<i64> {
        match self.next()? {
            Item::Int(n) => Some(n),
            _ => None,
        }
    }

    /// The next element if it is several: how many.
    pub fn many(&mut self) -> Option<usize> {
        match self.next()? {
            Item::Many(n) => Some(n),
            _ => None,
        }
    }

    /// The next element if it is text of any kind.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        match self.next()? {
            Item::Bulk(b) | Item::Simple(b) | Item::Other(b) => Some(b),
            _ => None,
        }
    }
}
