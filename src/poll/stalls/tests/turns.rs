//! Rotation and the budget, on invented clocks.

use std::cell::Cell;
use std::rc::Rc;

use super::*;
use crate::poll::stalls::budget::{Budget, Purse};
use crate::poll::stalls::rotation::{Turn, order};

fn turns(all: &[(u64, bool)]) -> Vec<Turn> {
    let turn =
        |(at, (last, urgent)): (usize, &(u64, bool))| Turn { at, last: *last, urgent: *urgent };
    all.iter().enumerate().map(turn).collect()
}

#[test]
fn the_stalled_and_the_waiting_take_turns() {
    let order = order(turns(&[(4, false), (2, true), (1, false), (3, true), (0, false)]));
    assert_eq!(order, [1, 4, 3, 2, 0]);
}

#[test]
fn everybody_gets_a_turn_however_many_look_stalled() {
    let mut last = vec![(0, false); 20];
    last[..8].fill((0, true));
    for tick in 1..=12 {
        for at in order(turns(&last)).into_iter().take(4) {
            last[at].0 = tick;
        }
    }
    assert!(last.iter().all(|(tick, _)| *tick > 0), "{last:?}");
    // Those that look stalled have had theirs more than once.
    assert!(last[..8].iter().all(|(tick, _)| *tick > 8), "{last:?}");
}

#[test]
fn a_budget_is_kept_on_average_and_saves_for_a_few_ticks_only() {
    let tick = Duration::from_millis(500);
    let cpu = Rc::new(Cell::new(Duration::ZERO));
    let clock = Rc::clone(&cpu);
    let mut purse = Purse::new(Budget::new(0.01, tick), move || clock.get());
    let cost = Duration::from_micros(700);
    let mut done = 0u32;
    for _ in 0..1000 {
        purse.begin(tick);
        while purse.has(0.0) {
            cpu.set(cpu.get() + cost);
            done += 1;
        }
        // The thread's other work is not the sampler's.
        purse.settle();
        cpu.set(cpu.get() + Duration::from_millis(50));
    }
    let spent = f64::from(done) * cost.as_secs_f64() / 500.0;
    assert!((0.0099..0.0101).contains(&spent), "{spent}");
    // After a long pause there are four ticks' worth, not more.
    purse.begin(Duration::from_secs(3600));
    let before = done;
    while purse.has(0.0) {
        cpu.set(cpu.get() + cost);
        done += 1;
    }
    assert_eq!(done - before, 29, "4 x 5 ms by 0.7 ms");
    assert!(!purse.has(0.0) && !purse.has(0.5));
}

#[test]
fn processes_that_find_no_time_are_left_out_and_come_next() {
    for (way, mut sampler) in both() {
        let children: Vec<Mortal> = (0..80).map(|_| Mortal::sh("exec sleep 600")).collect();
        let residents: Vec<Resident> = children.iter().map(|c| resident(c.pid())).collect();
        // Each question to the clock costs; a tick's share is one of them, and four may be saved.
        let cpu = Cell::new(Duration::ZERO);
        let budget = Budget::new(1.0, Duration::from_nanos(1));
        sampler.purse = Purse::new(budget, move || {
            cpu.set(cpu.get() + Duration::from_nanos(1));
            cpu.get()
        });
        let mut sampled = std::collections::BTreeMap::new();
        let mut fewest = usize::MAX;
        let mut tick = 0;
        while sampled.len() < residents.len() || tick < 8 {
            assert!(tick < 60, "{way:?}: only {sampled:?}");
            // The tick's share comes with the time that passes, of which there is plenty.
            let read = sampler.sample(&residents);
            fewest = fewest.min(read.samples.len());
            for sample in read.samples {
                *sampled.entry(sample.process).or_insert(0) += 1;
            }
            tick += 1;
        }
        assert!(fewest < residents.len(), "{way:?}: the budget bounds nothing");
    }
}
