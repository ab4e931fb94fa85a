//! `dlock_drill rehearse`: makes the world, runs the scenarios on it, some at a time, tells what was found, and cleans up in any case.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::clock::wall_secs;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::cli::Rehearse;
use crate::exporter::Access;
use crate::failure::Failure;
use crate::fragment;
use crate::lockserver::Address;
use crate::observed::Observed;
use crate::outcome::Outcome;
use crate::private::{PrivateExporter, PrivateServer};
use crate::report::{self, Report};
use crate::resource::Resource;
use crate::scenario;
use crate::stage::Stage;
use crate::stop::Stop;
use crate::world::{Run, World};

/// Whether all scenarios passed.
pub async fn run(options: Rehearse) -> Result<bool, Failure> {
    let chosen = scenario::chosen(&options.scenarios)?;
    if options.list {
        for one in chosen {
            tell(&format!("{:20} {}", one.name(), one.about()));
        }
        return Ok(true);
    }
    let mut stop = Stop::new()?;
    let scratch = tempfile::Builder::new().prefix("dlock_drill").tempdir();
    let scratch = scratch.map_err(|e| Failure::new(format!("no temporary directory: {e}")))?;
    let own_server = match &options.start_redis {
        Some(program) => Some(PrivateServer::start(program, scratch.path()).await?),
        None => None,
    };
    let server = match (&own_server, &options.redis) {
        (Some(own), _) => own.address.clone(),
        (None, Some(_)) if !options.write => return Err(refusal()),
        (None, Some(given)) => given.clone(),
        (None, None) => return Err(Failure::new("give --redis ADDRESS or --start-redis")),
    };
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    tell(&format!("seed {seed}: --seed {seed} repeats the same timing"));
    let mut outcomes = Vec::new();
    for number in 1..=options.with.repeat {
        let runs = scenario::round(&chosen, number);
        // An exporter of the drill's own is a new one for each round, so that none has more locks than one round.
        let (world, _own_exporter) =
            world(&options, &runs, server.clone(), scratch.path().into()).await?;
        let world = Arc::new(world);
        world.check_empty(&runs)?;
        let played = tokio::select! {
            played = play(&world, &runs, seed, options.jobs) => played,
            () = stop.wait() => None,
        };
        world.clean(&runs)?;
        let Some(played) = played else {
            return Err(Failure::new("stopped; what it had written is removed"));
        };
        outcomes.extend(played);
    }
    let reports: Vec<Report> = outcomes.iter().map(reported).collect();
    if let Some(file) = &options.json {
        let text = report::json::render(&reports, options.exporter.as_deref(), wall_secs());
        write(file, &text.map_err(|e| Failure::new(e.to_string()))?)?;
    }
    if let Some(dir) = &options.svg {
        draw(dir, &reports)?;
    }
    if let Some(file) = &options.textfile {
        let before = std::fs::read_to_string(file).unwrap_or_default();
        write(file, textfile(&before, &outcomes).as_bytes())?;
    }
    let passed = outcomes.iter().filter(|o| o.has_passed()).count();
    let failed = outcomes.iter().filter(|o| o.has_failed()).count();
    tell(&format!(
        "{passed} passed, {failed} failed, {} not run",
        outcomes.len() - passed - failed
    ));
    Ok(failed == 0 && passed > 0)
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
    let is_own = options.start_exporter.is_some();
    let listen = if is_own { ([127, 0, 0, 1], 0).into() } else { options.with.resource };
    let resource = Resource::start(listen, true).await?;
    let dir = if is_own { scratch.clone() } else { options.with.dir.clone() };
    std::fs::create_dir_all(&dir).map_err(|e| {
        Failure::new(format!(
            "{}: {e}; choose with --dir where pid files may be written",
            dir.display()
        ))
    })?;
    let store = &options.with.store;
    let own = match &options.start_exporter {
        Some(program) => {
            let watched = match fragment::locks(runs, resource.address()) {
                // Every scenario has servers of its own.
                locks if locks.is_empty() => " []\n".to_owned(),
                locks => format!("\n{locks}{}", fragment::workers(store, &dir)),
            };
            let yaml = format!(
                "poll_interval: {}ms\nstores:\n  {store}:\n    url: {}\n    clients: on\n    locks:{watched}",
                options.poll,
                server.url(),
            );
            let mut own = PrivateExporter::start(program, &yaml, &scratch)?;
            own.ready().await?;
            Some(own)
        }
        None => None,
    };
    let url = match (&own, &options.exporter) {
        (Some(own), _) => own.url.clone(),
        (None, Some(url)) => url.clone(),
        (None, None) => return Err(Failure::new("give --exporter URL or --start-exporter")),
    };
    let exporter = Observed::begin(&url, Access::default(), Duration::from_secs(15)).await?;
    let world = World {
        server,
        store: store.clone(),
        resource,
        dir,
        poll: exporter.poll(),
        exporter,
        slack: Duration::try_from_secs_f64(options.slack)
            .map_err(|e| Failure::new(format!("--slack: {e}")))?,
        exporter_program: options.start_exporter.clone(),
        server_program: options.start_redis.as_ref().unwrap_or(&options.redis_server).clone(),
    };
    let shared: Vec<Run> = runs.iter().filter(|r| r.scenario.is_shared()).copied().collect();
    world.check_watched(&shared).await?;
    Ok((world, own))
}

