//! Locks that were let go of before a database was emptied, or taken after it, told from those that the flush took.

use super::events::{Feed, followed};
use super::sim::{Sim, node};
use crate::derive::{Evidence, Signal};
use crate::observe::Observation;
use crate::observe::feed::{Deed, Emptied};

fn flush(s: &mut Sim, feed: &mut Feed) {
    s.key = None;
    s.flushes += 1;
    if feed.tells {
        s.step(Observation::Emptied(Emptied { node: node(), at: s.now() }));
    }
    s.advance(1);
}

/// The same of `FLUSHDB`.
fn flush_one(s: &mut Sim, feed: &mut Feed) {
    flush(s, feed);
    (s.flushes, s.flushes_of_one) = (s.flushes - 1, s.flushes_of_one + 1);
}

/// The other database has no such key.
fn swap(s: &mut Sim, feed: &mut Feed) {
    s.swaps += 1;
    feed.tells = false;
    flush_one(s, feed);
}

/// It is let go of, which is seen at once, well before this is done.
fn gone_before(s: &mut Sim, feed: &mut Feed, is_done: fn(&mut Sim, &mut Feed)) {
    feed.hears = false;
    feed.answers(s);
    s.release("w:1");
    s.read_key();
    s.advance(80);
    is_done(s, feed);
    s.facts();
}

#[test]
fn a_lock_that_was_let_go_of_before_a_flush_was_not_lost_by_it() {
    type Case = (&'static str, bool, fn(&mut Sim, &mut Feed));
    let cases: [Case; 10] = [
        ("flushed, as events tell", true, |s, feed| flush(s, feed)),
        ("flushed, as broadcasts tell", true, |s, feed| {
            feed.hears = false;
            feed.answers(s);
            flush(s, feed);
        }),
        ("flushed, as nobody tells", true, |s, feed| {
            (feed.hears, feed.tells) = (false, false);
            feed.answers(s);
            flush(s, feed);
        }),
        ("removed first, as events tell", false, |s, feed| {
            s.release("w:1");
            feed.did(s, Deed::Removed);
            flush(s, feed);
        }),
        ("gone first, as broadcasts tell", false, |s, feed| gone_before(s, feed, flush)),
        ("gone before one is emptied", false, |s, feed| gone_before(s, feed, flush_one)),
        ("gone before they are swapped, perhaps", true, |s, feed| gone_before(s, feed, swap)),
        ("one is emptied, as broadcasts tell", true, |s, feed| {
            feed.hears = false;
            feed.answers(s);
            flush_one(s, feed);
        }),
        ("taken after it and let go of", false, |s, feed| {
            (feed.hears, feed.tells) = (false, false);
            feed.answers(s);
            s.release("w:1");
            s.advance(1_000);
            // No facts are read from here to the end.
            flush(s, feed);
            s.acquire("u:3", 30_000);
            s.read_key();
            s.advance(20);
            s.read_key();
            s.release("u:3");
            s.read_key();
        }),
        ("renewed right before it", true, |s, feed| {
            (feed.hears, feed.tells) = (false, false);
            feed.answers(s);
            s.renew("w:1", 30_000);
            s.read_key();
            flush(s, feed);
        }),
    ];
    for (name, is_lost, told) in cases {
        let s = followed(told);
        assert_eq!(
            s.rises(Signal::Contested),
            u64::from(is_lost),
            "{name}: {:#?}",
            s.lock().transitions
        );
        if !is_lost && name != "taken after it and let go of" {
            assert_eq!(s.ends(Evidence::Flushed), 0, "{name}");
        }
    }
}
