//! Whether the key is of the type and coarse shape that it should be: that of the declared format, else that which was seen
//! first. What library is guessed from a value plays no part.

use std::time::Duration;

use super::{Lock, ReadContext};
use crate::derive::wanted::Effects;
use crate::derive::words::Signal;
use crate::observe::lock::{Decoded, Shape, Unreadable};
use crate::observe::{Found, Mono};

/// Reads of another shape that make it no accident.
const READS: u32 = 3;
/// After so long with nothing else the other shape is the lock's own: another library was brought in.
const SETTLED: Duration = Duration::from_secs(3600);

/// The shapes that a key had.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    /// The lock's own.
    own: Option<Coarse>,
    /// Reads running that did not show it; what the last one showed instead, and since when all of them did.
    other: Option<(Coarse, u32, Mono)>,
    /// Reads running of a collection with members that its format does not write; that is another shape, too, and never
    /// becomes the lock's own.
    strange: u32,
    /// The last read of a key that was there.
    pub last: Option<Mono>,
    /// What it showed.
    pub shown: Option<Shown>,
}

/// What a key shows, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Type and kind.
    pub shape: Shape,
    /// The format that it looks like, where it is none of the declared one's.
    pub looks_like: Option<&'static str>,
}

impl Shown {
    /// In words: a hash that looks like redisson.
    pub fn words(self) -> String {
        let shape = match self.shape {
            Shape::Text => "a string",
            Shape::Binary => "a string of bytes",
            Shape::Number => "a number",
            Shape::Json => "JSON",
            Shape::Empty => "an empty string",
            Shape::OwnerHash | Shape::Hash => "a hash",
            Shape::Zset => "a sorted set",
            Shape::Set => "a set",
            Shape::List => "a list",
            Shape::Other => "of another type",
        };
        match self.looks_like {
            Some(format) => format!("{shape} that looks like {format}"),
            None => shape.to_owned(),
        }
    }
}

/// The key type, and of a string whether it can be a token. Random bytes may happen to be text, and a hash is one whether or
/// not its fields are known to be owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coarse {
    Token,
    Number,
    Json,
    Empty,
    Hash,
    Zset,
    Set,
    List,
    Other,
}

impl Coarse {
    fn of(shape: Shape) -> Self {
        match shape {
            Shape::Text | Shape::Binary => Coarse::Token,
            Shape::Number => Coarse::Number,
            Shape::Json => Coarse::Json,
            Shape::Empty => Coarse::Empty,
            Shape::OwnerHash | Shape::Hash => Coarse::Hash,
            Shape::Zset => Coarse::Zset,
            Shape::Set => Coarse::Set,
            Shape::List => Coarse::List,
            Shape::Other => Coarse::Other,
        }
    }
}

impl Shapes {
    /// Takes a value; `is_lock` if it can be the lock's own. Returns whether its shape is unexpected.
    fn read(&mut self, value: &Decoded, is_lock: bool, at: Mono) -> bool {
        self.last = Some(at);
        self.shown = Some(Shown { shape: value.shape, looks_like: value.looks_like });
        self.strange = if value.strangers > 0 { self.strange.saturating_add(1) } else { 0 };
        let is_other = self.is_other(value, is_lock, at);
        is_other || self.strange >= READS
    }

    /// Whether the next read that finds the same leaves them as they are.
    pub(super) fn is_settled(&self, found: &Found) -> bool {
        let is_own = match found {
            Found::Present { value, .. } => {
                !value.misfit && self.own == Some(Coarse::of(value.shape))
            }
            Found::Absent => true,
            Found::Unreadable(_) => false,
        };
        is_own && self.other.is_none() && self.strange == 0
    }

    fn is_other(&mut self, value: &Decoded, is_lock: bool, at: Mono) -> bool {
        let shape = Coarse::of(value.shape);
        let Some(own) = self.own else {
            self.own = (is_lock && !value.misfit).then_some(shape);
            return value.misfit;
        };
        if shape == own {
            self.other = None;
            return value.misfit;
        }
        let (reads, since) = match self.other {
            Some((before, reads, since)) if before == shape => (reads.saturating_add(1), since),
            Some((_, reads, _)) => (reads.saturating_add(1), at),
            None => (1, at),
        };
        self.other = Some((shape, reads, since));
        if is_lock && !value.misfit && at.since(since) >= SETTLED {
            (self.own, self.other) = (Some(shape), None);
            return false;
        }
        value.misfit || reads >= READS
    }
}

