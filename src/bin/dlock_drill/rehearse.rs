//! `dlock_drill rehearse`: makes the world, runs the scenarios on it, some at a time, tells what was found, and cleans up in any case.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::clock::wall_secs;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::claim::Claim;
use crate::cli::Rehearse;
use crate::exporter::Access;
use crate::failure::Failure;
use crate::files::{try_out, write};
use crate::film::Film;
use crate::fragment;
use crate::lockserver::{Address, PASSWORD};
use crate::observed::Observed;
use crate::outcome::Outcome;
use crate::private::{self, PrivateExporter};
use crate::report::{self, Picture, Report};
use crate::resource::Resource;
use crate::scenario;
use crate::servers::redis::Setup;
use crate::stage::{self, Stage};
use crate::stop::Stop;
use crate::textfile;
use crate::world::{Run, World};

/// Rehearses; the exit status.
pub async fn run(options: Rehearse) -> Result<u8, Failure> {
    let chosen = scenario::chosen(&options.scenarios)?;
    if options.list {
        for one in chosen {
            tell(&format!("{:20} {}", one.name(), one.about()));
        }
        return Ok(0);
    }
    if options.exporter.is_none() && options.start_exporter.is_none() {
        return Err(Failure::new("give --exporter URL or --start-exporter"));
    }
    // A rehearsal takes minutes: what cannot be kept is told before.
    for file in [&options.json, &options.svg, &options.textfile].into_iter().flatten() {
        try_out(file)?;
    }
    let mut stop = Stop::new()?;
    let scratch = tempfile::Builder::new().prefix("dlock_drill").tempdir();
    let scratch = scratch.map_err(|e| Failure::new(format!("no temporary directory: {e}")))?;
    let own_server = match &options.start_redis {
        Some(program) => {
            // What its clients would say to another.
            let own = match std::env::var(PASSWORD) {
                Ok(password) => Setup::of(program, &password),
                Err(_) => Setup::open(program),
            };
            Some(own.line("notify-keyspace-events KEA").start().await?)
        }
        None => None,
    };
    let server = match (&own_server, &options.redis) {
        (Some(own), _) => own.url().parse().map_err(Failure::new)?,
        (None, Some(_)) if !options.write => return Err(refusal()),
        (None, Some(given)) => given.clone(),
        (None, None) => return Err(Failure::new("give --redis ADDRESS or --start-redis")),
    };
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    tell(&format!("seed {seed}: --seed {seed} repeats the same timing"));
    let (mut outcomes, mut reports, mut url) = (Vec::new(), Vec::new(), String::new());
    for number in 1..=options.with.repeat {
        let runs = scenario::round(&chosen, number);
        // An exporter of the drill's own is a new one for each round, so that none has more locks than one round.
        let made = tokio::select! {
            made = world(&options, &runs, server.clone(), scratch.path().into()) => made?,
            () = stop.wait() => return Err(Failure::new("stopped; nothing of it is written")),
        };
        let (world, _own_exporter) = made;
        let world = Arc::new(world);
        if number == 1 {
            tell(&length(&world, runs.len(), options.with.repeat));
        }
        let claim = Claim::take(&world.server).await?;
        if let Err(failure) = world.check_empty(&runs).await {
            claim.leave().await?;
            return Err(failure);
        }
        let mut playing = JoinSet::new();
        let played = tokio::select! {
            played = play(&mut playing, &world, &runs, seed, &options) => {
                played.ok_or("a scenario broke off")
            }
            () = stop.wait() => Err("stopped"),
        };
        // Its workers end with a task; what they write after the cleaning would stay.
        playing.shutdown().await;
        world.clean(&runs).await?;
        claim.leave().await?;
        let played =
            played.map_err(|why| Failure::new(format!("{why}; what it had written is removed")))?;
        for (outcome, report) in played {
            outcomes.push(outcome);
            reports.push(report);
        }
        world.exporter.url().clone_into(&mut url);
    }
    if let Some(file) = &options.svg {
        for report in &reports {
            let file = if reports.len() == 1 { file.clone() } else { beside(file, report) };
            write(&file, report::svg::render(report).as_bytes())?;
        }
    }
    if let Some(file) = &options.json {
        let bytes = report::json::render(&reports, &url, wall_secs());
        write(file, &bytes.map_err(|e| Failure::new(e.to_string()))?)?;
    }
    if let Some(file) = &options.textfile {
        let before = std::fs::read_to_string(file).unwrap_or_default();
        write(file, textfile::render(&before, &outcomes).as_bytes())?;
    }
    let passed = outcomes.iter().filter(|o| o.has_passed()).count();
    let failed = outcomes.iter().filter(|o| o.has_failed()).count();
    tell(&format!(
        "{passed} passed, {failed} failed, {} not run or not judged",
        outcomes.len() - passed - failed
    ));
    Ok(status(passed, failed))
}

/// How long it takes, in words: leases follow the exporter's poll interval, and most of it is waiting for their ends.
fn length(world: &World, runs: usize, rounds: u32) -> String {
    let lease = stage::lease(world.poll);
    format!(
        "scenarios: {runs}, rounds: {rounds}; with a poll interval of {} s leases are {lease} s, and each takes some {:.0} s or more",
        world.poll.as_secs_f64(),
        lease * 2.5
    )
}

