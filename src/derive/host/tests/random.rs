//! Hundreds of random lives of a process: whatever befell it, the lower bound is never more than it could not run, and
//! the upper one never less than it did not run though it wanted to.

use super::kernel::Random;
use super::model::{Lab, Trouble, mono};
use crate::derive::host::Host;

/// A millisecond of the model, and the one in which it enters a state.
const GRAIN: f64 = 2.0;

/// A process with its habits and troubles, all by the seed.
fn lab(seed: u64) -> Lab {
    let mut random = Random(seed.wrapping_mul(7919));
    let threads = [1, 1, 1, 2, 4][random.range(0, 5) as usize];
    let beats: Vec<_> = (0..threads)
        .map(|_| match random.range(0, 4) {
            0 => None,
            1 => Some((1, random.range(1, 5))),
            2 => Some((2, random.range(20, 200))),
            _ => Some((1, random.range(500, 4000))),
        })
        .collect();
    let mut lab = Lab::new(seed, &beats);
    lab.by_v1 = random.chance(50);
    lab.each_percent = [0, 60, 95, 100][random.range(0, 4) as usize];
    lab.is_jvm = random.chance(40);
    for _ in 0..random.range(1, 5) {
        let from = random.range(4000, 20_000);
        let length = [5, 60, 300, 900, 3000][random.range(0, 5) as usize];
        let length = 1 + random.range(length / 3, length * 2);
        let trouble = match random.range(0, 7) {
            0 => Trouble::Stop,
            1 => Trouble::Freeze,
            2 => Trouble::Hog,
            3 => Trouble::Rivals(random.range(10, 90), random.range(2, 60)),
            4 if lab.is_jvm => Trouble::Safepoint,
            5 => Trouble::Memory(random.range(1, 60), random.range(2, 400)),
            _ => Trouble::Io(random.range(1, 60), random.range(2, 400)),
        };
        lab.schedule.push((from, from + length, trouble));
        // Often one right after, before or within the other.
        if random.chance(60) {
            let at = from + random.range(0, length + 20);
            let more = [Trouble::Stop, Trouble::Hog, Trouble::Freeze][random.range(0, 3) as usize];
            let kind = |t: Trouble| matches!(t, Trouble::Stop | Trouble::Freeze);
            // One stall holds one stop: two of them are two stalls to the bounds.
            if !(kind(trouble) && kind(more)) {
                lab.schedule.push((at, at + 1 + random.range(10, 1500), more));
            }
        }
    }
    lab
}

fn live(mut lab: Lab, jitter: u64, percent_late: u64) -> Lab {
    let mut at = lab.random.range(0, 500);
    while at < 40_000 {
        lab.run_until(at);
        lab.sample();
        let (lower, _) = if lab.process.now > 2000 { lab.worst() } else { (0.0, 0.0) };
        let still = lab.process.worst_still() as f64;
        assert!(lower <= still + GRAIN, "at {at}: {lower} of {still}\n{:?}", lab.schedule);
        // Now and then the exporter itself stands still.
        let late = if lab.random.chance(percent_late) { lab.random.range(0, 3000) } else { 0 };
        at = (at + 500).max(lab.process.now) + lab.random.range(0, jitter) + late;
    }
    lab
}

#[test]
fn the_bounds_hold_whatever_happens() {
    for seed in 1..=std::env::var("SEEDS").map_or(150, |s| s.parse().unwrap()) {
        let lab = live(lab(seed), 20, 2);
        let (_, upper) = lab.worst();
        let gap = lab.process.worst_gap() as f64;
        assert!(
            gap <= upper + GRAIN,
            "seed {seed}: {gap} beyond {upper}\n{:?}\n{:?}",
            lab.schedule,
            lab.process.threads
        );
    }
}

#[test]
fn a_single_trouble_is_seen_for_what_it_was() {
    for seed in 1..=std::env::var("SEEDS").map_or(50, |s| s.parse::<u64>().unwrap() / 10) {
        let mut random = Random(seed.wrapping_mul(104_729));
        for (trouble, beats, within) in [
            // A stop or freeze shows to two intervals, each with its jitter.
            (Trouble::Stop, [None], 1100.0),
            (Trouble::Stop, [Some((1, 3))], 1100.0),
            (Trouble::Freeze, [None], 1100.0),
            // A single wait, whatever its length, is told exactly.
            (Trouble::Hog, [None], GRAIN),
        ] {
            let mut lab = Lab::new(seed, &beats);
            let (from, length) = (random.range(5000, 9000), random.range(100, 8000));
            lab.schedule.push((from, from + length, trouble));
            // Moved from queue to queue a wait is booked in parts; here it stays in its own.
            lab.process.is_moved = false;
            let lab = live(lab, 20, 0);
            let (lower, upper) = lab.worst();
            let truth = lab.process.worst_gap() as f64;
            assert!(truth <= upper + GRAIN, "seed {seed} {trouble:?}: {truth} beyond {upper}");
            assert!(
                lower >= truth - within - GRAIN,
                "seed {seed} {trouble:?}: only {lower} of {truth}"
            );
        }
    }
}

#[test]
fn a_quiet_process_stands_still_for_no_longer_than_it_is_not_looked_at() {
    for beats in [[None], [Some((1, 30))], [Some((1, 2000))]] {
        let lab = live(Lab::new(5, &beats), 1, 0);
        let (lower, upper) = lab.worst();
        assert!(lower <= GRAIN, "{lower}");
        // One that never sleeps is never out of sight; one that does may be stopped from one sample until the next but one.
        let most = if beats == [None] { 3100.0 } else { 7500.0 };
        assert!(upper <= most, "{beats:?}: {upper}");
    }
    assert_eq!(Host::default().worst_stall(mono(0), super::model::RULES), None);
}
