//! Who is missing from a list and who is not, on invented time.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::*;
use crate::observe::node::FailReason;

const REFRESH: Duration = Duration::from_secs(10);

fn span(seconds: u64) -> Span {
    let sent = Mono(seconds * 1_000_000_000);
    Span { sent, done: sent.plus(Duration::from_millis(5)) }
}

fn list_of(refresh: Duration) -> List {
    let mut list = List::default();
    list.set_refresh(refresh);
    list
}

fn owner(token: &str) -> Owner {
    Owner { token: Token::new(token.as_bytes()), worker: None, host: None, pid: None, thread: None }
}

fn members(names: &[&str]) -> Vec<ListMember> {
    names.iter().map(|n| ListMember { name: (*n).into(), is_job: false, beat: None }).collect()
}

/// One holder, `job`, first seen at `first`.
struct Bench {
    list: List,
    owner: Owner,
    first: Mono,
}

impl Bench {
    fn new() -> Self {
        Self { list: list_of(REFRESH), owner: owner("job"), first: span(0).done }
    }

    fn read(&mut self, at: u64, names: &[&str]) {
        self.list.take(&members(names), span(at));
        self.list.hold_against([(&self.owner, None, self.first)].into_iter());
    }

    fn says(&self, at: u64) -> Liveness {
        self.list.verdict(&self.owner, None, span(at).done).0
    }
}

#[test]
fn absent_from_every_read_for_a_minute_is_unlisted_and_named_once_is_alive() {
    let mut b = Bench::new();
    b.read(0, &["job", "x"]);
    assert_eq!(b.says(1), Liveness::Alive);
    for at in (10..=60).step_by(10) {
        b.read(at, &["x"]);
        assert_eq!(b.says(at), Liveness::Alive, "at {at}");
    }
    b.read(80, &["x"]);
    let (liveness, loss) = b.list.verdict(&b.owner, None, span(81).done);
    assert_eq!(
        (liveness, loss),
        (Liveness::Unlisted, Some(Loss { since: span(10).done, shown: span(80).done }))
    );
    b.read(90, &["job"]);
    assert_eq!(b.says(90), Liveness::Alive);
    b.read(100, &["x"]);
    assert_eq!(b.says(100), Liveness::Alive, "the minute begins anew");
}

#[test]
fn one_that_was_never_named_is_unknown_until_the_minute_is_over() {
    let mut b = Bench::new();
    b.read(0, &["x"]);
    b.read(50, &["x"]);
    // The two reads lie too far apart.
    assert_eq!(b.says(50), Liveness::Unknown);
    for at in (60..=120).step_by(10) {
        b.read(at, &["x"]);
    }
    assert_eq!(b.says(121), Liveness::Unlisted);
}

/// A mistyped key is an empty list for ever, and would make every holder unlisted.
#[test]
fn a_list_that_never_named_anybody_says_nothing() {
    let mut b = Bench::new();
    for at in (0..=300).step_by(10) {
        b.read(at, &[]);
    }
    assert_eq!(b.says(301), Liveness::Unknown);
    b.read(310, &["x"]);
    assert_eq!(b.says(311), Liveness::Unlisted);
}

#[test]
fn failures_prove_nothing_and_an_old_read_says_nothing() {
    let mut b = Bench::new();
    b.read(0, &["job"]);
    b.read(10, &["x"]);
    b.list.reads.failed(FailReason::Timeout);
    assert_eq!(b.says(44), Liveness::Alive);
    assert_eq!(b.says(46), Liveness::Unknown);
    // What was absent before the outage need not have been all the time.
    b.read(100, &["x"]);
    assert_eq!(b.says(100), Liveness::Alive);
    for at in (110..=170).step_by(10) {
        b.read(at, &["x"]);
    }
    assert_eq!(b.says(171), Liveness::Unlisted);
    // A loss that was proven stays proven.
    b.read(300, &["x"]);
    assert_eq!(b.says(300), Liveness::Unlisted);
}

#[test]
fn a_read_that_failed_does_not_begin_the_wait_anew() {
    let mut b = Bench::new();
    b.list.set_refresh(Duration::from_secs(2));
    b.read(0, &["job"]);
    (2..=20).step_by(2).for_each(|at| b.read(at, &["x"]));
    b.list.reads.failed(FailReason::Timeout);
    // Ten seconds until it was given up, and more until the next.
    (33..=62).step_by(2).for_each(|at| b.read(at, &["x"]));
    assert_eq!(b.says(62), Liveness::Alive);
    b.read(63, &["x"]);
    assert_eq!(b.says(63), Liveness::Unlisted, "a minute after the first read without it");

    // An outage does: who is absent after it may not have come back yet.
    let mut b = Bench::new();
    b.list.set_refresh(Duration::from_secs(2));
    b.read(0, &["job"]);
    b.read(2, &["x"]);
    (33..=92).step_by(2).for_each(|at| b.read(at, &["x"]));
    assert_eq!(b.says(92), Liveness::Alive);
    b.read(94, &["x"]);
    assert_eq!(b.says(94), Liveness::Unlisted);
}

