//! Results of bcrypt that are not computed again. Right and wrong ones have places of their own, so that no flood of wrong
//! passwords can push out those of the scrapes. What is kept is a salted digest, never a password.

use std::collections::{HashSet, VecDeque};

/// Of what a result is.
pub type Of = [u8; 32];

/// Most results of either kind; the oldest makes way.
const MOST: usize = 100;

/// Results of both kinds.
#[derive(Default)]
pub struct Kept {
    right: Oldest,
    wrong: Oldest,
}

impl Kept {
    /// The result, if it is known.
    pub fn get(&self, of: &Of) -> Option<bool> {
        match (self.right.known.contains(of), self.wrong.known.contains(of)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// Keeps a result.
    pub fn put(&mut self, of: Of, is_right: bool) {
        if is_right { &mut self.right } else { &mut self.wrong }.put(of);
    }
}

#[derive(Default)]
struct Oldest {
    known: HashSet<Of>,
    order: VecDeque<Of>,
}

impl Oldest {
    fn put(&mut self, of: Of) {
        if !self.known.insert(of) {
            return;
        }
        self.order.push_back(of);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_ones_push_out_no_right_one_and_both_are_bounded() {
        let of = |n: u32| {
            let mut of = [0; 32];
            of[..4].copy_from_slice(&n.to_le_bytes());
            of
        };
        let mut kept = Kept::default();
        kept.put(of(0), true);
        (1..10_000).for_each(|n| kept.put(of(n), false));
        assert_eq!(kept.get(&of(0)), Some(true));
        assert_eq!(kept.get(&of(1)), None);
        assert_eq!(kept.get(&of(9_999)), Some(false));
        assert_eq!((kept.wrong.known.len(), kept.wrong.order.len()), (MOST, MOST));
        (10_000..20_000).for_each(|n| kept.put(of(n), true));
        assert_eq!((kept.right.known.len(), kept.get(&of(0))), (MOST, None));
    }
}
