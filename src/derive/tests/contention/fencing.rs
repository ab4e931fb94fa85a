//! A resource accepts an older fencing token than before.

use super::{assert_nothing, assert_proven, counted, has_series};
use crate::config::{Fencing, LockRules, RedisPart, ResourceSource, Source};
use crate::derive::tests::sim::{Sim, rules};
use crate::derive::{ContentionKind, Signal};
use crate::observe::Observation;
use crate::observe::node::FailReason;
use crate::observe::source::{SourceFailed, SourceRead, SourceRef, SourceValue};
use crate::view::Basis;

const KIND: ContentionKind = ContentionKind::Fencing;

fn fenced(source: Source) -> Sim {
    let accepted = vec![ResourceSource { name: "db".into(), source }];
    let fencing = Some(Fencing { issued: None, accepted, rejected: vec![] });
    let mut s = Sim::new(1_000, None, LockRules { fencing, ..rules() });
    s.advance(1_500);
    s.acquire("w:1", 90_000);
    s
}

fn in_redis() -> Source {
    Source::Redis { store: "main".into(), key: "seen".into(), part: RedisPart::Text, json: None }
}

fn in_a_file() -> Source {
    Source::File { path: "/seen".into(), content: true }
}

/// A poll each, in which the resource says this; `None` is no answer.
fn accepts(s: &mut Sim, tokens: &[Option<u64>]) {
    for token in tokens {
        s.advance(1_000);
        let value = match token {
            Some(t) => Ok(Some(SourceValue::Number(*t))),
            None => Err(SourceFailed { reason: FailReason::Timeout, detail: "no".into() }),
        };
        let (store, lock, resource) = ("main".into(), "lock".into(), "db".into());
        let source = SourceRef::FencingAccepted { store, lock, resource };
        let span = s.span();
        s.step(Observation::Source(Box::new(SourceRead { source, span, value })));
        s.advance(10);
    }
}

#[test]
fn an_older_token_that_is_accepted_twice_is_proven() {
    for source in [in_redis(), in_a_file()] {
        let mut s = fenced(source);
        accepts(&mut s, &[Some(33), Some(34), Some(33)]);
        assert!(has_series(&s, KIND));
        assert_nothing(&s, "one read");
        accepts(&mut s, &[Some(33)]);
        s.advance(1_000);
        assert_proven(&s, KIND);
        let proof = s.lock().contention.remove(0);
        assert_eq!(proof.basis, Basis::Token { resource: "db".into(), from: 34, to: 33 });
        assert_eq!(proof.owners[0].worker.as_deref(), Some("w"));
        s.advance(95_000);
        assert_eq!(s.signal(Signal::Contested), Some(false));
        assert_eq!(counted(&s), [(KIND, 1)]);
    }
}

#[test]
fn what_proves_nothing() {
    for (name, tokens) in [
        ("one read of a copy that is behind", vec![Some(33), Some(34), Some(33), Some(34)]),
        ("it grows", vec![Some(33), Some(34), Some(35), Some(99)]),
        ("the resource forgot it", vec![Some(34), Some(0), Some(0), Some(0)]),
        ("and began anew", vec![Some(34), Some(0), Some(1), Some(1), Some(2)]),
        ("no answer between", vec![Some(34), None, Some(12), Some(12), Some(13)]),
    ] {
        for source in [in_redis(), in_a_file()] {
            let mut s = fenced(source);
            accepts(&mut s, &tokens);
            s.advance(3_000);
            assert_nothing(&s, name);
        }
    }
    // The server that keeps it was restarted from an older copy; a read of the token may know before anything else does.
    let mut s = fenced(in_redis());
    accepts(&mut s, &[Some(33), Some(34)]);
    s.run_id += 1;
    s.connection += 1;
    accepts(&mut s, &[Some(12), Some(12)]);
    s.advance(3_000);
    assert_nothing(&s, "restarted");
    // It was restarted long before, and nothing happened to it since.
    accepts(&mut s, &[Some(14), Some(14), Some(13), Some(13)]);
    s.advance(3_000);
    assert_proven(&s, KIND);
}

/// The counter of tokens goes with it, and all begins anew before anybody looks.
#[test]
fn a_token_that_fell_as_its_server_was_emptied_proves_nothing() {
    for flushes_of_one in [0, 1] {
        let mut s = fenced(in_redis());
        accepts(&mut s, &[Some(33), Some(34)]);
        s.flushes_of_one += flushes_of_one;
        s.flushes += 1 - flushes_of_one;
        accepts(&mut s, &[Some(1), Some(1), Some(2)]);
        s.advance(3_000);
        assert_nothing(&s, "emptied");
        accepts(&mut s, &[Some(2), Some(1), Some(1)]);
        s.advance(3_000);
        assert_proven(&s, KIND);
    }
}

/// The exporter stood still meanwhile, and the resource may have begun anew.
#[test]
fn a_token_that_fell_while_nobody_looked_proves_nothing() {
    for source in [in_redis(), in_a_file()] {
        let mut s = fenced(source);
        accepts(&mut s, &[Some(33), Some(34)]);
        s.advance(4_000);
        accepts(&mut s, &[Some(1), Some(1), Some(2)]);
        s.advance(3_000);
        assert_nothing(&s, "not read");
        accepts(&mut s, &[Some(2), Some(1), Some(1)]);
        s.advance(3_000);
        assert_proven(&s, KIND);
    }
}
