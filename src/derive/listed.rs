//! Which lists of live workers name one worker, or did.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::{Mono, Span};

/// The lists that ever named a worker.
#[derive(Clone, Debug, Default)]
pub struct Listed(BTreeMap<Arc<str>, Presence>);

#[derive(Clone, Copy, Debug, Default)]
struct Presence {
    /// Since when every complete read lacks it.
    absent_since: Option<Mono>,
    /// That has lasted.
    is_lost: bool,
}

impl Listed {
    /// Takes a complete read of a list. One that never named this worker says nothing of it.
    pub fn read(
        &mut self,
        list: &Arc<str>,
        is_named: bool,
        is_broken: bool,
        span: Span,
        patience: Duration,
    ) {
        if is_named {
            self.0.insert(list.clone(), Presence::default());
        } else if let Some(p) = self.0.get_mut(list) {
            if is_broken && !p.is_lost {
                p.absent_since = None;
            }
            let since = *p.absent_since.get_or_insert(span.done);
            p.is_lost |= span.sent.since(since) >= patience;
        }
    }

    /// Forgets lists that are not configured any more.
    pub fn keep(&mut self, is_configured: impl Fn(&str) -> bool) {
        self.0.retain(|list, _| is_configured(list));
    }

    /// Whether some list names it, as far as was read last.
    pub fn is_named(&self) -> bool {
        self.0.values().any(|p| p.absent_since.is_none())
    }

    /// Whether it lives by the lists that were read lately, and since when all of them have lost it. `None` if none of them
    /// ever named it.
    pub fn alive(&self, is_fresh: impl Fn(&str) -> bool) -> Option<(bool, Option<Mono>)> {
        let mut known = self.0.iter().filter(|(list, _)| is_fresh(list)).peekable();
        known.peek()?;
        let mut lost = None;
        for (_, p) in known {
            if !p.is_lost {
                return Some((true, None));
            }
            lost = lost.max(p.absent_since);
        }
        Some((false, lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn span(seconds: u64) -> Span {
        let at = Mono(seconds * 1_000_000_000);
        Span { sent: at, done: at }
    }

    #[test]
    fn a_worker_lives_while_one_list_has_not_lost_it() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let mut listed = Listed::default();
        listed.read(&a, false, false, span(0), PATIENCE);
        assert_eq!(listed.alive(|_| true), None, "it was never named");
        listed.read(&a, true, false, span(1), PATIENCE);
        listed.read(&b, true, false, span(1), PATIENCE);
        assert!(listed.is_named());
        for at in [10, 40, 70] {
            listed.read(&a, false, false, span(at), PATIENCE);
            assert_eq!(listed.alive(|_| true), Some((true, None)));
        }
        assert_eq!(listed.alive(|l| l == "a"), Some((false, Some(span(10).done))));
        listed.read(&b, false, false, span(80), PATIENCE);
        assert!(!listed.is_named());
        // After a gap an absence begins anew, unless it had lasted.
        listed.read(&b, false, true, span(200), PATIENCE);
        listed.read(&a, false, true, span(200), PATIENCE);
        assert_eq!(listed.alive(|l| l == "b"), Some((true, None)));
        assert_eq!(listed.alive(|l| l == "a"), Some((false, Some(span(10).done))));
        listed.read(&b, false, false, span(260), PATIENCE);
        assert_eq!(listed.alive(|_| true), Some((false, Some(span(200).done))));
        listed.keep(|l| l == "x");
        assert_eq!(listed.alive(|_| true), None);
    }
}
