//! RESP2 and RESP3 as bytes: where one reply ends ([`Scanner`]) and what its elements are ([`Walk`]), without
//! allocating. A sweep reads tens of thousands of elements that mostly say "as before"; everything that is not a sweep
//! goes through `redis::parse_redis_value` on one complete frame instead. Must not panic or read past the end, whatever
//! the bytes are.

mod scan;
mod walk;

pub use scan::{Scanner, end_of_queued, is_push};
pub use walk::{Item, Walk};

/// Largest reply that is accepted: all strings of a batch may have grown to a third of a megabyte since the last read.
/// All pollers share a thread, so that what one server may make it look through is time that the others wait.
pub const MAX_REPLY: usize = 16 << 20;
/// Longest line (simple string, error, number) that is accepted.
const MAX_LINE: usize = 64 << 10;
/// Deepest nesting that is accepted; `EXEC` over `ROLE` needs four.
const MAX_DEPTH: usize = 16;
/// Most elements of one reply; a batch of the largest hashes that are read has some ten thousand.
const MAX_ELEMENTS: u64 = 1 << 18;

/// Why bytes are no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// First byte of an element.
    #[error("byte 0x{0:02x} begins no RESP element")]
    Kind(u8),
    /// A length or number.
    #[error("a length or number in the reply is not one")]
    Number,
    /// A bulk string that does not end where it says.
    #[error("a string in the reply does not end where its length says")]
    Terminator,
    /// A limit of this module.
    #[error("the reply exceeds {0}")]
    Limit(&'static str),
}

/// The head of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Head<'a> {
    /// `+`, `-`, `:`, `,`, `#`, `(`: the rest of the line.
    Line(u8, &'a [u8]),
    /// `$`, `=`, `!`: the body.
    Bulk(u8, &'a [u8]),
    /// `_`, `$-1`, `*-1`.
    Null,
    /// `*`, `~`, `>`, `%`, `|`: so many elements follow (two for each entry of a map).
    Many(u8, u64),
}

/// Reads the head at `pos` (and the body of a string); gives it and where the next element begins. `None` if the
/// element is not complete yet.
fn head(buf: &[u8], pos: usize) -> Result<Option<(Head<'_>, usize)>, Malformed> {
    let Some((&kind, rest)) = buf.get(pos..).and_then(<[u8]>::split_first) else { return Ok(None) };
    if !b"+-:,#(_$=!*~>%|".contains(&kind) {
        return Err(Malformed::Kind(kind));
    }
    let Some(line) = line(rest)? else { return Ok(None) };
    let next = pos + 1 + line.len() + 2;
    let head = match kind {
        b'_' => Head::Null,
        b'+' | b'-' | b':' | b',' | b'#' | b'(' => Head::Line(kind, line),
        _ => {
            let count = number(line).ok_or(Malformed::Number)?;
            match (kind, count) {
                (b'$' | b'*', -1) => Head::Null,
                (_, ..0) => return Err(Malformed::Number),
                (b'$' | b'=' | b'!', len) => {
                    let len = usize::try_from(len).map_err(|_| Malformed::Number)?;
                    if len > MAX_REPLY {
                        return Err(Malformed::Limit("16 MiB"));
                    }
                    let Some(tail) = buf.get(next..) else { return Ok(None) };
                    let (Some(body), Some(end)) = (tail.get(..len), tail.get(len..len + 2)) else {
                        return Ok(None);
                    };
                    if end != b"\r\n" {
                        return Err(Malformed::Terminator);
                    }
                    return Ok(Some((Head::Bulk(kind, body), next + len + 2)));
                }
                (_, count) => {
                    let count = count.unsigned_abs();
                    if count > MAX_ELEMENTS {
                        return Err(Malformed::Limit("262144 elements"));
                    }
                    Head::Many(kind, if matches!(kind, b'%' | b'|') { count * 2 } else { count })
                }
            }
        }
    };
    Ok(Some((head, next)))
}

/// Up to the next CR LF.
fn line(rest: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|r| r.iter().position(|b| *b == b'\r')) {
        match rest.get(from + at + 1) {
            Some(b'\n') => return Ok(rest.get(..from + at)),
            Some(_) => from += at + 1,
            None => break,
        }
    }
    if rest.len() > MAX_LINE { Err(Malformed::Limit("64 KiB in one line")) } else { Ok(None) }
}

/// A decimal number.
fn number(line: &[u8]) -> Option<i64> {
    let (negative, digits) = match line {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut n: i64 = 0;
    for d in digits {
        if !d.is_ascii_digit() {
            return None;
        }
        let d = i64::from(d - b'0');
        n = n.checked_mul(10)?;
        n = if negative { n.checked_sub(d)? } else { n.checked_add(d)? };
    }
    Some(n)
}

#[cfg(test)]
mod tests;
