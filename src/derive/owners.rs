//! Whom a store's owner index names: worker by token, for tokens that name nobody. Bounded; tokens are credentials and go
//! nowhere else from here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::lock::OwnersNamed;
use crate::observe::{Mono, Token};

/// Tokens remembered at most.
const MOST: usize = 16_384;
/// How long a name is kept that is not read again: only tokens that hold something now are looked up.
const KEPT: Duration = Duration::from_secs(600);

/// Workers by token.
#[derive(Clone, Debug, Default)]
pub struct OwnerIndex {
    names: HashMap<Token, (Arc<str>, Mono)>,
    /// Some read of it succeeded.
    pub was_read: bool,
}

impl OwnerIndex {
    /// Takes one read of the index.
    pub fn learn(&mut self, read: &OwnersNamed) {
        let now = read.span.done;
        self.was_read = true;
        if self.names.len() + read.names.len() > MOST {
            self.names.clear();
        }
        for (token, name) in &read.names {
            match name {
                Some(name) if self.names.len() < MOST || self.names.contains_key(token) => {
                    self.names.insert(token.clone(), (name.clone(), now));
                }
                Some(_) => {}
                None => {
                    self.names.remove(token);
                }
            }
        }
        self.names.retain(|_, (_, at)| now.since(*at) < KEPT);
    }

    /// Whether it names nobody.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The worker that this token stands for.
    pub fn name(&self, token: &Token) -> Option<&Arc<str>> {
        self.names.get(token).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Span, StoreId};

    fn read(at: u64, names: Vec<(String, Option<&str>)>) -> OwnersNamed {
        let at = Mono(at * 1_000_000_000);
        let names = names.into_iter().map(|(t, n)| (Token::new(t.as_bytes()), n.map(Arc::from)));
        OwnersNamed { store: StoreId(1), span: Span { sent: at, done: at }, names: names.collect() }
    }

    fn name(index: &OwnerIndex, token: &str) -> Option<String> {
        index.name(&Token::new(token.as_bytes())).map(|n| n.to_string())
    }

    #[test]
    fn a_name_lives_while_it_is_read_and_goes_when_the_index_lets_it_go() {
        let mut index = OwnerIndex::default();
        index.learn(&read(1, vec![("a".into(), Some("w1")), ("b".into(), Some("w2"))]));
        index.learn(&read(2, vec![("a".into(), None)]));
        assert_eq!((name(&index, "a"), name(&index, "b")), (None, Some("w2".into())));
        index.learn(&read(700, vec![("c".into(), Some("w3"))]));
        assert_eq!((name(&index, "b"), name(&index, "c")), (None, Some("w3".into())));
    }

    #[test]
    fn however_many_tokens_there_are_it_stays_small() {
        let mut index = OwnerIndex::default();
        for n in 0..10u64 {
            let many = (0..9_000).map(|t| (format!("{n}-{t}"), Some("w"))).collect();
            index.learn(&read(n, many));
            assert!(index.names.len() <= MOST);
            assert_eq!(name(&index, &format!("{n}-8999")), Some("w".into()));
        }
        index.learn(&read(11, (0..40_000).map(|t| (t.to_string(), Some("w"))).collect()));
        assert!(index.names.len() <= MOST);
    }
}
