//! Finds the end of one complete reply in a buffer that is still filling. Remembers how far it came, so that a large
//! reply that arrives in many pieces is looked at once.

use super::{Head, MAX_DEPTH, MAX_ELEMENTS, MAX_REPLY, Malformed, head};

/// Progress through one reply.
#[derive(Clone, Debug)]
pub struct Scanner {
    start: usize,
    pos: usize,
    depth: usize,
    /// Elements still to come, by depth.
    left: [u64; MAX_DEPTH],
    elements: u64,
}

impl Scanner {
    /// Begins at the offset `start` of a buffer.
    pub fn at(start: usize) -> Self {
        let mut left = [0; MAX_DEPTH];
        if let Some(first) = left.first_mut() {
            *first = 1;
        }
        Self { start, pos: start, depth: 0, left, elements: 0 }
    }

    /// Looks at what is new in `buf`. Gives the offset behind the reply once it is complete; `buf` must only ever grow
    /// between two calls.
    pub fn advance(&mut self, buf: &[u8]) -> Result<Option<usize>, Malformed> {
        loop {
            let Some((head, next)) = head(buf, self.pos)? else {
                let waiting = buf.len().saturating_sub(self.start);
                return if waiting > MAX_REPLY {
                    Err(Malformed::Limit("16 MiB"))
                } else {
                    Ok(None)
                };
            };
            self.pos = next;
            self.elements += 1;
            if self.elements > MAX_ELEMENTS {
                return Err(Malformed::Limit("262144 elements"));
            }
            let (children, counts) = match head {
                // Attributes precede the element that they are about and do not count as one.
                Head::Many(b'|', n) => (n, 0),
                Head::Many(_, n) => (n, 1),
                _ => (0, 1),
            };
            if let Some(left) = self.left.get_mut(self.depth) {
                *left = left.saturating_sub(counts);
            }
            if children > 0 {
                self.depth += 1;
                *self.left.get_mut(self.depth).ok_or(Malformed::Limit("16 levels"))? = children;
            }
            while self.left.get(self.depth) == Some(&0) {
                if self.depth == 0 {
                    return Ok(Some(self.pos));
                }
                self.depth -= 1;
            }
        }
    }
}

/// The end of the reply that begins at `start`, if it says that a command of a transaction is queued: so do nearly all
/// replies of a sweep, and this costs a fraction of a scan.
pub fn end_of_queued(buf: &[u8], start: usize) -> Option<usize> {
    const QUEUED: &[u8] = b"+QUEUED\r\n";
    buf.get(start..)?.starts_with(QUEUED).then_some(start + QUEUED.len())
}

/// Whether a complete frame is an out-of-band push and no reply to anything.
pub fn is_push(frame: &[u8]) -> bool {
    frame.first() == Some(&b'>')
}
