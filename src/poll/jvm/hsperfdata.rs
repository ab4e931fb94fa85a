//! The layout of a JVM's counters file (hsperfdata, version 2.0), as `jstat` reads it. Knows entries, not their meaning.
//! Every byte is another process's: each offset is checked, and what does not fit ends the reading, not the process.

use thiserror::Error;

/// The prologue.
const HEAD: usize = 32;
/// Head of an entry.
const ENTRY: usize = 20;
/// A JVM has about 200 to 300.
const MAX_ENTRIES: usize = 4096;

/// Why bytes are no counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// Not even a prologue, or the wrong magic.
    #[error("it does not begin as a counters file does")]
    NoPrologue,
    /// Only 2.x is known.
    #[error("its format is version {0}, and only version 2 is known")]
    Version(u8),
    /// The JVM has not finished it.
    #[error("the JVM is still starting and has not finished it")]
    NotYet,
    /// Something lies outside the file or cannot be.
    #[error("the entry at byte {0} does not fit into the file")]
    Entry(usize),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Long(i64),
    /// A string up to its end, in bytes of its own encoding.
    Text(&'a [u8]),
}

/// A name and its value.
pub type Entry<'a> = (&'a [u8], Value<'a>);

/// Entries of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Counters<'a> {
    /// Name and value, in their order in the file. Types that are neither are left out.
    pub entries: Vec<Entry<'a>>,
    /// Bytes of entries that found no place in the file: counters are missing.
    pub overflow: u32,
}

/// Reads all entries.
pub fn parse(bytes: &[u8]) -> Result<Counters<'_>, Malformed> {
    let head: &[u8; HEAD] = bytes.first_chunk().ok_or(Malformed::NoPrologue)?;
    if !head.starts_with(&[0xca, 0xfe, 0xc0, 0xc0]) || head[4] > 1 {
        return Err(Malformed::NoPrologue);
    }
    if head[5] != 2 {
        return Err(Malformed::Version(head[5]));
    }
    if head[7] == 0 {
        return Err(Malformed::NotYet);
    }
    let file = Bytes { bytes, is_little: head[4] == 1 };
    let number = |at| file.size(at).ok_or(Malformed::NoPrologue);
    let overflow = number(12)?;
    let mut at = number(24)?;
    let count = number(28)?;
    if at < HEAD || count > MAX_ENTRIES {
        return Err(Malformed::Entry(at));
    }
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, entry) = file.entry(at).ok_or(Malformed::Entry(at))?;
        entries.extend(entry);
        at += length;
    }
    Ok(Counters { entries, overflow: u32::try_from(overflow).unwrap_or(u32::MAX) })
}

struct Bytes<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

impl<'a> Bytes<'a> {
    /// A size or offset: a signed 32-bit number that must not be negative.
    fn size(&self, at: usize) -> Option<usize> {
        let raw = *self.bytes.get(at..)?.first_chunk()?;
        let number = if self.is_little { i32::from_le_bytes(raw) } else { i32::from_be_bytes(raw) };
        usize::try_from(number).ok()
    }

    /// The entry there: its length and what it holds.
    fn entry(&self, at: usize) -> Option<(usize, Option<Entry<'a>>)> {
        let length = self.size(at)?;
        let whole = self.bytes.get(at..)?.get(..length).filter(|w| w.len() >= ENTRY)?;
        let name = until_nul(whole.get(self.size(at + 4)?.max(ENTRY)..)?);
        let vector = self.size(at + 8)?;
        let data = whole.get(self.size(at + 16)?.max(ENTRY)..)?;
        let value = match (whole.get(12)?, vector) {
            (b'J', 0) => {
                let raw = *data.first_chunk()?;
                let long =
                    if self.is_little { i64::from_le_bytes(raw) } else { i64::from_be_bytes(raw) };
                Some(Value::Long(long))
            }
            (b'B', 1..) => Some(Value::Text(until_nul(data.get(..vector)?))),
            _ => None,
        };
        Some((length, value.map(|v| (name, v))))
    }
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or(bytes)
}
