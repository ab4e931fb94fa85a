//! Which ends take a lock from its owner, and who contends with whom.

use super::super::Contested;
use super::*;

fn claim(acquired_after: Option<u64>) -> Claim {
    let until = Some(Mono(1));
    Claim { until, acquired_after, is_seen_twice: true, ..Claim::default() }
}

#[test]
fn what_takes_a_lock_from_its_owner() {
    let at = |after, evidence, cut| was_taken(&claim(after), evidence, cut);
    let cases = [
        ("flushed", at(None, Evidence::Flushed, Cut::Unknown), true),
        ("evicted", at(None, Evidence::Evicted, Cut::Unknown), true),
        ("clock", at(None, Evidence::ClockStep, Cut::Unknown), true),
        ("released", at(Some(9), Evidence::Released, Cut::All), false),
        ("unknown", at(Some(9), Evidence::Unknown, Cut::All), false),
        ("acquired after the cut", at(Some(188), Evidence::Failover, Cut::At(120)), true),
        ("acquired right after it", at(Some(120), Evidence::Failover, Cut::At(120)), true),
        ("maybe before it", at(Some(119), Evidence::Failover, Cut::At(120)), false),
        ("begin unseen", at(None, Evidence::Failover, Cut::At(120)), false),
        ("came back empty", at(None, Evidence::Failover, Cut::All), true),
        ("history unknown", at(Some(188), Evidence::Failover, Cut::Unknown), false),
    ];
    for (name, is_taken, expected) in cases {
        assert_eq!(is_taken, expected, "{name}");
    }
    let once = Claim { is_seen_twice: false, ..claim(Some(188)) };
    assert!(!was_taken(&once, Evidence::Flushed, Cut::All));
}

#[test]
fn an_owner_that_has_it_again_or_whose_lease_is_over_contends_with_nobody() {
    let token = |t: &str| Token::new(t.as_bytes());
    let lost = |until| {
        let mut contested = Contested::default();
        contested.lost.push(Lost {
            token: token("a"),
            worker: Some("w-1".into()),
            until: Mono::from_secs_f64(until),
            party: Party::default(),
            basis: Basis::Reads,
        });
        contested
    };
    for (name, owner, worker, at, events) in [
        ("its own", "a", None, 5.0, 0),
        ("by a new token", "b", Some("w-1"), 5.0, 0),
        ("too late", "b", Some("w-2"), 30.0, 0),
        ("another", "b", Some("w-2"), 29.0, 1),
        ("one that nothing names", "b", None, 29.0, 1),
    ] {
        let mut c = lost(30.0);
        let worker = worker.map(Arc::from);
        let at = Mono::from_secs_f64(at);
        let mut taken = c.held_by((&token(owner), worker.as_ref()), at).len();
        taken += c.held_by((&token("c"), None), at).len();
        assert_eq!(taken, events, "{name}");
    }
}
