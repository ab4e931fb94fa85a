//! The fault matrix: each part that the exporter looks at or leans on, in each way to fail. Its own series go and say why,
//! everything else stays fresh, a scrape takes no longer, it is whole again within two intervals of its return, and nothing
//! of the exporter grows. Rows run beside each other, each with an exporter of its own. The matrix is printed; in an
//! ordinary run a diagonal of it is done, all of it in a long one.

mod cell;
mod chronyd;
mod dns;
mod files;
mod heartbeats;
mod host;
mod node;
mod servers;
mod world;

use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::support::{Exporter, Metrics, Shares, Steady, long, wait_until};
use cell::{Fault, Outcome, POLL, Part};
use world::World;

const SOON: Duration = Duration::from_secs(20);
/// Cells of a row in an ordinary run: every so many.
const EVERY: usize = 4;
/// What may stay of the largest answers that the exporter took, for the allocator's sake.
const MEMORY: f64 = 24e6;

type Started = Option<(Box<dyn Part>, Exporter)>;

/// A part's name, how it starts, and which targets are its own.
struct Row(&'static str, fn(&World) -> Started, fn(&str) -> bool);

fn boxed<P: Part + 'static>((part, exporter): (P, Exporter)) -> Started {
    Some((Box::new(part), exporter))
}

const ROWS: &[Row] = &[
    Row("Redis", |w| boxed(servers::redis(w)), is_part),
    Row("replica", |w| boxed(servers::replica(w)), is_part),
    Row("sentinel", |w| boxed(servers::sentinel(w)), is_part),
    Row("cluster node", |w| boxed(servers::cluster_node(w)), is_part),
    Row("chronyd", |w| boxed(chronyd::start(w)), is_part),
    Row("heartbeat HTTP", |w| boxed(heartbeats::http(w)), is_part),
    Row("heartbeat file", |w| heartbeats::file(w).and_then(boxed), is_part),
    Row("/proc entry", |w| host::process(w).and_then(boxed), host::is_own),
    Row("cgroup", |w| host::cgroup(w).and_then(boxed), host::is_own),
    Row("JVM file", |w| host::jvm(w).and_then(boxed), host::is_own),
    Row("evidence", |w| files::evidence(w).and_then(boxed), files::is_own_evidence),
    Row("config file", |w| files::config(w).and_then(boxed), |_| false),
    Row("DNS", |w| dns::start(w).and_then(boxed), is_part),
];

/// The targets of a row's part, as its config calls them.
fn is_part(target: &str) -> bool {
    target == "part" || target.starts_with("part/")
}

/// Whether this cell is done in this run. `DLOCK_TEST_FAULTS=Redis/slow` asks for one, and for all of a row without a fault.
fn is_wanted(row: usize, fault: usize) -> bool {
    match std::env::var("DLOCK_TEST_FAULTS") {
        Ok(one) => {
            let cell = format!("{}/{}", ROWS[row].0, Fault::ALL[fault].name());
            cell.starts_with(&one)
        }
        Err(_) => long() || (row + fault).is_multiple_of(EVERY),
    }
}

/// All cells of a row, and what was wrong with the rest of the world.
fn row(at: usize, world: &World) -> Vec<Outcome> {
    let Row(name, start, is_own) = &ROWS[at];
    if !(0..Fault::ALL.len()).any(|fault| is_wanted(at, fault)) {
        return Fault::ALL.iter().map(|_| Outcome::Left).collect();
    }
    let Some((mut part, mut exporter)) = start(world) else {
        return Fault::ALL.iter().map(|_| Outcome::Never("this machine cannot")).collect();
    };
    let whole = cell::until(&mut *part, &exporter, "whole", SOON, |part, m| {
        part.is_whole(m) && world::wrong(m, *is_own).is_none()
    });
    if let Err(why) = whole {
        return Fault::ALL
            .iter()
            .map(|_| Outcome::Broken(format!("at the start: {why}")))
            .collect();
    }
    let (is_own, others) = (*is_own, part.wrong());
    let steady = Steady::watch_each(exporter.address(), POLL / 2, move |m| {
        world::wrong(m, is_own).or_else(|| others(m))
    });
    let before = exporter.metrics();
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (column, fault) in Fault::ALL.into_iter().enumerate() {
        outcomes.push(if is_wanted(at, column) {
            let done = catch_unwind(AssertUnwindSafe(|| cell::run(&mut *part, &exporter, fault)));
            done.unwrap_or_else(|_| Outcome::Broken(format!("{name}: it panicked, see above")))
        } else {
            Outcome::Left
        });
    }
    let after = steady.outcome().err().into_iter().chain(grown(&before, &exporter));
    let after: Vec<String> = after.collect();
    if !after.is_empty() {
        outcomes.push(Outcome::Broken(after.join("; ")));
    }
    if !exporter.stop().success() {
        outcomes.push(Outcome::Broken("it did not end well".into()));
    }
    outcomes
}

