//! A counter kept by somebody else, made into one that never falls: what was there before it was first seen does not count,
//! and one that begins anew goes on where it was.

/// What was added to a foreign counter while it was watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    last: Option<u64>,
    total: u64,
}

/// What a read of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The first.
    First,
    /// It has grown by so much, or not at all.
    By(u64),
    /// It is smaller than before: it began anew, and all that it shows is new.
    Reset,
}

impl Counter {
    /// Takes a read.
    pub fn read(&mut self, now: u64) -> Moved {
        let (moved, delta) = match self.last.replace(now) {
            None => (Moved::First, 0),
            Some(before) if now < before => (Moved::Reset, now),
            Some(before) => (Moved::By(now - before), now - before),
        };
        self.total = self.total.saturating_add(delta);
        moved
    }

    /// What was added since the first read.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_past_does_not_count_and_a_reset_counts_what_it_shows() {
        let mut c = Counter::default();
        assert_eq!((c.read(500), c.total()), (Moved::First, 0));
        assert_eq!((c.read(503), c.total()), (Moved::By(3), 3));
        assert_eq!((c.read(2), c.total()), (Moved::Reset, 5));
        assert_eq!((c.read(2), c.total()), (Moved::By(0), 5));
    }

    proptest! {
        #[test]
        fn it_never_falls_and_without_resets_it_is_exact(reads: Vec<u64>) {
            let mut c = Counter::default();
            let mut before = 0;
            for n in &reads {
                c.read(*n);
                prop_assert!(c.total() >= before);
                before = c.total();
            }
            let mut sorted = reads.clone();
            sorted.sort_unstable();
            let mut c = Counter::default();
            sorted.iter().for_each(|n| {
                c.read(*n);
            });
            let grown = sorted.last().zip(sorted.first()).map_or(0, |(l, f)| l - f);
            prop_assert_eq!(c.total(), grown);
        }
    }
}