#[test]
fn a_tenure_that_began_later_has_its_own_minute() {
    let mut b = Bench::new();
    b.read(0, &["job"]);
    for at in (10..=100).step_by(10) {
        b.read(at, &["x"]);
    }
    assert_eq!(b.says(100), Liveness::Unlisted);
    b.first = span(105).done;
    b.read(110, &["x"]);
    assert_ne!(b.says(110), Liveness::Unlisted);
    for at in (120..=170).step_by(10) {
        b.read(at, &["x"]);
    }
    assert_eq!(b.says(171), Liveness::Unlisted);
}

/// Of two workers one has a name: whether the other is connected cannot be seen.
#[test]
fn nobody_without_a_name_is_missing_from_a_list_of_names() {
    let mut b = Bench::new();
    b.list.set_needs_name(true);
    for at in (0..=300).step_by(10) {
        b.read(at, &["x"]);
    }
    assert_eq!(b.says(301), Liveness::Unknown);
    // With a name it can be missing, from then on.
    let name = "y".into();
    let mut says = Liveness::Unknown;
    for at in (310..=380).step_by(10) {
        b.list.take(&members(&["x"]), span(at));
        b.list.hold_against([(&b.owner, Some(&name), b.first)].into_iter());
        says = b.list.verdict(&b.owner, Some(&name), span(at).done).0;
        assert_eq!(says == Liveness::Unlisted, at >= 380, "at {at}");
    }
    assert_eq!(says, Liveness::Unlisted);
}

/// Names are compared whole, and what was not read whole is not compared.
#[test]
fn long_names_are_compared_whole_or_not_at_all() {
    let named = |length: usize, end: &str| format!("{}{end}", "L".repeat(length));
    for (length, liveness) in [(300, Liveness::Unlisted), (511, Liveness::Unknown)] {
        let listed = label::text(named(length, "A").as_bytes());
        let mut b = Bench { owner: owner(&named(length, "B")), ..Bench::new() };
        for at in (0..=100).step_by(10) {
            b.read(at, &[&listed]);
        }
        assert_eq!(b.says(101), liveness, "{length}");
    }
}

#[test]
fn a_slow_list_is_given_three_of_its_refreshes() {
    let mut list = list_of(Duration::from_secs(60));
    assert_eq!(list.patience(), Duration::from_secs(180));
    list.set_refresh(Duration::from_secs(1));
    assert_eq!(list.patience(), Duration::from_secs(60));
}

#[test]
fn a_list_may_name_worker_token_host_or_process() {
    let mut list = list_of(REFRESH);
    list.take(&members(&["w-1", "jid", "web-1:42"]), span(1));
    let named = |token: &str, worker: Option<&str>, host: Option<&str>, pid| {
        let mut o = owner(token);
        (o.host, o.pid) = (host.map(Arc::from), pid);
        let worker = worker.map(Arc::from);
        list.names(&o, worker.as_ref())
    };
    assert!(named("t", Some("w-1"), None, None) && named("jid", None, None, None));
    assert!(named("t", None, Some("web-1"), Some(42)));
    assert!(!named("t", None, Some("web-1"), Some(43)));
    let host = Some("web-1");
    assert!(named("t", host, host, Some(42)), "its host stands for the worker");
    assert!(!named("t", host, host, Some(43)));
    assert!(
        !named("t", Some("w-2"), Some("web-1"), Some(42)),
        "another worker on that process is not it"
    );
    let binary = Owner { token: Token::new(b"\xff\0"), ..owner("") };
    assert!(!list.names(&binary, None));
}

proptest! {
    // Beside this file, not in a directory of its own at the top.
    #![proptest_config(ProptestConfig::with_failure_persistence(FileFailurePersistence::WithSource("regressions")))]

    /// Whoever is named in at least every sixth read, ten seconds apart, is never unlisted.
    #[test]
    fn one_that_is_named_now_and_then_is_never_unlisted(gaps in proptest::collection::vec(0_u64..6, 1..40)) {
        let mut b = Bench::new();
        let mut at = 0;
        for gap in gaps {
            b.read(at, &["job"]);
            for _ in 0..gap {
                at += 10;
                b.read(at, &["x"]);
                prop_assert_ne!(b.says(at), Liveness::Unlisted);
            }
            at += 10;
        }
    }

    #[test]
    fn unlisted_is_said_only_after_a_minute_of_complete_reads_without_it(reads in proptest::collection::vec((1_u64..40, 0_u8..3), 1..60)) {
        let mut b = Bench::new();
        let (mut at, mut since) = (0, Some(0));
        b.read(0, &["x"]);
        for (pause, kind) in reads {
            at += pause;
            match kind {
                0 => { b.read(at, &["job"]); since = None; }
                1 => { b.read(at, &["x"]); since = since.or(Some(at)); }
                _ => { b.list.reads.failed(FailReason::Network); }
            }
            if b.says(at) == Liveness::Unlisted {
                prop_assert!(since.is_some_and(|s| at - s >= 59), "absent since {since:?}, now {at}");
            }
        }
    }
}
