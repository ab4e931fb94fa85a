//! python-redis-lock: 18 random bytes in base64 under `lock:<name>`, drawn when the Lock object is made and not when it
//! acquires, so an object that is used again has the same token again. Waiters are woken by a list of its own.

use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding};
use super::value::{after, is_base64, looks_random, shape_of};
use super::{Fit, Format, PLAIN, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "python-redis-lock",
    libraries: "python-redis-lock",
    key: "`lock:<name>`",
    value: "18 random bytes in base64, or `id=`",
    renewal: "with `auto_renewal`, at two thirds of the lease",
    companions: "`lock-signal:<name>`",
    decode,
    is_companion,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let token = sight.whole()?;
    let fits = match sight.is_declared {
        true => matches!(shape_of(token, token.len()), Shape::Text | Shape::Binary),
        false => {
            is_base64(token, 24, 0) && looks_random(token) && sight.key_after(b"lock:").is_some()
        }
    };
    if !fits {
        return None;
    }
    let mut decoded = FORMAT.decoded(shape_of(token, token.len()));
    decoded.holders.push(holding(token, Named::default(), sight.rules));
    // The key alone identifies no library.
    Some((Fit::Likely, decoded))
}

fn is_companion(key: &[u8]) -> bool {
    after(key, b"lock-signal:").is_some()
}