/// All runs, so many at a time; each is told when it ends. `None` if one of them panicked.
async fn play(world: &Arc<World>, runs: &[Run], seed: u64, jobs: u16) -> Option<Vec<Outcome>> {
    let places = Arc::new(Semaphore::new(jobs.into()));
    let mut playing = JoinSet::new();
    for run in runs.iter().copied() {
        let (world, places) = (Arc::clone(world), Arc::clone(&places));
        playing.spawn(async move {
            let _place = places.acquire_owned().await;
            let mut stage = Stage::new(world, run, seed);
            match run.scenario.run(&mut stage).await {
                Ok(()) => stage.into_outcome(),
                Err(ended) => stage.into_outcome_of(ended),
            }
        });
    }
    let mut outcomes = Vec::new();
    while let Some(ended) = playing.join_next().await {
        let outcome = ended.ok()?;
        tell(report::text::render(&reported(&outcome), report::text::width()).trim_end());
        outcomes.push(outcome);
    }
    Some(outcomes)
}

/// To the person at the terminal.
fn tell(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// In the model that all reports have.
fn reported(outcome: &Outcome) -> Report {
    let all = scenario::all();
    let scenario = all.iter().find(|s| s.name() == outcome.scenario);
    Report::of_scenario(outcome, scenario.map_or("", |s| s.about()))
}

fn draw(dir: &std::path::Path, reports: &[Report]) -> Result<(), Failure> {
    std::fs::create_dir_all(dir)
        .map_err(|e| Failure::new(format!("{} cannot be made: {e}", dir.display())))?;
    reports.iter().try_for_each(|report| {
        let name = format!("{}-{}.svg", report.name, report.run.unwrap_or(1));
        write(&dir.join(name), report::svg::render(report).as_bytes())
    })
}

fn write(path: &std::path::Path, bytes: &[u8]) -> Result<(), Failure> {
    let told = |e| Failure::new(format!("{} cannot be written: {e}", path.display()));
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    std::fs::write(&new, bytes).map_err(told)?;
    std::fs::rename(&new, path).map_err(told)
}

/// For node_exporter: now for scenarios whose every run passed, and for the others what the file said before.
fn textfile(before: &str, outcomes: &[Outcome]) -> String {
    const NAME: &str = "dlock_drill_last_pass_timestamp_seconds";
    let mut passes: BTreeMap<String, String> = before
        .lines()
        .filter_map(|line| {
            let rest = line.strip_prefix(NAME)?.strip_prefix("{scenario=\"")?;
            let (scenario, time) = rest.split_once("\"} ")?;
            Some((scenario.to_owned(), time.to_owned()))
        })
        .collect();
    let now = format!("{:.3}", wall_secs());
    for outcome in outcomes {
        let mut all = outcomes.iter().filter(|o| o.scenario == outcome.scenario);
        if all.all(Outcome::has_passed) {
            passes.insert(outcome.scenario.clone(), now.clone());
        }
    }
    let mut text = format!(
        "# HELP {NAME} When every expectation of the scenario last held, in seconds since the epoch on the drill's host.\n\
         # TYPE {NAME} gauge\n"
    );
    for (scenario, time) in passes {
        text.push_str(&format!("{NAME}{{scenario=\"{scenario}\"}} {time}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Expectation, Verdict};

    fn outcome(scenario: &str, verdict: Verdict) -> Outcome {
        let expectation = Expectation {
            what: String::new(),
            verdict,
            seconds: None,
            polls: None,
            within_seconds: None,
            detail: None,
        };
        Outcome {
            scenario: scenario.into(),
            run: 1,
            seed: 0,
            poll_seconds: 1.0,
            not_run: None,
            expectations: vec![expectation],
            events: Vec::new(),
        }
    }

    #[test]
    fn a_failure_keeps_the_last_pass_and_what_was_not_judged_is_none() {
        let before = "dlock_drill_last_pass_timestamp_seconds{scenario=\"kill\"} 17.5\nother 1\n";
        let outcomes = [
            outcome("kill", Verdict::Fail),
            outcome("pause", Verdict::Pass),
            outcome("pause", Verdict::Fail),
            outcome("replay", Verdict::NotJudged),
            outcome("partition", Verdict::Pass),
        ];
        let text = textfile(before, &outcomes);
        let samples: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
        let [kill, partition] = samples[..] else { panic!("{text}") };
        assert_eq!(kill, "dlock_drill_last_pass_timestamp_seconds{scenario=\"kill\"} 17.5");
        assert!(partition.contains("{scenario=\"partition\"} "), "{text}");
    }
}