/// What grew, if anything did. Threads that read what hung stay for ten seconds, and some are there for the scrapes.
fn grown(before: &Metrics, exporter: &Exporter) -> Option<String> {
    let value = |m: &Metrics, name: &str| m.value(name, &[]).unwrap_or(f64::NAN);
    let grows = |m: &Metrics| {
        [
            ("process_open_fds", 2.0),
            ("process_threads", 4.0),
            ("process_resident_memory_bytes", MEMORY),
        ]
        .iter()
        .filter(|(name, slack)| value(m, name) > value(before, name) + slack)
        .map(|(name, _)| format!("{name} {} and then {}", value(before, name), value(m, name)))
        .collect::<Vec<_>>()
        .join(", ")
    };
    let seen = catch_unwind(AssertUnwindSafe(|| {
        wait_until("nothing has grown", SOON, || {
            grows(&exporter.metrics()).is_empty().then_some(())
        })
    }));
    seen.err().map(|_| grows(&exporter.metrics()))
}

#[test]
fn every_part_fails_in_every_way_and_costs_itself_only() {
    // Thirteen exporters that mostly wait, and their servers.
    let _shares: Shares = crate::support::whole_machine();
    let world = World::start();
    let rows: Vec<Vec<Outcome>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..ROWS.len())
            .map(|at| {
                scope.spawn({
                    let world = &world;
                    move || {
                        crate::support::beside();
                        row(at, world)
                    }
                })
            })
            .collect();
        running.into_iter().map(|row| row.join().expect("a row catches what goes wrong")).collect()
    });
    let (table, wrong) = printed(&rows);
    let _ = writeln!(std::io::stderr(), "{table}");
    assert!(wrong.is_empty(), "{wrong}");
}

/// The matrix, its notes, and what was wrong.
fn printed(rows: &[Vec<Outcome>]) -> (String, String) {
    let (mut table, mut wrong) =
        (String::from("fault matrix (s until lost / until whole again):\n"), String::new());
    let mut notes: Vec<&str> = Vec::new();
    let _ = write!(table, "{:15}", "");
    for fault in Fault::ALL {
        let _ = write!(table, "{:>14}", fault.name());
    }
    for (Row(name, ..), outcomes) in ROWS.iter().zip(rows) {
        let _ = write!(table, "\n{name:15}");
        for (fault, outcome) in Fault::ALL.iter().map(|f| f.name()).chain(["all"; 2]).zip(outcomes)
        {
            let text = match outcome {
                Outcome::Held(None, back) => format!("held -/{:.1}", back.as_secs_f64()),
                Outcome::Held(Some(lost), back) => {
                    format!("held {:.1}/{:.1}", lost.as_secs_f64(), back.as_secs_f64())
                }
                Outcome::Never(why) => {
                    let at = notes.iter().position(|note| note == why).unwrap_or(notes.len());
                    if at == notes.len() {
                        notes.push(why);
                    }
                    format!("n/a ({})", at + 1)
                }
                Outcome::Left => "long only".to_owned(),
                Outcome::Broken(what) => {
                    let _ = writeln!(wrong, "{name}, {fault}: {what}");
                    "BROKEN".to_owned()
                }
            };
            let _ = write!(table, "{text:>14}");
        }
    }
    for (at, note) in notes.iter().enumerate() {
        let _ = write!(table, "\n({}) {note}", at + 1);
    }
    (table, wrong)
}
