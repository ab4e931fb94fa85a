//! A worker's connections to one store: how many there are, and how often one was replaced by another. Counts between two
//! looks, so that there were at least so many.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::observe::Mono;

/// Connections remembered for one worker and store.
const MOST: usize = 1024;

/// One connection: the process that has it, the node, and the client's address there.
pub type Link = (i32, Arc<str>, Arc<str>);

/// The connections of one worker to one store.
#[derive(Clone, Debug, Default)]
pub struct Links {
    known: BTreeSet<Link>,
    /// Of a process that lives on, and nothing has come in their place yet. One may come back: it was not told whose it is.
    gone: BTreeSet<Link>,
    /// Who had them.
    processes: BTreeSet<(i32, u64)>,
    /// When they were last seen all.
    pub seen: Mono,
    /// Replaced since they were first seen.
    pub reconnects: u64,
}

impl Links {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.known.len() as u64
    }

    /// Takes a look at all of them. `is_settled`: none is missing because it is too new to be told whose it is.
    pub fn look(
        &mut self,
        now: BTreeSet<Link>,
        processes: BTreeSet<(i32, u64)>,
        is_settled: bool,
        at: Mono,
    ) {
        // What a new process opens replaces nothing, and what ended with its process was not replaced.
        let stays: BTreeSet<i32> =
            processes.intersection(&self.processes).map(|(pid, _)| *pid).collect();
        self.known.retain(|(pid, ..)| stays.contains(pid));
        let is_new = |link: &&Link| !self.known.contains(*link) && !self.gone.contains(*link);
        let fresh = now.iter().filter(|l| stays.contains(&l.0)).filter(is_new).count();
        self.gone.retain(|link| stays.contains(&link.0) && !now.contains(link));
        let gone: Vec<Link> = self.known.difference(&now).cloned().collect();
        self.gone.extend(gone.into_iter().take(MOST.saturating_sub(self.gone.len())));
        let replaced = fresh.min(self.gone.len());
        self.reconnects = self.reconnects.saturating_add(replaced as u64);
        (0..replaced).for_each(|_| drop(self.gone.pop_first()));
        // Where some are left, the others may have been given up; a process without any has lost what it will open again.
        if is_settled && !now.is_empty() {
            self.gone.clear();
        }
        self.known = now.into_iter().take(MOST).collect();
        (self.processes, self.seen) = (processes, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(links: &mut Links, names: &[&str], process: u64, is_settled: bool) -> (u64, u64) {
        let now = names.iter().map(|n| (7, "node".into(), (*n).into())).collect();
        links.look(now, BTreeSet::from([(7, process)]), is_settled, Mono(1));
        (links.count(), links.reconnects)
    }

    #[test]
    fn only_what_comes_in_place_of_another_is_a_reconnect() {
        let mut links = Links::default();
        assert_eq!(look(&mut links, &["a", "b"], 1, true), (2, 0));
        assert_eq!(look(&mut links, &["a", "b", "c"], 1, true), (3, 0), "a pool grows");
        assert_eq!(look(&mut links, &["a", "d", "e"], 1, true), (3, 2));
        assert_eq!(look(&mut links, &["a"], 1, true), (1, 2), "and shrinks");
        assert_eq!(look(&mut links, &["a", "f"], 1, true), (2, 2));
        assert_eq!(look(&mut links, &[], 1, true), (0, 2));
        assert_eq!(
            look(&mut links, &["g", "h", "i"], 1, true),
            (3, 4),
            "it lost both, and was seen without"
        );
        assert_eq!(look(&mut links, &["k"], 2, true), (1, 4), "another process");
    }

    #[test]
    fn one_whose_owner_is_not_known_yet_is_waited_for() {
        let mut links = Links::default();
        look(&mut links, &["a"], 1, true);
        assert_eq!(look(&mut links, &[], 1, false), (0, 0));
        assert_eq!(look(&mut links, &["b"], 1, true), (1, 1));
        assert_eq!(look(&mut links, &["c"], 1, true), (1, 2));
        assert_eq!(look(&mut links, &[], 1, false), (0, 2));
        assert_eq!(look(&mut links, &["c"], 1, true), (1, 2), "it was there all the time");
    }
}
