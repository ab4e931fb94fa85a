//! Owners that let the lock go on some node that says master. Another node of the same history may show such an owner on,
//! with an E that is still ahead, until it is told of the release or made a replica: that is a leftover, and no owner.
//!
//! Only what one node showed and then did not show any more counts, over one connection: a server that was restarted in
//! between may have lost it. Why it went is settled elsewhere; what the server took is no release.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::derive::sight::{Held, Sight, same_expiry};
use crate::observe::{Expiry, Token};

/// Owners that are remembered.
const MOST: usize = 8;
/// Nodes whose last view is remembered.
const MOST_NODES: usize = 8;
/// A key that goes so shortly before its E may have run out.
const MARGIN_MICROS: i64 = 20_000;

/// The owner that a node showed last.
#[derive(Clone, Debug)]
struct View {
    addr: Arc<str>,
    connection: u64,
    shown: Option<(Token, Expiry)>,
}

/// Owners that let go of one lock, each with the last E that it was seen with where it did.
#[derive(Clone, Debug, Default)]
pub struct LetGo {
    views: Vec<View>,
    owners: VecDeque<(Token, Expiry)>,
}

impl LetGo {
    /// Takes a view of a node that says master.
    pub fn saw(&mut self, addr: &Arc<str>, connection: u64, sight: &Sight) {
        let shown = match &sight.held {
            Some((Some(token), expiry)) => Some((token.clone(), *expiry)),
            _ => None,
        };
        let Some(view) = self.views.iter_mut().find(|v| v.addr == *addr) else {
            if self.views.len() >= MOST_NODES {
                self.views.remove(0);
            }
            self.views.push(View { addr: addr.clone(), connection, shown });
            return;
        };
        let is_same = std::mem::replace(&mut view.connection, connection) == connection;
        let before = std::mem::replace(&mut view.shown, shown);
        if let Some((token, expiry)) = before
            && is_same
            && view.shown.as_ref().is_none_or(|(now, _)| *now != token)
            && is_before(sight, expiry)
        {
            self.note(token, expiry);
        }
    }

    fn note(&mut self, token: Token, expiry: Expiry) {
        self.owners.retain(|(t, e)| *t != token || !reaches(expiry, *e));
        if self.owners.len() >= MOST {
            self.owners.pop_front();
        }
        self.owners.push_back((token, expiry));
    }

    /// The server took it from this owner, which did not let go.
    pub fn was_taken(&mut self, token: &Token) {
        self.owners.retain(|(t, _)| t != token);
    }

    /// Whether what a node shows may be left over from an owner that let go elsewhere. One that took it again has a later E.
    pub fn is_leftover(&self, held: &Held) -> bool {
        let Some((Some(token), shown)) = held else { return false };
        self.owners.iter().any(|(t, e)| t == token && reaches(*e, *shown))
    }
}

fn is_before(sight: &Sight, expiry: Expiry) -> bool {
    match expiry {
        Expiry::At(e) => sight.time.plus_micros(MARGIN_MICROS) < e,
        Expiry::Never => true,
    }
}

/// Whether `a` is no earlier than `b`.
fn reaches(a: Expiry, b: Expiry) -> bool {
    match (a, b) {
        (Expiry::At(ea), Expiry::At(eb)) => ea >= eb || same_expiry(a, b),
        (Expiry::Never, _) => true,
        (Expiry::At(_), Expiry::Never) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Mono, ServerTime, Span};

    fn held(token: &str, e_ms: i64) -> Held {
        Some((Some(Token::new(token.as_bytes())), Expiry::At(ServerTime::from_ms(e_ms))))
    }

    fn sight(s: i64, held: Held) -> Sight {
        let at = Mono::from_secs_f64(s as f64);
        let span = Span { sent: at, done: at };
        Sight { span, time: ServerTime(s * 1_000_000), offset: None, held }
    }

    /// Views at one second each, with their connection, of one node.
    fn of(views: &[(u64, Held)]) -> LetGo {
        let mut all = LetGo::default();
        for (k, (connection, held)) in views.iter().enumerate() {
            all.saw(&"x".into(), *connection, &sight(k as i64 + 1, held.clone()));
        }
        all
    }

    #[test]
    fn an_owner_that_went_before_its_expiry_leaves_no_more_than_that() {
        let (a, b) = (held("a", 90_000), held("b", 90_000));
        for next in [None, b.clone()] {
            let all = of(&[(1, a.clone()), (1, next)]);
            for (e, is_leftover) in [(80_000, true), (90_020, true), (90_021, false)] {
                assert_eq!(all.is_leftover(&held("a", e)), is_leftover, "{e}");
            }
            assert!(!all.is_leftover(&b) && !all.is_leftover(&None));
        }
        for (name, views) in [
            ("still there", vec![(1, a.clone()), (1, held("a", 99_000))]),
            ("restarted", vec![(1, a.clone()), (2, None)]),
            ("ran out", vec![(1, held("a", 2_010)), (1, None)]),
        ] {
            assert!(of(&views).owners.is_empty(), "{name}");
        }
        let mut all = of(&[(1, a.clone()), (1, None)]);
        all.was_taken(&Token::new(b"a"));
        assert!(!all.is_leftover(&a), "flushed");
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut all = LetGo::default();
        for k in 0..30 {
            let addr: Arc<str> = format!("n{k}").into();
            all.saw(&addr, 1, &sight(1, held(&format!("t{k}"), 90_000)));
            all.saw(&addr, 1, &sight(2, None));
        }
        assert_eq!((all.views.len(), all.owners.len()), (MOST_NODES, MOST));
    }
}
