//! What stepping the locks of a store costs, and making a view of them: CPU time of one thread for one poll of all, by how
//! many changed, and memory, as the locks grow from 1,000 to 1,000,000 with the fitted slope. Prints tables; fails when what
//! 100,000 locks cost is over its bound.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "derive/world.rs"]
mod world;

use std::process::ExitCode;
use std::time::Duration;

use dlock_exporter::view::Show;
use rustix::time::{ClockId, clock_gettime};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use world::{Change, World};

#[global_allocator]
static HEAP: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// The size that the bounds are for.
const JUDGED: usize = 100_000;
/// One poll of so many locks, whatever changed.
const STEP_BOUND: Duration = Duration::from_millis(60);
/// Bytes of a lock beyond its key and names: so that they do not become more.
const MEMORY_BOUND: f64 = 4_600.0;
/// Polls of each kind that are measured; the least counts, as what else runs can only make one worse.
const ROUNDS: usize = 5;

/// What was measured, each as CPU time of one poll.
const KINDS: [(&str, What); 7] = [
    ("nothing changed", What::Poll(Change::None)),
    ("1 % renewed", What::Poll(Change::Renewed(100))),
    ("all renewed", What::Poll(Change::Renewed(1))),
    ("all taken by another", What::Poll(Change::Taken)),
    ("a view of all", What::View(Show::All)),
    ("nothing changed, told by one word", What::Poll(Change::Word)),
    ("a view of what is needed, while they rest", What::View(Show::Needed)),
];

enum What {
    Poll(Change),
    View(Show),
}

fn main() -> ExitCode {
    // Smaller sizes alone, for a look under callgrind.
    let most = std::env::var("DERIVE_LOCKS").ok().and_then(|n| n.parse().ok());
    let sizes: Vec<usize> =
        SIZES.into_iter().filter(|n| most.is_none_or(|most| *n <= most)).collect();
    let mut times = vec![Vec::new(); KINDS.len()];
    let mut bytes = Vec::new();
    for n in &sizes {
        let heap = Region::new(HEAP);
        let mut world = World::new(*n);
        world.poll(Change::None);
        let names = world.bytes_of_names();
        (0..12).for_each(|_| world.poll(Change::Renewed(1)));
        bytes.push((live(&heap) - names) / *n as f64);
        for ((_, what), times) in KINDS.iter().zip(&mut times) {
            times.push(best(|| match what {
                What::Poll(change) => world.poll_timed(*change, cpu),
                What::View(show) => {
                    let begun = cpu();
                    let view = world.view(show);
                    let took = cpu() - begun;
                    let store = &view.stores[0];
                    assert_eq!(store.locks.len() + store.counted_only.0 as usize, *n);
                    took
                }
            }));
        }
        let heap = Region::new(HEAP);
        let view = world.view(&Show::All);
        println!("{n} locks: {:.0} bytes a lock of the view", live(&heap) / *n as f64);
        drop(view);
    }
    print(&sizes, &times, &bytes);
    let judged = sizes.iter().position(|n| *n == JUDGED);
    let is_over = judged.is_some_and(|i| times[0][i] > STEP_BOUND || bytes[i] > MEMORY_BOUND);
    if is_over {
        println!("over its bound");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn print(sizes: &[usize], times: &[Vec<Duration>], bytes: &[f64]) {
    let heads: Vec<String> = sizes.iter().map(|n| format!("{n} locks")).collect();
    println!("| CPU time of one poll | {} | slope |", heads.join(" | "));
    println!("|---|{}---|", "---|".repeat(sizes.len()));
    for ((name, _), times) in KINDS.iter().zip(times) {
        let cells: Vec<String> =
            times.iter().map(|t| format!("{:.2} ms", t.as_secs_f64() * 1e3)).collect();
        println!("| {name} | {} | {:.2} |", cells.join(" | "), slope(sizes, times));
    }
    let cells: Vec<String> = bytes.iter().map(|b| format!("{b:.0} B")).collect();
    println!("| memory of a lock | {} | |", cells.join(" | "));
}

/// The exponent with which the time grows.
fn slope(sizes: &[usize], times: &[Duration]) -> f64 {
    let points = sizes.iter().zip(times).map(|(n, t)| ((*n as f64).ln(), t.as_secs_f64().ln()));
    let points: Vec<(f64, f64)> = points.collect();
    let mean =
        |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let up: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    up / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}

fn best(mut measure: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| measure()).min().unwrap_or_default()
}

fn live(heap: &Region<'_, std::alloc::System>) -> f64 {
    let stats = heap.change();
    stats.bytes_allocated as f64 - stats.bytes_deallocated as f64
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