impl Lock {
    /// Judges the shape of what a read found; a key that is not there has none.
    pub(super) fn judge_shape(&mut self, found: &Found, c: &ReadContext<'_>, fx: &mut Effects) {
        let now = c.seen.span.done;
        let value = match found {
            Found::Present { value, .. } => {
                let is_lock = self.is_lock_value(value);
                let is_unexpected = self.shapes.read(value, is_lock, now);
                // What a pattern finds beside locks is none.
                Some(is_unexpected && self.is_lock())
            }
            Found::Absent | Found::Unreadable(Unreadable::Unexpected) => {
                (self.shapes.other, self.shapes.strange) = (None, 0);
                Some(false)
            }
            Found::Unreadable(Unreadable::Permission) => None,
        };
        let (declared, shown) = (self.rules.format.clone(), self.shapes.shown);
        let strangers = match found {
            Found::Present { value, .. } if value.strangers > 0 => {
                Some((value.strangers, value.format))
            }
            _ => None,
        };
        let detail = || {
            let is = shown.map(|s| format!("the key is {}", s.words())).unwrap_or_default();
            match (strangers, declared) {
                (Some((n, format)), _) => {
                    format!("of the key's members {n} are none that {format} writes")
                }
                (None, Some(format)) => format!("{is}, nothing that {format} writes"),
                (None, None) => format!("{is}, which it was not before"),
            }
        };
        self.signal(Signal::ShapeUnexpected, value, now, detail, fx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(shape: Shape) -> Decoded {
        Decoded::nobody("any", shape)
    }

    fn at(seconds: u64) -> Mono {
        Mono(seconds * 1_000_000_000)
    }

    #[test]
    fn three_reads_of_another_shape_are_unexpected_and_the_own_one_ends_that() {
        let mut s = Shapes::default();
        assert!(!s.read(&value(Shape::Text), true, at(0)));
        for (k, shape) in [Shape::Json, Shape::Json, Shape::Text, Shape::Json, Shape::Json]
            .into_iter()
            .enumerate()
        {
            assert!(!s.read(&value(shape), true, at(k as u64)), "{k}");
        }
        assert!(s.read(&value(Shape::Json), true, at(9)));
        assert!(!s.read(&value(Shape::Binary), true, at(10)), "a token again");
    }

    #[test]
    fn strangers_among_the_members_are_unexpected_after_three_reads_and_stay_so() {
        let odd = Decoded { strangers: 1, ..value(Shape::Zset) };
        let mut s = Shapes::default();
        s.read(&value(Shape::Zset), true, at(0));
        assert!(!s.read(&odd, true, at(1)) && !s.read(&odd, true, at(2)));
        assert!((3..8_000).all(|k| s.read(&odd, true, at(k))));
        assert!(!s.read(&value(Shape::Zset), true, at(8_000)));
        assert!(!s.read(&odd, true, at(8_001)));
    }

    #[test]
    fn what_is_guessed_of_a_hash_or_of_bytes_is_no_shape() {
        let mut s = Shapes::default();
        for k in 0..9u64 {
            let shape = if k.is_multiple_of(3) { Shape::OwnerHash } else { Shape::Hash };
            assert!(!s.read(&value(shape), true, at(k)));
        }
    }

    #[test]
    fn a_value_that_the_declared_format_does_not_write_is_unexpected_at_once() {
        let mut s = Shapes::default();
        let misfit = Decoded { misfit: true, ..value(Shape::Text) };
        assert!(s.read(&misfit, false, at(0)));
        assert!(!s.read(&value(Shape::OwnerHash), true, at(1)));
        assert!(s.read(&misfit, false, at(2)));
    }

    #[test]
    fn an_hour_of_another_shape_makes_it_the_own_one_if_it_can_be_a_locks() {
        for is_lock in [true, false] {
            let mut s = Shapes::default();
            s.read(&value(Shape::Text), true, at(0));
            let last = (1..=3_700).map(|k| s.read(&value(Shape::Hash), is_lock, at(k))).last();
            assert_eq!(last, Some(!is_lock));
        }
    }
}
