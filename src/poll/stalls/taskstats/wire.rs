//! Generic netlink messages of the taskstats family as bytes: requests out, replies in. Pure. What comes in is checked
//! field by field: a length that is wrong ends a message, never the process.

use super::stats::{self, Stats};
use crate::poll::netlink::{ERROR, HEAD, align, attributes, errno, messages, u16_at, u32_at};

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
/// Command, version and two bytes of nothing.
const GENERIC: usize = 4;

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
    messages(datagram).map(move |m| {
        let body = body(m.kind, m.payload, family).unwrap_or(Body::Other);
        Reply { sequence: m.sequence, body }
    })
}

fn body(kind: u16, payload: &[u8], family: u16) -> Option<Body> {
    if kind == ERROR {
        return errno(payload).map(Body::Error);
    }
    let told = payload.get(GENERIC..)?;
    if kind == CONTROLLER {
        let id = attributes(told).find(|(kind, _)| *kind == FAMILY_ID)?.1;
        return Some(Body::Family(u16_at(id, 0)?));
    }
    if kind != family || *payload.first()? != CMD_NEW {
        return None;
    }
    let (outer, inner) =
        attributes(told).find(|(kind, _)| matches!(*kind, AGGR_PID | AGGR_TGID))?;
    let of = |wanted| attributes(inner).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let whom = match outer {
        AGGR_PID => Whom::Thread(u32_at(of(TYPE_PID)?, 0)?),
        _ => Whom::Process(u32_at(of(TYPE_TGID)?, 0)?),
    };
    Some(Body::Stats(whom, Stats::parse(of(TYPE_STATS)?)))
}
