//! Generic netlink messages of the taskstats family as bytes: requests out, replies in. Pure. What comes in is checked
//! field by field: a length that is wrong ends a message, never the process.

use super::stats::{self, Stats};

/// The controller's own family.
const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Its name with the closing NUL.
const NAME: &[u8] = b"TASKSTATS\0";

const CMD_GET: u8 = 1;
const CMD_NEW: u8 = 2;
const ASK_PID: u16 = 1;
const ASK_TGID: u16 = 2;
const TYPE_PID: u16 = 1;
const TYPE_TGID: u16 = 2;
const TYPE_STATS: u16 = 3;
const AGGR_PID: u16 = 4;
const AGGR_TGID: u16 = 5;

const REQUEST: u16 = 1;
const ERROR: u16 = 2;
/// Length, type, flags, sequence and port.
const HEAD: usize = 16;
/// Command, version and two bytes of nothing.
const GENERIC: usize = 4;
/// What can be an `errno`; 0 is an acknowledgement.
const ERRNOS: std::ops::RangeInclusive<i32> = 1..=4095;
/// The upper two bits of an attribute's type are flags.
const TYPE_MASK: u16 = 0x3fff;

/// Whose counters are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whom {
    /// One thread.
    Thread(u32),
    /// The sums over a process, with the threads that have ended.
    Process(u32),
}

/// One message from the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// That of the request.
    pub sequence: u32,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Counters.
    Stats(Whom, Result<Stats, stats::Unusable>),
    /// Number of a family.
    Family(u16),
    /// The request failed with this `errno`, of 1 to 4095.
    Error(i32),
    /// Something else.
    Other,
}

/// Appends the question for the number of the taskstats family.
pub fn ask_family(out: &mut Vec<u8>, sequence: u32) {
    message(out, CONTROLLER, sequence, GET_FAMILY, FAMILY_NAME, NAME);
}

/// Appends the question for somebody's counters.
pub fn ask(out: &mut Vec<u8>, family: u16, sequence: u32, whom: Whom) {
    let (attribute, id) = match whom {
        Whom::Thread(tid) => (ASK_PID, tid),
        Whom::Process(pid) => (ASK_TGID, pid),
    };
    message(out, family, sequence, CMD_GET, attribute, &id.to_ne_bytes());
}

fn message(out: &mut Vec<u8>, kind: u16, sequence: u32, command: u8, attribute: u16, value: &[u8]) {
    let attribute_length = 4 + value.len();
    let length = HEAD + GENERIC + align(attribute_length);
    let end = out.len() + length;
    out.extend((length as u32).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(REQUEST.to_ne_bytes());
    out.extend(sequence.to_ne_bytes());
    out.extend([0; 4]);
    out.extend([command, 1, 0, 0]);
    out.extend((attribute_length as u16).to_ne_bytes());
    out.extend(attribute.to_ne_bytes());
    out.extend(value);
    out.resize(end, 0);
}

/// The messages of one datagram, up to the first that is broken.
pub fn replies(datagram: &[u8], family: u16) -> impl Iterator<Item = Reply> + '_ {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = u32_at(rest, 0)? as usize;
        let message = rest.get(..length).filter(|m| m.len() >= HEAD)?;
        rest = rest.get(align(length)..).unwrap_or_default();
        let kind = u16_at(message, 4)?;
        let payload = message.get(HEAD..)?;
        let body = body(kind, payload, family).unwrap_or(Body::Other);
        Some(Reply { sequence: u32_at(message, 8)?, body })
    })
}

fn body(kind: u16, payload: &[u8], family: u16) -> Option<Body> {
    if kind == ERROR {
        let errno = u32_at(payload, 0)?.cast_signed().checked_neg()?;
        return ERRNOS.contains(&errno).then_some(Body::Error(errno));
    }
    let attributes = payload.get(GENERIC..)?;
    if kind == CONTROLLER {
        let id = attributes_of(attributes).find(|(kind, _)| *kind == FAMILY_ID)?.1;
        return Some(Body::Family(u16_at(id, 0)?));
    }
    if kind != family || *payload.first()? != CMD_NEW {
        return None;
    }
    let (outer, inner) =
        attributes_of(attributes).find(|(kind, _)| matches!(*kind, AGGR_PID | AGGR_TGID))?;
    let of =
        |wanted| attributes_of(inner).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let whom = match outer {
        AGGR_PID => Whom::Thread(u32_at(of(TYPE_PID)?, 0)?),
        _ => Whom::Process(u32_at(of(TYPE_TGID)?, 0)?),
    };
    Some(Body::Stats(whom, Stats::parse(of(TYPE_STATS)?)))
}

/// Type and value of each attribute, up to the first that is broken.
fn attributes_of(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let value = rest.get(4..length)?;
        let kind = u16_at(rest, 2)? & TYPE_MASK;
        rest = rest.get(align(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn align(length: usize) -> usize {
    length.saturating_add(3) & !3
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
