//! Whether another node that says master grants the lock to another owner: two primaries of one history, both believed.
//!
//! One look at each node proves nothing, since the lock may move between them. So the other node's view counts only
//! between two reads of the judged primary that show one owner, and it has to differ in two polls running. An owner that let
//! go on one of them proves nothing by what it left on the other. Which nodes are of one history is the store's to know.

use std::sync::Arc;
use std::time::Duration;

use super::let_go::LetGo;
use crate::derive::sight::{Between, Held, Sight, surely_before};
use crate::observe::{Expiry, Mono, Token};

/// Another node that says master, and its record with one lock.
#[derive(Clone, Debug)]
pub struct Rival {
    /// Its address.
    pub addr: Arc<str>,
    /// Its views until the primary is read again.
    pending: Between,
    /// When the first of the views that differ without a gap was taken.
    since: Option<Mono>,
    /// Two owners were valid at once in two polls running, and nothing else was seen since.
    is_proven: bool,
    /// The owners here and there that were told of, until something else is seen: what goes on after polls that were left out
    /// is no second one.
    told: Option<(Token, Token)>,
    /// When something was last decided.
    decided: Option<Mono>,
    /// What it showed then.
    pub shows: Held,
}

impl Rival {
    /// A node that was not compared yet.
    pub fn new(addr: Arc<str>) -> Self {
        let pending = Between::default();
        Self {
            addr,
            pending,
            since: None,
            is_proven: false,
            told: None,
            decided: None,
            shows: None,
        }
    }

    /// Takes the node's view; `primary` holds the primary's last reads, the newest first.
    pub fn look<'a>(&mut self, sight: Sight, primary: impl IntoIterator<Item = &'a Sight>) {
        if let Some(before) = surely_before(&sight, primary) {
            self.pending.wait(sight, before);
        }
    }

    /// Takes the primary's next read, and settles the views that are surely older. Returns whether that completed the
    /// proof.
    pub fn settle(&mut self, primary: &Sight, poll: Duration, let_go: &LetGo) -> bool {
        let was_proven = self.is_shown(primary.span.done, poll);
        self.pending.keep_unmoved(primary, is_unchanged);
        while let Some((sight, before)) = self.pending.settled_by(primary) {
            let is_left = [&sight, &before, primary].iter().any(|s| let_go.is_leftover(&s.held));
            self.decide(&sight, &before, primary, is_left, poll);
        }
        let is_new = !was_proven && self.is_shown(primary.span.done, poll);
        is_new && self.tell(primary)
    }

    /// Whether these two were not told of yet; they are then.
    fn tell(&mut self, primary: &Sight) -> bool {
        let two = token(&primary.held).cloned().zip(token(&self.shows).cloned());
        let is_new = two.is_none() || self.told != two;
        self.told = two;
        is_new
    }

    fn decide(
        &mut self,
        sight: &Sight,
        before: &Sight,
        after: &Sight,
        is_left: bool,
        poll: Duration,
    ) {
        let last = self.decided.replace(after.span.done);
        self.shows.clone_from(&sight.held);
        let are_two = !is_left
            && is_ahead(before)
            && is_ahead(sight)
            && is_ahead(after)
            && token(&sight.held).is_some_and(|t| Some(t) != token(&after.held));
        if !are_two {
            (self.since, self.is_proven, self.told) = (None, false, None);
            return;
        }
        // With a poll left out between, nothing was running.
        let is_running = last.is_some_and(|l| after.span.done.since(l) <= poll * 4);
        let since = self.since.filter(|_| is_running).unwrap_or(sight.span.sent);
        self.since = Some(since);
        // Reads out of turn come within one poll.
        self.is_proven = sight.span.sent.since(since) >= poll / 2;
    }

    /// Whether two owners are valid now, as far as was decided within the last four polls.
    pub fn is_shown(&self, now: Mono, poll: Duration) -> bool {
        self.is_proven && self.decided.is_some_and(|d| now.since(d) <= poll * 4)
    }

    /// A view taken before a break proves nothing after it.
    pub fn forget_pending(&mut self) {
        self.pending = Between::default();
    }
}

fn token(held: &Held) -> Option<&Token> {
    held.as_ref().and_then(|(token, _)| token.as_ref())
}

/// E is ahead of the node's own clock, and an owner is named.
fn is_ahead(sight: &Sight) -> bool {
    match &sight.held {
        Some((Some(_), Expiry::At(e))) => sight.time < *e,
        Some((Some(_), Expiry::Never)) => true,
        _ => false,
    }
}

