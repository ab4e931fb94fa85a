//! redis-py's Lock: `uuid1().hex`, which has the time of the acquire and the node's hardware address inside. Both are for
//! people: the clock is the holder's own, and the address may be made up.

use crate::config::TokenKind;
use crate::observe::lock::Shape;
use crate::observe::{Decoded, ServerTime};

use super::holder::{Named, holding};
use super::{Fit, Format, PLAIN, Sight, value};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redis-py",
    libraries: "redis-py Lock (sync and async), django-redis `cache.lock`",
    key: "`<name>`; django-redis `:<version>:<key>`",
    value: "a UUID of version 1 without dashes",
    tokens: TokenKind::PerAcquire,
    renewal: "by hand: `extend()` adds, `reacquire()` sets",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    decode_as(&FORMAT, Fit::Likely, sight)
}

/// A redis-py token as the lock of `format`.
pub(super) fn decode_as(format: &Format, fit: Fit, sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let token = sight.whole().filter(|v| value::is_hex(v, 32))?;
    let uuid = Uuid1::of(token)?;
    let is_plausible = uuid.is_plausible(sight.now);
    // A key that speaks for itself speaks for a holder whose clock is wrong as well.
    let fit = if is_plausible || fit == Fit::Certain { fit } else { Fit::Possible };
    let address = uuid.address().filter(|_| is_plausible);
    let host = address.as_ref().map(|a| a.as_slice());
    let mut held = holding(token, Named { host, ..Named::default() }, sight.rules);
    held.taken_at = is_plausible.then(|| uuid.unix_seconds());
    let mut decoded = format.decoded(Shape::Text);
    decoded.holders.push(held);
    Some((fit, decoded))
}

/// Seconds that a holder's clock may be ahead of the server's.
const AHEAD: f64 = 60.0;

/// Seconds for which a lock may be held, with a wide margin: 400 days.
const LONG_AGO: f64 = 400.0 * 86_400.0;

/// What a UUID of version 1 has inside.
struct Uuid1 {
    /// Units of 100 ns since 1582-10-15.
    ticks: u64,
    node: u64,
}

/// From 1582-10-15 to 1970-01-01.
const EPOCH_TICKS: u64 = 0x01b2_1dd2_1381_4000;

impl Uuid1 {
    fn of(hex: &[u8]) -> Option<Self> {
        let number = u128::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
        let part = |from: u32, bits: u32| ((number >> from) as u64) & ((1 << bits) - 1);
        let (low, mid, high) = (part(96, 32), part(80, 16), part(64, 12));
        let is_version_1 = part(76, 4) == 1 && part(62, 2) == 0b10;
        let uuid = Self { ticks: high << 48 | mid << 32 | low, node: part(0, 48) };
        is_version_1.then_some(uuid)
    }

    fn unix_seconds(&self) -> f64 {
        (self.ticks as i64).wrapping_sub(EPOCH_TICKS as i64) as f64 / 1e7
    }

    /// A random 128-bit number, as other libraries draw it, looks like a UUID of version 1 in 1 of 64 cases; that its time
    /// is one at which a lock of now may have been taken as well happens in 1 of 200,000.
    fn is_plausible(&self, now: ServerTime) -> bool {
        let ago = now.0 as f64 / 1e6 - self.unix_seconds();
        (-AHEAD..=LONG_AGO).contains(&ago)
    }

    /// The hardware address, unless it says of itself that it was drawn at random.
    fn address(&self) -> Option<[u8; 17]> {
        let [_, _, octets @ ..] = self.node.to_be_bytes();
        let is_random = octets[0] & 1 == 1 || self.node == 0;
        let digit = |n: u8| if n < 10 { b'0' + n } else { b'a' + n - 10 };
        let mut text = [b':'; 17];
        for (place, octet) in text.chunks_mut(3).zip(octets) {
            for (to, digit) in place.iter_mut().zip([digit(octet >> 4), digit(octet & 15)]) {
                *to = digit;
            }
        }
        (!is_random).then_some(text)
    }
}
