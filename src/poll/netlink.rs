//! What all messages of netlink have in common, as bytes. Pure. What comes in is checked field by field: a length that is
//! wrong ends a message, never the process.

/// Length, type, flags, sequence and port.
pub const HEAD: usize = 16;
/// The type of a message that a request failed, or was done.
pub const ERROR: u16 = 2;
/// The type of the last message of an answer in several.
pub const DONE: u16 = 3;
/// What can be an `errno`; 0 is an acknowledgement.
const ERRNOS: std::ops::RangeInclusive<i32> = 1..=4095;
/// The upper two bits of an attribute's type are flags.
const TYPE_MASK: u16 = 0x3fff;

/// One message from the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its type.
    pub kind: u16,
    /// That of the request.
    pub sequence: u32,
    /// What follows its head.
    pub payload: &'a [u8],
}

/// The messages of one datagram, up to the first that is broken.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = u32_at(rest, 0)? as usize;
        let message = rest.get(..length).filter(|m| m.len() >= HEAD)?;
        rest = rest.get(align(length)..).unwrap_or_default();
        let (kind, sequence) = (u16_at(message, 4)?, u32_at(message, 8)?);
        Some(Message { kind, sequence, payload: message.get(HEAD..)? })
    })
}

/// The error of a message of that type, of 1 to 4095.
pub fn errno(payload: &[u8]) -> Option<i32> {
    let errno = u32_at(payload, 0)?.cast_signed().checked_neg()?;
    ERRNOS.contains(&errno).then_some(errno)
}

/// Type and value of each attribute, up to the first that is broken.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let value = rest.get(4..length)?;
        let kind = u16_at(rest, 2)? & TYPE_MASK;
        rest = rest.get(align(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The next multiple of four.
pub fn align(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// The number in these two bytes.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// The number in these four bytes.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The number in these eight bytes.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
