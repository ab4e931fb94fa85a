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

    /// The address that most name, and how many do. `called` gives the one name of a server that has several; of addresses
    /// that as many name, the one that `prefers` ranks highest.
    pub fn most(
        &self,
        called: impl Fn(&Arc<str>) -> Arc<str>,
        prefers: impl Fn(&str) -> u8,
    ) -> Option<(Arc<str>, usize)> {
        let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for named in self.named.values() {
            *counts.entry(called(named)).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(addr, votes)| (*votes, prefers(addr)))
    }

    /// Who names whom, in words.
    pub fn told(&self) -> String {
        let each =
            self.named.iter().map(|(sentinel, primary)| format!("{sentinel} names {primary}"));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Ends a round: whether different primaries were named in this one and the one before. A failover is told from
    /// sentinel to sentinel, so they may differ for a moment. `None` while none answers.
    pub fn disagree(&mut self, called: impl Fn(&Arc<str>) -> Arc<str>) -> Option<bool> {
        let mut named = self.named.values().map(called);
        let first = named.next();
        let differ = named.any(|other| Some(other) != first);
        let before = std::mem::replace(&mut self.differed, differ);
        first.map(|_| before && differ)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_named(name: &Arc<str>) -> Arc<str> {
        name.clone()
    }

    fn votes(all: &[(&str, &str)]) -> Votes {
        let mut votes = Votes::default();
        all.iter().for_each(|(sentinel, primary)| {
            votes.hear(&Arc::from(*sentinel), Some(Arc::from(*primary)));
        });
        votes
    }

    #[test]
    fn only_two_rounds_running_are_a_disagreement() {
        let mut votes = Votes::default();
        assert_eq!(votes.disagree(as_named), None, "nobody answered");
        let (a, b): (Arc<str>, Arc<str>) = ("s:1".into(), "s:2".into());
        votes.hear(&a, Some("old:1".into()));
        votes.hear(&b, Some("new:1".into()));
        assert_eq!(votes.disagree(as_named), Some(false), "the first round");
        assert_eq!(votes.disagree(as_named), Some(true));
        assert_eq!(votes.told(), "s:1 names old:1, s:2 names new:1");
        votes.hear(&a, None);
        assert_eq!(votes.disagree(as_named), Some(false), "one that is down does not disagree");
        votes.hear(&a, Some("new:1".into()));
        assert_eq!(votes.disagree(as_named), Some(false));
    }

    #[test]
    fn two_names_of_one_server_are_no_disagreement() {
        let mut votes = votes(&[("s:1", "redis-1:6379"), ("s:2", "10.0.0.1:6379")]);
        let called = |_: &Arc<str>| Arc::from("10.0.0.1:6379");
        votes.disagree(called);
        assert_eq!(votes.disagree(called), Some(false));
        assert_eq!(votes.most(called, |_| 0), Some(("10.0.0.1:6379".into(), 2)));
    }

    #[test]
    fn most_votes_count_and_the_preferred_of_as_many() {
        assert_eq!(Votes::default().most(as_named, |_| 0), None);
        let votes = votes(&[("s:1", "b:1"), ("s:2", "a:1"), ("s:3", "b:1"), ("s:4", "a:1")]);
        let most = |liked: &'static str| votes.most(as_named, move |a| u8::from(a == liked));
        assert_eq!(most("a:1"), Some(("a:1".into(), 2)));
        assert_eq!(most("b:1"), Some(("b:1".into(), 2)));
    }
}