/// One owner in both reads. A renewal between them is no change: it is the owner's own.
fn is_unchanged(before: &Sight, after: &Sight) -> bool {
    match (&before.held, &after.held) {
        (Some((Some(a), ea)), Some((Some(b), eb))) => {
            a == b
                && match (ea, eb) {
                    (Expiry::At(ea), Expiry::At(eb)) => ea <= eb,
                    (ea, eb) => ea == eb,
                }
        }
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::observe::{ServerTime, Span};

    const POLL: Duration = Duration::from_secs(1);

    /// Owner and E in milliseconds.
    type Shown<'a> = Option<(&'a str, i64)>;

    fn sight(s: f64, held: Option<(&str, i64)>) -> Sight {
        let at = Mono::from_secs_f64(s);
        Sight {
            span: Span { sent: at, done: at },
            time: ServerTime((s * 1e6) as i64),
            offset: None,
            held: held
                .map(|(t, e)| (Some(Token::new(t.as_bytes())), Expiry::At(ServerTime::from_ms(e)))),
        }
    }

    /// Rounds of X, Y; each second. Returns after which rounds it was shown.
    fn shown(rounds: &[(Shown<'_>, Shown<'_>)]) -> Vec<bool> {
        let mut rival = Rival::new("y".into());
        let mut let_go = LetGo::default();
        let mut last: Option<Sight> = None;
        rounds
            .iter()
            .enumerate()
            .map(|(k, (x, y))| {
                let at = k as f64 + 1.0;
                let read = sight(at, *x);
                let_go.saw(&"x".into(), 1, &read);
                rival.settle(&read, POLL, &let_go);
                let view = sight(at + 0.1, *y);
                let_go.saw(&"y".into(), 1, &view);
                rival.look(view, [&read].into_iter().chain(&last));
                last = Some(read.clone());
                rival.is_shown(read.span.done, POLL)
            })
            .collect()
    }

    #[test]
    fn two_owners_count_in_the_second_poll_and_until_one_is_gone() {
        let (a, b) = (Some(("a", 90_000)), Some(("b", 90_000)));
        let two = (a, b);
        assert_eq!(shown(&[two, two, two, two]), [false, false, true, true]);
        assert!(!shown(&[two, two, two, (a, None), (a, None)])[4]);
    }

    #[test]
    fn what_is_no_proof() {
        let (a, b) = (Some(("a", 90_000)), Some(("b", 90_000)));
        let (renewed, over) = (Some(("a", 99_000)), Some(("b", 900)));
        let cases = [
            ("one owner on both", vec![(a, a); 6], false),
            ("one owner, renewed on one of them", vec![(renewed, a); 6], false),
            ("free here", vec![(None, b); 6], false),
            ("free there", vec![(a, None); 6], false),
            ("its lease there is over by that node's clock", vec![(a, over); 6], false),
            (
                "let go here, left over there",
                vec![(a, a), (renewed, a), (b, a), (b, a), (b, a)],
                false,
            ),
            (
                "let go here, free for a while",
                vec![(a, a), (None, a), (b, a), (b, a), (b, a)],
                false,
            ),
            (
                "let go there, left over here",
                vec![(a, a), (a, None), (a, b), (a, b), (a, b)],
                false,
            ),
            (
                "let go here, taken again there",
                vec![(a, a), (b, a), (b, renewed), (b, renewed), (b, renewed)],
                true,
            ),
            ("now and then", vec![(a, b), (a, a), (a, b), (a, a), (a, b), (a, a)], false),
            ("handed over at each poll", vec![(a, b), (b, a), (a, b), (b, a), (a, b)], false),
            ("renewed meanwhile", vec![(a, b), (renewed, b), (renewed, b), (renewed, b)], true),
        ];
        for (name, rounds, is_proof) in cases {
            assert_eq!(shown(&rounds).contains(&true), is_proof, "{name}");
        }
    }

    /// Rounds at these seconds, in which each of two nodes has an owner. Returns how many contentions are told of.
    fn told(rounds: &[(f64, &str, &str)]) -> usize {
        let mut rival = Rival::new("y".into());
        let tell = |(at, x, y): &(f64, &str, &str)| {
            rival.look(sight(at + 0.1, Some((y, 90_000))), [&sight(*at, Some((x, 90_000)))]);
            let after = sight(at + 0.2, Some((x, 90_000)));
            rival.settle(&after, POLL, &LetGo::default())
        };
        rounds.iter().map(tell).filter(|is_told| *is_told).count()
    }

    #[test]
    fn a_contention_that_goes_on_after_polls_that_were_left_out_is_told_once() {
        let on = [(1.0, "a", "b"), (2.0, "a", "b")];
        let later = |x, y| [(20.0, x, y), (21.0, x, y), (22.0, x, y)];
        assert_eq!(told(&on), 1);
        assert_eq!(told(&[&on[..], &later("a", "b")].concat()), 1);
        assert_eq!(told(&[&on[..], &later("a", "c")].concat()), 2, "another owner");
        assert_eq!(told(&[&on[..], &[(3.0, "a", "a")], &later("a", "b")].concat()), 2, "ended");
    }

    #[test]
    fn two_reads_in_one_poll_are_one_poll() {
        let (a, b) = (Some(("a", 90_000)), Some(("b", 90_000)));
        let mut rival = Rival::new("y".into());
        for k in 0..4 {
            let at = 1.0 + f64::from(k) * 0.1;
            rival.look(sight(at + 0.05, b), [&sight(at, a)]);
            assert!(!rival.settle(&sight(at + 0.1, a), POLL, &LetGo::default()));
        }
        rival.look(sight(2.0, b), [&sight(1.9, a)]);
        assert!(rival.settle(&sight(2.9, a), POLL, &LetGo::default()));
    }

    proptest! {
        /// A node that follows the primary with any lag, and says master before it is one.
        #[test]
        fn a_node_that_shows_what_the_primary_shows_is_never_a_rival(owners in proptest::collection::vec(0..3_usize, 1..40)) {
            let names = ["a", "b", "c"];
            let rounds: Vec<_> = owners
                .iter()
                .map(|o| {
                    let held = names.get(*o).map(|n| (*n, 900_000));
                    (held, held)
                })
                .collect();
            prop_assert!(!shown(&rounds).contains(&true));
        }
    }
}
