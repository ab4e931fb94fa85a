//! What keyspace events prove of a change of owner or of an eviction, and that without them, or with less than all of them, nothing is proven.

use std::time::Duration;

use proptest::prelude::*;

use super::sim::{KEY, Sim, node, rules};
use crate::derive::{Evidence, Signal};
use crate::observe::feed::{Deed, FeedRead, Heard, Standing};
use crate::observe::node::FailReason;
use crate::observe::{Mono, Observation, Span};

/// A feed that hears all, as a poller tells of it.
pub struct Feed {
    since: Mono,
    pub hears: bool,
    /// It tells of databases that are emptied.
    pub tells: bool,
    known: Mono,
    deeds: Vec<(Mono, Deed)>,
}

impl Feed {
    pub fn begin(s: &mut Sim) -> Self {
        let mut feed =
            Self { since: s.now(), hears: true, tells: true, known: s.now(), deeds: Vec::new() };
        feed.stands(s, Standing::Live);
        feed.answers(s);
        feed
    }

    fn stands(&mut self, s: &mut Sim, standing: Standing) {
        let (at, gap) = (s.now(), Duration::ZERO);
        s.step(Observation::Feed(FeedRead {
            node: node(),
            at,
            standing,
            is_asked: false,
            is_unsure: false,
            gap,
        }));
    }

    pub fn did(&mut self, s: &mut Sim, deed: Deed) {
        self.deeds.push((s.now(), deed));
        s.advance(1);
    }

    pub fn answers(&mut self, s: &mut Sim) {
        let asked = Span { sent: s.now(), done: s.now() };
        let deeds = std::mem::take(&mut self.deeds);
        s.step(Observation::Heard(Box::new(Heard {
            node: node(),
            since: self.hears.then_some(self.since),
            asked,
            known: Some((KEY, self.known)),
            deeds: deeds.into_iter().map(|(at, deed)| (KEY, at, deed)).collect(),
        })));
        s.advance(1);
    }
}

/// One holds it, seen by two polls.
fn held() -> (Sim, Feed) {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    let mut feed = Feed::begin(&mut s);
    s.acquire("w:1", 30_000);
    feed.did(&mut s, Deed::Wrote);
    s.advance(1_200);
    feed.answers(&mut s);
    (s, feed)
}

/// One holds it, seen by two polls; then this happens, and another takes it while the first may still believe in it.
pub fn followed(happens: impl FnOnce(&mut Sim, &mut Feed)) -> Sim {
    let (mut s, mut feed) = held();
    happens(&mut s, &mut feed);
    s.acquire("v:2", 30_000);
    s.advance(20);
    s.read_key();
    s.advance(20);
    feed.answers(&mut s);
    s.advance(1_000);
    s
}

/// The same of one that the other writes over, or that is gone by then.
fn taken_over(told: impl FnOnce(&mut Sim, &mut Feed)) -> Sim {
    followed(|s, feed| {
        told(s, feed);
        s.key = None;
    })
}

#[test]
fn a_write_over_another_owner_is_proven_and_contested() {
    let mut s = taken_over(|s, feed| feed.did(s, Deed::Wrote));
    assert_eq!(s.ends(Evidence::Overwritten), 1, "{:#?}", s.lock().transitions);
    assert_eq!(s.signal(Signal::Contested), Some(true));
    s.assert_raised(&[Signal::Contested]);
    s.key.as_mut().expect("it is held").expiry_ms = None;
    s.advance(70_000);
    assert_eq!(s.signal(Signal::Contested), Some(false));
    assert_eq!(s.rises(Signal::Contested), 1);
}