/// Where nothing passed and nothing failed, nothing was rehearsed.
fn status(passed: usize, failed: usize) -> u8 {
    match (passed, failed) {
        (0, 0) => 2,
        (_, 0) => 0,
        _ => 1,
    }
}

fn refusal() -> Failure {
    Failure::new(
        "a rehearsal takes locks and writes heartbeats and counters on the server that --redis names, under dlock_drill: only and \
         until it ends; say --write to agree, or let it start a server of its own with --start-redis",
    )
}

async fn world(
    options: &Rehearse,
    runs: &[Run],
    server: Address,
    scratch: PathBuf,
) -> Result<(World, Option<PrivateExporter>), Failure> {
    let own_program = match &options.start_exporter {
        Some(program) => Some(private::exporter_program(program)?),
        None => None,
    };
    let is_own = own_program.is_some();
    let listen = if is_own { ([127, 0, 0, 1], 0).into() } else { options.with.resource };
    let resource = Resource::start(listen, true).await?;
    let dir = if is_own { scratch.clone() } else { options.with.dir.clone() };
    std::fs::create_dir_all(&dir).map_err(|e| {
        Failure::new(format!(
            "{}: {e}; choose with --dir where pid files may be written",
            dir.display()
        ))
    })?;
    try_out(&dir.join("drill"))?;
    let store = &options.with.store;
    let own = match &own_program {
        Some(program) => {
            let watched = match fragment::locks(runs, resource.address()) {
                // Every scenario has servers of its own.
                locks if locks.is_empty() => " []\n".to_owned(),
                locks => format!("\n{locks}{}", fragment::workers(store, &dir)),
            };
            let yaml = format!(
                "poll_interval: {}ms\nstores:\n  {store}:\n    url: {}\n{}    clients: on\n    locks:{watched}",
                options.poll,
                server.url(),
                private::credentials(&server, &scratch)?,
            );
            let mut own = PrivateExporter::start(program, &yaml, &scratch)?;
            own.ready().await?;
            Some(own)
        }
        None => None,
    };
    // One of the drill's own needs none of it.
    let access = if is_own { Access::default() } else { options.access.access() };
    let url = match (&own, &options.exporter) {
        (Some(own), _) => own.url.clone(),
        (None, Some(url)) => url.clone(),
        (None, None) => return Err(Failure::new("give --exporter URL or --start-exporter")),
    };
    let exporter = Observed::begin(&url, access, Duration::from_secs(15)).await?;
    let world = World {
        server,
        store: store.clone(),
        resource,
        dir,
        poll: exporter.poll(),
        exporter,
        slack: Duration::try_from_secs_f64(options.slack)
            .map_err(|e| Failure::new(format!("--slack: {e}")))?,
        exporter_program: own_program,
        server_program: options.start_redis.as_ref().unwrap_or(&options.redis_server).clone(),
    };
    // One that is named has to know the locks of all rounds: a later round is no time to find that out.
    let all: Vec<Run> = match is_own {
        true => runs.to_vec(),
        false => (1..=options.with.repeat)
            .flat_map(|number| runs.iter().map(move |r| Run { number, ..*r }))
            .collect(),
    };
    let shared: Vec<Run> = all.into_iter().filter(|r| r.scenario.is_shared()).collect();
    world.check_watched(&shared).await?;
    Ok((world, own))
}

/// All runs, so many at a time; each is told when it ends. `None` if one of them panicked.
async fn play(
    playing: &mut JoinSet<(Outcome, Option<Picture>)>,
    world: &Arc<World>,
    runs: &[Run],
    seed: u64,
    options: &Rehearse,
) -> Option<Vec<(Outcome, Report)>> {
    let places = Arc::new(Semaphore::new(options.jobs.into()));
    let is_drawn = options.svg.is_some();
    for run in runs.iter().copied() {
        let (world, places) = (Arc::clone(world), Arc::clone(&places));
        playing.spawn(async move {
            let _place = places.acquire_owned().await;
            let film = (is_drawn && run.scenario.is_shared())
                .then(|| Film::begin(&world.exporter, &world.store, &run.lock()));
            let mut stage = Stage::new(world, run, seed);
            let outcome = match run.scenario.run(&mut stage).await {
                Ok(()) => stage.into_outcome(),
                Err(ended) => stage.into_outcome_of(ended),
            };
            (outcome, film.and_then(Film::develop))
        });
    }
    let mut ended = Vec::new();
    while let Some(played) = playing.join_next().await {
        let (outcome, film) = played.ok()?;
        let about = scenario::about(&outcome.scenario);
        let mut report = Report::of_scenario(&outcome, about);
        if let Some(film) = film {
            // What the drill did and found belongs beside what the exporter told.
            let events = std::mem::take(&mut report.picture.happened);
            report.picture = film;
            report.picture.happened.extend(events);
            report.picture.happened.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        tell(&report::text::render(&report, report::text::width()));
        ended.push((outcome, report));
    }
    Some(ended)
}

/// To the person at the terminal.
fn tell(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// `drill.svg` with the run's name: `drill-kill-1.svg`.
fn beside(file: &Path, report: &Report) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let run = report.run.unwrap_or_default();
    file.with_file_name(format!("{stem}-{}-{run}.svg", report.name))
}

#[cfg(test)]
mod tests {
    use super::status;

    #[test]
    fn nothing_rehearsed_is_no_failure_and_no_pass() {
        assert_eq!([status(0, 0), status(3, 0), status(3, 1), status(0, 1)], [2, 0, 1, 1]);
    }
}
