//! The bytes of chrony's command protocol, version 6, for the one request that is used: `tracking`, the only one whose
//! layout chrony declares stable. Believes nothing that a reply says before it has been checked; never panics.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::observe::clock::Tracking;

/// Length of the request and of the shortest good reply: chronyd answers nothing shorter than its answer.
pub const LENGTH: usize = 104;
/// Length of a reply's head, which is all of it where there is an error.
const HEAD: usize = 28;

const VERSION: u8 = 6;
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const TRACKING: u16 = 33;
const REPLY_TRACKING: u16 = 5;

/// No clock is further away than this, some three centuries; what says so is no clock.
const MAX_SECONDS: f64 = 1e10;
/// A frequency that is further off is no clock's.
const MAX_PPM: f64 = 1e7;
/// NTP's stratum of a clock that has none.
const MAX_STRATUM: u16 = 16;
/// NTP's leap status of a clock that is not synchronised.
const MAX_LEAP: u16 = 3;

/// What is wrong with a reply.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Wrong {
    /// Not of this protocol.
    #[error("the reply's {0} is not that of an answer to `tracking`")]
    Head(&'static str),
    /// chronyd refused, with its status.
    #[error("chronyd answered with status {0}")]
    Status(u16),
    /// Cut off.
    #[error("the reply has {0} bytes of {LENGTH}")]
    Short(usize),
    /// A value that no chronyd has.
    #[error("the reply's {0} is out of range")]
    Absurd(&'static str),
}

/// The request with this sequence number.
pub fn request(sequence: u32) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let head: [&[u8]; 4] = [
        &[VERSION, REQUEST, 0, 0],
        &TRACKING.to_be_bytes(),
        // The first attempt, and there is no second.
        &[0, 0],
        &sequence.to_be_bytes(),
    ];
    for (to, from) in bytes.iter_mut().zip(head.into_iter().flatten()) {
        *to = *from;
    }
    bytes
}

/// What a datagram says in answer to the request with this sequence number; `None` if it answers something else.
pub fn reply(bytes: &[u8], sequence: u32) -> Option<Result<Tracking, Wrong>> {
    let reader = Reader(bytes);
    (reader.u32(16)? == sequence).then(|| parse(&reader))
}

fn parse(reply: &Reader<'_>) -> Result<Tracking, Wrong> {
    let short = Wrong::Short(reply.0.len());
    let head = |at| reply.u16(at).ok_or_else(|| short.clone());
    let [version, kind] = head(0)?.to_be_bytes();
    if version != VERSION {
        return Err(Wrong::Head("version"));
    }
    if kind != REPLY || head(2)? != 0 {
        return Err(Wrong::Head("packet type"));
    }
    if head(4)? != TRACKING {
        return Err(Wrong::Head("command"));
    }
    let status = head(8)?;
    if reply.0.len() < HEAD {
        return Err(short);
    }
    if status != 0 {
        return Err(Wrong::Status(status));
    }
    if head(6)? != REPLY_TRACKING {
        return Err(Wrong::Head("reply code"));
    }
    if reply.0.len() < LENGTH {
        return Err(short);
    }
    body(reply).ok_or(short)?
}

/// The values; `None` if there are too few bytes.
fn body(reply: &Reader<'_>) -> Option<Result<Tracking, Wrong>> {
    let source = match reply.u16(48)? {
        // An unresolved source has a number instead of an address.
        0 | 3 => None,
        1 => Some(IpAddr::V4(Ipv4Addr::from(reply.bytes::<4>(32)?))),
        2 => Some(IpAddr::V6(Ipv6Addr::from(reply.bytes::<16>(32)?))),
        _ => return Some(Err(Wrong::Absurd("address family"))),
    };
    let stratum = reply.u16(52)?;
    let leap = reply.u16(54)?;
    let Some(ref_time) = time(reply.u32(56)?, reply.u32(60)?, reply.u32(64)?) else {
        return Some(Err(Wrong::Absurd("reference time")));
    };
    let tracking = Tracking {
        ref_id: reply.u32(28)?,
        source,
        stratum,
        leap,
        ref_time,
        correction: reply.float(68)?,
        last_offset: reply.float(72)?,
        rms_offset: reply.float(76)?,
        frequency_ppm: reply.float(80)?,
        residual_ppm: reply.float(84)?,
        skew_ppm: reply.float(88)?,
        root_delay: reply.float(92)?,
        root_dispersion: reply.float(96)?,
        update_interval: reply.float(100)?,
    };
    Some(sensible(&tracking).map_or(Ok(tracking), |what| Err(Wrong::Absurd(what))))
}

/// The name of a value that no chronyd has.
fn sensible(t: &Tracking) -> Option<&'static str> {
    let (any, positive) = (f64::NEG_INFINITY, 0.0);
    let checks = [
        ("stratum", f64::from(t.stratum), positive, f64::from(MAX_STRATUM)),
        ("leap status", f64::from(t.leap), positive, f64::from(MAX_LEAP)),
        ("reference time", t.ref_time, positive, MAX_SECONDS),
        ("system time correction", t.correction, any, MAX_SECONDS),
        ("last offset", t.last_offset, any, MAX_SECONDS),
        ("RMS offset", t.rms_offset, positive, MAX_SECONDS),
        ("frequency", t.frequency_ppm, any, MAX_PPM),
        ("residual frequency", t.residual_ppm, any, MAX_PPM),
        ("skew", t.skew_ppm, positive, MAX_PPM),
        ("root delay", t.root_delay, positive, MAX_SECONDS),
        ("root dispersion", t.root_dispersion, positive, MAX_SECONDS),
        ("update interval", t.update_interval, positive, MAX_SECONDS),
    ];
    // Written so that a value that cannot be compared is wrong too.
    let right = |value: f64, least: f64, most: f64| value >= least && value.abs() <= most;
    checks.into_iter().find(|(_, value, least, most)| !right(*value, *least, *most)).map(|c| c.0)
}

/// Seconds since the epoch.
fn time(high: u32, low: u32, nanos: u32) -> Option<f64> {
    // This is how chronyd says that there is no high half.
    let high = if high == 0x7fff_ffff { 0 } else { high };
    let seconds = (u64::from(high) << 32) | u64::from(low);
    (nanos < 1_000_000_000).then(|| seconds as f64 + f64::from(nanos) / 1e9)
}

/// chrony's own 32-bit number: seven bits of exponent, 25 of coefficient, both in two's complement. It has neither an
/// infinity nor a NaN.
pub fn float(bits: u32) -> f64 {
    let signed = bits as i32;
    let exponent = (signed >> 25) - 25;
    let coefficient = (signed << 7) >> 7;
    f64::from(coefficient) * 2f64.powi(exponent)
}

/// Bytes that may be too few.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_be_bytes)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_be_bytes)
    }

    fn float(&self, at: usize) -> Option<f64> {
        self.u32(at).map(float)
    }
}