#[test]
fn what_is_no_proof() {
    type Case = (&'static str, fn(&mut Sim, &mut Feed));
    let cases: [Case; 9] = [
        ("released", |s, feed| {
            feed.did(s, Deed::Removed);
            feed.did(s, Deed::Wrote);
        }),
        ("no event at all", |_, _| {}),
        ("something unknown", |s, feed| {
            feed.did(s, Deed::Unknown);
            feed.did(s, Deed::Wrote);
        }),
        ("the feed broke", |s, feed| {
            feed.did(s, Deed::Wrote);
            feed.stands(s, Standing::Down(FailReason::Network));
        }),
        ("it broke and was back at once", |s, feed| {
            feed.stands(s, Standing::Down(FailReason::Network));
            feed.since = s.now();
            feed.stands(s, Standing::Live);
            feed.did(s, Deed::Wrote);
        }),
        ("it knew the key only later", |s, feed| {
            feed.since = s.now().minus(Duration::from_secs(1));
            feed.known = s.now();
            feed.did(s, Deed::Wrote);
        }),
        ("not all is sent any more", |s, feed| {
            feed.hears = false;
            feed.did(s, Deed::Wrote);
        }),
        ("flushed", |s, feed| {
            s.flushes += 1;
            feed.did(s, Deed::Wrote);
        }),
        ("the connection of the reads broke", |s, feed| {
            s.connection += 1;
            feed.did(s, Deed::Wrote);
        }),
    ];
    for (name, told) in cases {
        let s = taken_over(told);
        assert_eq!(s.ends(Evidence::Overwritten), 0, "{name}");
        if name != "flushed" {
            s.assert_quiet();
        }
    }
}

/// One holds it, seen by two polls; then the key is gone, and another takes it while the first may still believe in it.
fn taken_after(told: impl FnOnce(&mut Sim, &mut Feed)) -> Sim {
    let (mut s, mut feed) = held();
    s.key = None;
    s.evicted += 40;
    told(&mut s, &mut feed);
    s.read_key();
    s.advance(20);
    feed.answers(&mut s);
    s.advance(2_000);
    feed.answers(&mut s);
    s.acquire("v:2", 60_000);
    feed.did(&mut s, Deed::Wrote);
    s.advance(600);
    feed.answers(&mut s);
    s.advance(1_000);
    s
}

#[test]
fn an_evicted_lock_that_another_takes_is_contested() {
    let s = taken_after(|s, feed| feed.did(s, Deed::Evicted));
    assert_eq!(s.ends(Evidence::Evicted), 1, "{:#?}", s.lock().transitions);
    assert_eq!(s.signal(Signal::Contested), Some(true));
    s.assert_raised(&[Signal::Contested]);
    let s = taken_over(|s, feed| {
        feed.did(s, Deed::Evicted);
        feed.did(s, Deed::Wrote);
    });
    assert_eq!((s.ends(Evidence::Evicted), s.ends(Evidence::Overwritten)), (1, 0));
    s.assert_raised(&[Signal::Contested]);
}

#[test]
fn what_proves_no_eviction() {
    type Case = (&'static str, fn(&mut Sim, &mut Feed));
    let cases: [Case; 6] = [
        ("released", |s, feed| feed.did(s, Deed::Removed)),
        ("released beside an eviction", |s, feed| {
            feed.did(s, Deed::Removed);
            feed.did(s, Deed::Evicted);
        }),
        ("something unknown", |s, feed| {
            feed.did(s, Deed::Evicted);
            feed.did(s, Deed::Unknown);
        }),
        ("a counter alone", |_, _| {}),
        ("the feed broke", |s, feed| {
            feed.stands(s, Standing::Down(FailReason::Network));
            feed.since = s.now();
            feed.stands(s, Standing::Live);
            feed.did(s, Deed::Evicted);
        }),
        ("the connection of the reads broke", |s, feed| {
            s.connection += 1;
            feed.did(s, Deed::Evicted);
        }),
    ];
    for (name, told) in cases {
        let mut s = taken_after(told);
        assert_eq!(s.ends(Evidence::Evicted), 0, "{name}");
        s.release("v:2");
        s.advance(40_000);
        assert_eq!(s.ends(Evidence::Evicted), 0, "{name}");
        s.assert_quiet();
    }
}

#[test]
fn a_worker_that_writes_over_its_own_lock_contends_with_nobody() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    let mut feed = Feed::begin(&mut s);
    s.acquire("w:1", 30_000);
    s.advance(1_200);
    s.key = None;
    s.acquire("w:2", 30_000);
    feed.did(&mut s, Deed::Wrote);
    s.read_key();
    s.advance(20);
    feed.answers(&mut s);
    s.advance(1_000);
    assert_eq!(s.ends(Evidence::Overwritten), 1);
    s.assert_quiet();
}

proptest! {
    /// Locks that are taken by turns, each released or run out before the next: whatever the reads and answers see of it, no
    /// overwrite is called.
    #[test]
    fn legal_hand_overs_are_never_overwrites(
        steps in proptest::collection::vec((0_u64..400, 0..4_u8), 1..60),
    ) {
        let mut s = Sim::new(500, None, rules());
        s.advance(1_000);
        let mut feed = Feed::begin(&mut s);
        for (n, (pause, what)) in steps.into_iter().enumerate() {
            s.advance(pause);
            match what {
                0 | 1 => {
                    if s.key.take().is_some() {
                        feed.deeds.push((s.now(), Deed::Removed));
                    }
                    s.acquire(&format!("w{n}:1"), 30_000);
                    feed.deeds.push((s.now(), Deed::Wrote));
                }
                2 => s.read_key(),
                _ => feed.answers(&mut s),
            }
        }
        s.advance(2_000);
        prop_assert_eq!(s.ends(Evidence::Overwritten), 0);
    }
}
