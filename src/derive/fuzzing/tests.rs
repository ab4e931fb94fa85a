//! The target without a fuzzer: over its corpus and over schedules by chance, the same in every run, some of which raise signals,
//! so that conditions are held against something.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::*;

/// Schedules in each run; a second or two in a debug build.
const SCHEDULES: u64 = 24;

/// A schedule by chance, the same for the same number.
fn schedule(seed: u64) -> Vec<u8> {
    let mut n = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = || {
        n ^= n << 13;
        n ^= n >> 7;
        n ^= n << 17;
        (n >> 24) as u8
    };
    (0..150).map(|_| byte()).collect()
}

fn corpus() -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/derive");
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|f| std::fs::read(f).unwrap()).collect()
}

#[test]
fn any_schedule_holds() {
    let mut rose = vec![0; Signal::ALL.len()];
    for bytes in corpus().into_iter().chain((0..SCHEDULES).map(schedule)) {
        let run = || {
            derive(&bytes);
            lived(&bytes)
        };
        let world = catch_unwind(run).unwrap_or_else(|cause| {
            eprintln!("by the schedule {bytes:?}");
            std::panic::resume_unwind(cause)
        });
        for lock in world.state.stores.values().flat_map(|s| s.locks.values()) {
            let rises = Signal::ALL.iter().map(|s| lock.signals.rises(*s));
            rose.iter_mut().zip(rises).for_each(|(sum, n)| *sum += n);
        }
    }
    let kinds = rose.iter().filter(|n| **n > 0).count();
    assert!(kinds >= 2, "{rose:?}");
}

/// The same facts, with one kind of them kept from it.
fn objects(told: &[Observation], world: &World, hears: impl Fn(&Observation) -> bool) -> bool {
    let mut oracle = Oracle::new(world.setting.frozen_after);
    told.iter().filter(|fact| hears(fact)).for_each(|fact| oracle.hear(fact));
    catch_unwind(AssertUnwindSafe(|| oracle.judge(&world.state, &world.locks))).is_err()
}

#[test]
fn an_oracle_that_was_not_told_why_objects() {
    let mut w = World::new(Setting {
        is_healthy: false,
        poll_ms: 500,
        beats: false,
        processes: true,
        frozen_after: None,
        replica: false,
    });
    w.advance(2_000);
    let lock = w.locks[0].clone();
    w.acquire(&lock, 0);
    w.advance(3_000);
    w.workers[0].fate = worker::Fate::Gone;
    w.advance(1_500);
    let up = &w.state.stores[&STORE].locks[&lock.id].signals;
    assert!(up.is_up(Signal::HolderStale));
    assert!(!objects(&w.told, &w, |_| true));
    assert!(objects(&w.told, &w, |fact| !matches!(fact, Observation::Process(_))));
}
