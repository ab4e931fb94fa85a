//! Any timing: a right system is never refuted, a wrong one never proven, whatever the polls are.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::super::Proof;
use super::cases::criterion;
use super::sim::World;

#[derive(Clone, Debug)]
struct Timing {
    poll: f64,
    phase: f64,
    lease: f64,
    period: f64,
    fault: f64,
    later: f64,
    restart: Option<f64>,
}

fn timing() -> impl Strategy<Value = Timing> {
    (
        0.1..2.5_f64,
        0.0..1.0_f64,
        2.0..12.0_f64,
        2.5..5.0_f64,
        0.0..3.0_f64,
        0.0..1.0_f64,
        proptest::option::of(0.0..1.0_f64),
    )
        .prop_map(|(poll, phase, lease, part, fault, later, restart)| Timing {
            poll,
            phase: poll * phase,
            lease,
            period: lease / part,
            fault: lease * 2.0 + fault,
            later,
            restart: restart.map(|r| r * lease * 4.0),
        })
}

impl Timing {
    /// `a` holds and renews until the fault.
    fn held(&self) -> World {
        let until = self.fault + self.lease * 3.0 + self.poll * 20.0;
        let mut world = World::new(self.poll, self.lease, until);
        world.phase = self.phase;
        world.restarts = self.restart.into_iter().collect();
        world.set(0.5, "a", "t1").renew(0.5 + self.period, self.fault, self.period)
    }

    /// When the lease of `a` ends by itself.
    fn end(&self) -> f64 {
        let renewals = ((self.fault - 0.5 - 1e-9) / self.period).floor().max(0.0);
        0.5 + renewals * self.period + self.lease
    }

    /// Some instant before that, after the fault.
    fn before_end(&self) -> f64 {
        self.fault + (self.end() - self.fault) * (0.05 + self.later * 0.9)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::with_cases(192)
    })]

    #[test]
    fn whoever_waits_for_the_end_is_never_refuted(t in timing(), is_stopped: bool) {
        let how = if is_stopped { "stopped" } else { "frozen" };
        let taken = t.end() + 0.002 + t.later;
        let back = taken + t.poll * 4.0;
        let mut world = t.held().is(t.fault, "a", how).set(taken, "b", "t2").is(back, "a", "alive");
        world.until = back + t.lease * 2.0 + t.poll * 20.0;
        let world = world.clone().renew(taken + t.period, world.until, t.period);
        let judgement = world.judged(criterion("pause"));
        prop_assert_ne!(judgement.proof(), Proof::Refuted, "{:#?}", judgement);
        // With leases of several polls and no restart there is always an answer.
        if t.restart.is_none() && t.end() - t.fault > t.poll * 3.0 {
            prop_assert_eq!(judgement.proof(), Proof::Proven, "{:#?}", judgement);
        }
    }

    #[test]
    fn whoever_comes_early_is_never_proven(t in timing(), deletes: bool) {
        let early = t.before_end();
        let mut world = t.held().is(t.fault, "a", "stopped").set(early, "b", "t2");
        if deletes {
            world = world.delete(early - 0.001);
        }
        let judgement = world.judged(criterion("pause"));
        prop_assert_ne!(judgement.proof(), Proof::Proven, "{:#?}", judgement);
    }

    #[test]
    fn a_lease_that_ends_is_never_refuted(t in timing()) {
        let judgement = t.held().is(t.fault, "a", "dead").judged(criterion("kill"));
        prop_assert_ne!(judgement.proof(), Proof::Refuted, "{:#?}", judgement);
        if t.restart.is_none() && t.end() - t.fault > t.poll * 4.0 {
            prop_assert_eq!(judgement.proof(), Proof::Proven, "{:#?}", judgement);
        }
    }

    /// A renewal in the same poll as the kill may be the holder's own last one; those after it are not.
    #[test]
    fn a_lease_that_is_renewed_is_never_proven(t in timing()) {
        let far = t.fault + t.lease * 3.0 + t.poll * 20.0;
        let world = t.held().is(t.fault, "a", "dead").renew(t.fault + t.period * t.later, far, t.period);
        let judgement = world.judged(criterion("kill"));
        prop_assert_ne!(judgement.proof(), Proof::Proven, "{:#?}", judgement);
    }

    #[test]
    fn a_renewal_that_rests_is_never_refuted(t in timing(), is_told: bool) {
        let mut world = t.held().set(t.end() + 0.002 + t.later, "b", "t2");
        world.told = is_told.then_some(t.fault + 0.01);
        let judgement = world.judged(criterion("renewal"));
        prop_assert_ne!(judgement.proof(), Proof::Refuted, "{:#?}", judgement);
    }

    #[test]
    fn a_renewal_that_goes_on_is_never_proven(t in timing()) {
        let far = t.fault + t.lease * 3.0 + t.poll * 20.0;
        let mut world = t.held().renew(t.fault + t.period * t.later, far, t.period);
        world.told = Some(t.fault);
        let judgement = world.judged(criterion("renewal"));
        prop_assert_ne!(judgement.proof(), Proof::Proven, "{:#?}", judgement);
        if t.restart.is_none() && t.lease > t.poll * 6.0 {
            prop_assert_eq!(judgement.proof(), Proof::Refuted, "{:#?}", judgement);
        }
    }

    #[test]
    fn whoever_restores_its_token_is_never_proven(t in timing()) {
        let taken = t.end() + 0.1;
        let back = taken + t.poll * 5.0 + t.later;
        let mut world = t.held().is(t.fault, "a", "frozen").set(taken, "b", "t2");
        world.still = vec![(t.fault, back, "a")];
        world.liveness.push((back, "a", "alive"));
        world.accepted = vec![(0.6, 7), (taken, 8)];
        world.refused = vec![taken + 0.01];
        world.until = back + t.lease * 2.0 + t.poll * 20.0;
        let right = world.clone().renew(taken + t.period, world.until, t.period);
        let right = right.judged(criterion("partition"));
        prop_assert_ne!(right.proof(), Proof::Refuted, "{:#?}", right);
        // It keeps it for long enough to be seen.
        let wrong = world.set(back + 0.01, "a", "t1").renew(back + t.period, back + t.lease * 9.0, t.period);
        let wrong = wrong.judged(criterion("partition"));
        prop_assert_ne!(wrong.proof(), Proof::Proven, "{:#?}", wrong);
    }
}
