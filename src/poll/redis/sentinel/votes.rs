//! Which primary the sentinels of a store name, and whether they disagree. Must not talk to a sentinel, nor know the time.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The last answer of each sentinel that answers.
#[derive(Default)]
pub struct Votes {
    named: BTreeMap<Arc<str>, Arc<str>>,
    differed: bool,
}

impl Votes {
    /// A sentinel named this primary; `None` when it does not answer, or does not know the master's name.
    pub fn hear(&mut self, sentinel: &Arc<str>, primary: Option<Arc<str>>) {
        match primary {
            Some(primary) => self.named.insert(sentinel.clone(), primary),
            None => self.named.remove(sentinel),
        };
    }

    /// How many sentinels name this address.
    pub fn count(&self, primary: &str) -> usize {
        self.named.values().filter(|named| named.as_ref() == primary).count()
    }

    /// Ends a round: whether different primaries were named in this one and the one before. A failover is told from
    /// sentinel to sentinel, so they may differ for a moment. `None` while none answers.
    pub fn disagree(&mut self) -> Option<bool> {
        let mut named = self.named.values();
        let first = named.next();
        let differ = named.any(|other| Some(other) != first);
        let before = std::mem::replace(&mut self.differed, differ);
        first.map(|_| before && differ)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_rounds_running_are_a_disagreement() {
        let mut votes = Votes::default();
        assert_eq!(votes.disagree(), None, "nobody answered");
        let (a, b): (Arc<str>, Arc<str>) = ("s:1".into(), "s:2".into());
        votes.hear(&a, Some("old:1".into()));
        votes.hear(&b, Some("new:1".into()));
        assert_eq!(votes.disagree(), Some(false), "the first round");
        assert_eq!(votes.disagree(), Some(true));
        assert_eq!((votes.count("old:1"), votes.count("else:1")), (1, 0));
        votes.hear(&a, None);
        assert_eq!(votes.disagree(), Some(false), "one that is down does not disagree");
        votes.hear(&a, Some("new:1".into()));
        assert_eq!((votes.disagree(), votes.count("new:1")), (Some(false), 2));
    }
}
