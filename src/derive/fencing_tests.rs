//! Which reads of tokens are a regression, and of which the source itself is no explanation.

use proptest::prelude::*;

use super::*;

fn at(n: usize) -> Mono {
    Mono(n as u64 * 1_000_000_000)
}

fn issued(reads: &[Option<u64>]) -> u64 {
    let mut issued = Issued::default();
    reads.iter().enumerate().for_each(|(i, t)| drop(issued.read(*t, at(i))));
    issued.regressions
}

fn accepted(reads: &[u64]) -> u64 {
    let mut accepted = Accepted::default();
    reads.iter().enumerate().for_each(|(i, t)| drop(accepted.read(Some(*t), at(i))));
    accepted.regressions
}

#[test]
fn a_counter_that_goes_down_or_vanishes_regresses_once_each_time() {
    assert_eq!(issued(&[Some(5), Some(6), Some(6), Some(1), Some(2)]), 1);
    assert_eq!(issued(&[Some(5), None, None, Some(1), Some(2)]), 1);
    assert_eq!(issued(&[None, Some(1), Some(2)]), 0);
    assert_eq!(issued(&[Some(5), Some(4), Some(3)]), 2);
}

#[test]
fn an_accepted_token_falls_when_two_reads_say_so() {
    assert_eq!(accepted(&[33, 34, 33, 33, 34]), 1);
    // One read of a copy that is behind, again and again.
    assert_eq!(accepted(&[34, 33, 34, 33, 34]), 0);
    // A resource that restarts and knows no token until the next one.
    assert_eq!(accepted(&[34, 0, 0, 35]), 0);
    // It restarts and accepts an old one.
    assert_eq!(accepted(&[34, 0, 12, 12]), 1);
    assert_eq!(accepted(&[34, 12, 0, 13, 13]), 1);
    let mut a = Accepted::default();
    for (i, t) in [34, 12, 13].into_iter().enumerate() {
        a.read(Some(t), at(i));
    }
    let fall = Fall { from: 34, to: 13, since: at(0), at: at(2), is_whole: true };
    assert_eq!(a.fell, Some(fall));
}

#[test]
fn a_source_that_never_showed_anything_is_told_once_and_after_each_failure() {
    let mut reads = Reads::default();
    assert_eq!(reads.looked(false, true), Some(Look::Empty), "it is not back");
    assert_eq!(reads.looked(false, false), None);
    assert_eq!(reads.looked(false, true), Some(Look::Empty));
    assert_eq!(reads.looked(true, false), Some(Look::Appeared));
    assert_eq!(reads.looked(false, false), None, "what vanished was there");
    assert_eq!(reads.looked(true, true), Some(Look::Back));
    assert_eq!(Reads::default().looked(true, false), None);
}

#[test]
fn a_failed_read_between_two_is_a_break() {
    let mut a = Accepted::default();
    a.read(Some(34), at(1));
    a.read(Some(12), at(2));
    assert!(a.failed(FailReason::Timeout) && !a.failed(FailReason::Timeout));
    assert_eq!(a.read(Some(12), at(4)), None);
    assert!(a.read(Some(12), at(5)).is_some());
    assert_eq!((a.reads.last, a.reads.failure), (Some(at(5)), None));
}

#[test]
fn a_source_that_may_have_begun_anew_proves_nothing() {
    let fell = |reads: &[Option<u64>]| {
        let mut a = Accepted::default();
        for (i, t) in reads.iter().enumerate() {
            match t {
                Some(t) => drop(a.read((*t > 1).then_some(*t), at(i))),
                None => drop(a.failed(FailReason::Timeout)),
            }
        }
        a.fell.map(|f| (f.is_whole, f.since))
    };
    let is_whole = [Some(34), Some(34), Some(12), Some(13)];
    assert_eq!(fell(&is_whole), Some((true, at(1))));
    for (name, reads) in [
        ("zero or nothing between", vec![Some(34), Some(0), Some(12), Some(12)]),
        ("no answer between", vec![Some(34), None, Some(12), Some(12)]),
        ("no answer while it decides", vec![Some(34), Some(12), None, Some(12), Some(12)]),
        ("nothing while it decides", vec![Some(34), Some(12), Some(1), Some(12), Some(12)]),
    ] {
        assert_eq!(fell(&reads), Some((false, at(0))), "{name}");
    }
    // Later it falls again, and nothing happened to it.
    let later = [Some(34), None, Some(12), Some(12), Some(11), Some(11)];
    assert_eq!(fell(&later), Some((true, at(3))));
}

proptest! {
    #[test]
    fn tokens_that_only_grow_never_regress(mut tokens: Vec<u64>) {
        tokens.sort_unstable();
        prop_assert_eq!(accepted(&tokens), 0);
        prop_assert_eq!(issued(&tokens.iter().copied().map(Some).collect::<Vec<_>>()), 0);
    }

    #[test]
    fn single_reads_that_are_behind_never_regress(tokens in proptest::collection::vec(1_u64..1000, 1..40)) {
        let mut sorted = tokens.clone();
        sorted.sort_unstable();
        // After each true read one of a copy that may be behind.
        let mixed: Vec<u64> =
            sorted.iter().zip(&tokens).flat_map(|(high, any)| [*high, *high.min(any), *high]).collect();
        prop_assert_eq!(accepted(&mixed), 0);
    }

    #[test]
    fn a_fall_that_stays_is_always_found(from in 2_u64..u64::MAX, to in 1_u64..u64::MAX, stays in 2_usize..9) {
        prop_assume!(to < from);
        let mut reads = vec![from];
        reads.extend(std::iter::repeat_n(to, stays));
        prop_assert_eq!(accepted(&reads), 1);
    }
}
