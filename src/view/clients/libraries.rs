//! Who is connected to a node, counted by client library.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::derive::node::Node;
use crate::observe::Mono;

/// Libraries with their versions that have a count of their own; all beyond are one.
const MOST: usize = 20;
/// What those are called.
const OTHER: &str = "other";

/// Library, its version, and how many connections are its.
pub type ByLibrary = Vec<(Arc<str>, Arc<str>, u64)>;

/// The connections of a node by library, the most first of those beyond the bound left to themselves; `None` without a list
/// that is recent.
pub fn by_library(node: &Node, now: Mono) -> Option<ByLibrary> {
    let clients = node.clients_at(now)?;
    let mut counts: BTreeMap<(&Arc<str>, &Arc<str>), u64> = BTreeMap::new();
    for client in clients {
        *counts.entry((&client.library, &client.library_version)).or_default() += 1;
    }
    let mut list: Vec<_> = counts.into_iter().collect();
    list.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
    let beyond: u64 = list.iter().skip(MOST).map(|(_, n)| n).sum();
    list.truncate(MOST);
    let mut out: ByLibrary =
        list.into_iter().map(|((name, version), n)| (name.clone(), version.clone(), n)).collect();
    if beyond > 0 {
        // A library may call itself so.
        match out.iter_mut().find(|(name, version, _)| **name == *OTHER && version.is_empty()) {
            Some((.., n)) => *n += beyond,
            None => out.push((OTHER.into(), Arc::default(), beyond)),
        }
    }
    out.sort();
    Some(out)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::observe::client::{Client, ClientsRead};
    use crate::observe::{Line, NodeRef, Span, StoreId};

    fn node(libraries: impl Iterator<Item = (String, String)>) -> Node {
        let mut node = Node::new("a:1".into());
        let list = libraries.enumerate().map(|(i, (name, version))| Client {
            id: i as u64,
            addr: "b:1".into(),
            library: name.into(),
            library_version: version.into(),
            ..Client::default()
        });
        let at = Mono::from_secs_f64(100.0);
        node.clients = Some(ClientsRead {
            node: NodeRef { store: StoreId(1), line: Line::default(), addr: "a:1".into() },
            span: Span { sent: at, done: at },
            seen: Ok(list.collect()),
        });
        node
    }

    #[test]
    fn what_is_beyond_the_bound_is_one() {
        let many = (0..30).map(|i| (format!("lib-{i:02}"), "1".to_owned()));
        let twice = std::iter::repeat_n(("jedis".to_owned(), "5".to_owned()), 2);
        let none = std::iter::once((String::new(), String::new()));
        let node = node(many.chain(twice).chain(none));
        let now = Mono::from_secs_f64(101.0);
        let list = by_library(&node, now).unwrap();
        assert_eq!(list.len(), MOST + 1);
        assert_eq!(list.iter().map(|(.., n)| n).sum::<u64>(), 33, "none is lost");
        let of = |name: &str| list.iter().find(|(n, ..)| **n == *name).map(|(.., n)| *n);
        assert_eq!((of("jedis"), of("other"), of("")), (Some(2), Some(12), Some(1)));
        assert_eq!(by_library(&node, now.plus(Duration::from_secs(60))), None, "too old");
    }

    #[test]
    fn a_library_may_call_itself_other() {
        let many = (0..30).map(|i| (format!("lib-{i:02}"), "1".to_owned()));
        let other = std::iter::repeat_n(("other".to_owned(), String::new()), 3);
        let list = by_library(&node(many.chain(other)), Mono::from_secs_f64(101.0)).unwrap();
        let found: Vec<_> = list.iter().filter(|(name, ..)| **name == *OTHER).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].2, 3 + 11);
    }
}
