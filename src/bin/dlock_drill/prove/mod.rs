//! `dlock_drill prove`: the user breaks their own system, and this watches the exporter that watches it, says what it waits for, and
//! judges by one criterion. It never writes to a lock server, and gives no verdict on data that is missing. Exit status: 0
//! proven, 1 refuted, 2 could not be judged.

pub mod drawing;
pub mod history;
pub mod judge;
mod options;
pub mod tenures;
mod told;

use std::io::Write as _;
use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::observe::Mono;

use crate::exporter::Exporter;
use crate::exporter::watch::Watch;
use crate::failure::Failure;
use crate::files::{try_out, write};
use crate::outcome::{Event, Verdict};
use crate::report::{self, Came, Finding, Kind, Recorded, Report};
use crate::stop::Stop;
use history::History;
use judge::{CRITERIA, Criterion, Judgement, Proof};
pub use options::Options;
use told::Told;

/// Incidents that a report names.
const MOST_RECORDED: usize = 20;

/// What a proof came to, as an exit status.
pub fn status(report: &Report) -> u8 {
    match report.verdict {
        Came::Pass => 0,
        Came::Fail => 1,
        Came::NotJudged => 2,
    }
}

/// Explains the criteria, or proves one; the exit status.
pub async fn run(options: Options) -> Result<u8, Failure> {
    if options.list {
        CRITERIA.iter().for_each(|c| tell(&explained(c)));
        return Ok(0);
    }
    let criterion = criterion(options.criterion.as_deref())?;
    let (Some(lock), Some(url)) = (&options.lock, &options.exporter) else {
        return Err(Failure::new(
            "give --lock NAME and --exporter URL; `dlock_drill prove --list` explains what is proven",
        ));
    };
    for file in [&options.json, &options.svg].into_iter().flatten() {
        try_out(file)?;
    }
    let access = options.access.access();
    let failed = |e: crate::exporter::Trouble| Failure::new(e.to_string());
    let exporter = Exporter::new(url, access).map_err(failed)?;
    let limit = Duration::try_from_secs_f64(options.timeout)
        .map_err(|e| Failure::new(format!("--timeout {}: {e}", options.timeout)))?;
    let report = prove(criterion, &exporter, (&options.store, lock), limit).await?;
    tell(&report::text::render(&report, report::text::width()));
    let status = status(&report);
    if let Some(file) = &options.svg {
        write(file, report::svg::render(&report).as_bytes())?;
    }
    if let Some(file) = &options.json {
        let bytes = report::json::render(&[report], exporter.url(), clock::wall_secs());
        write(file, &bytes.map_err(|e| Failure::new(e.to_string()))?)?;
    }
    Ok(status)
}

fn criterion(name: Option<&str>) -> Result<&'static Criterion, Failure> {
    let known = || CRITERIA.iter().map(|c| c.name).collect::<Vec<_>>().join(", ");
    let Some(name) = name else {
        return Err(Failure::new(format!(
            "say which criterion: {}; `dlock_drill prove --list` explains them",
            known()
        )));
    };
    CRITERIA.iter().find(|c| c.name == name).ok_or_else(|| {
        Failure::new(format!("there is no criterion {name:?}; there are {}", known()))
    })
}

/// Watches until the judge is done or the time is up.
async fn prove(
    criterion: &Criterion,
    exporter: &Exporter,
    (store, lock): (&str, &str),
    limit: Duration,
) -> Result<Report, Failure> {
    let began = clock::mono();
    let seconds = |at: Mono| at.secs_since(began).max(0.0);
    let begun = Watch::begin(exporter, store, lock).await;
    let (mut watch, first) = begun.map_err(|e| Failure::new(e.to_string()))?;
    let mut history = History::new(watch.poll().as_secs_f64());
    history.add(seconds(first.at), first.document, &first.metrics);
    let mut told = Told::listen();
    let mut stop = Stop::new()?;
    say(&format!("watching {store}/{lock} for {}: {}", criterion.name, criterion.about));
    let mut waited = String::new();
    let mut judgement = (criterion.judge)(&history);
    let mut why_ended = None;
    let mut passed_over = 0.0;
    while !judgement.is_over() {
        // Of what is not waited for any more nothing else is heard before the end.
        for (at, text) in judgement.evidence.iter().filter(|_| judgement.fault.is_none()) {
            if *at > passed_over {
                say(text);
                passed_over = *at;
            }
        }
        if let Some(waiting) = judgement.waiting.as_ref().filter(|w| **w != waited) {
            say(&format!("waiting for {waiting}"));
            waited.clone_from(waiting);
        }
        let now = clock::mono();
        if now.since(began) >= limit {
            why_ended = Some(format!(
                "the time is up after {:.0} s (--timeout), while waiting for {}",
                limit.as_secs_f64(),
                judgement.waiting.as_deref().unwrap_or("nothing")
            ));
            break;
        }
        if let Some((since, trouble)) = watch.failing()
            && now.since(*since) >= limit.min(Duration::from_secs(60)).max(watch.poll() * 5)
        {
            why_ended = Some(trouble.to_string());
            break;
        }
        if stop.within(watch.pause()).await {
            why_ended = Some("it was stopped".to_owned());
            break;
        }
        if told.came() {
            history.told = Some(seconds(clock::mono()));
            say("you say that it is done");
        }
        if let Some(look) = watch.next().await {
            history.add(seconds(look.at), look.document, &look.metrics);
        }
        judgement = (criterion.judge)(&history);
    }
    let mut report = reported(criterion, &history, &judgement, (store, lock));
    report.not_run = why_ended;
    let since = history.looks.front().map_or(f64::INFINITY, |l| l.document.taken);
    report.recorded = recorded(exporter, (store, lock), since).await;
    Ok(report)
}

/// What the exporter recorded of it meanwhile, by its own clock. Without incidents a proof is as good.
async fn recorded(exporter: &Exporter, (store, lock): (&str, &str), since: f64) -> Vec<Recorded> {
    let known = exporter.incidents(store, lock).await.unwrap_or_default().incidents;
    let new = known.into_iter().filter(|i| i.taken.is_some_and(|taken| taken >= since));
    let mut all: Vec<Recorded> = new
        .map(|i| Recorded { id: i.id, summary: i.summary.or(i.signal).unwrap_or_default() })
        .take(MOST_RECORDED)
        .collect();
    all.reverse();
    all
}

/// The result in the model that all reports have.
pub fn reported(
    criterion: &Criterion,
    history: &History,
    judgement: &Judgement,
    (store, lock): (&str, &str),
) -> Report {
    let since = judgement.fault.unwrap_or(0.0);
    let finding = |e: &judge::Expected| {
        // What showed the fault itself did not come after it.
        let seconds = e.seen.filter(|at| judgement.fault.is_some() && *at > since);
        let seconds = seconds.map(|at| at - since);
        let waiting = || judgement.waiting.as_ref().map(|w| format!("this was still to come: {w}"));
        Finding {
            what: e.what.to_owned(),
            verdict: e.verdict.unwrap_or(Verdict::NotJudged),
            needed: e.is_needed,
            at: None,
            seconds: seconds.filter(|_| e.verdict.is_some()),
            polls: seconds.filter(|_| e.verdict.is_some()).map(|s| history.polls(s)),
            since: None,
            within_seconds: None,
            slack_seconds: None,
            detail: e.detail.clone().or_else(|| waiting().filter(|_| e.verdict.is_none())),
        }
    };
    let expectations: Vec<Finding> = judgement.expectations.iter().map(finding).collect();
    let verdict = match judgement.proof() {
        Proof::Proven => Came::Pass,
        Proof::Refuted => Came::Fail,
        Proof::NotJudged => Came::NotJudged,
    };
    let missing = match verdict {
        Came::NotJudged => missing(judgement),
        _ => Vec::new(),
    };
    let event = |(seconds, what): &(f64, String)| Event { seconds: *seconds, what: what.clone() };
    Report {
        kind: Kind::Criterion,
        name: criterion.name.to_owned(),
        about: criterion.about.to_owned(),
        verdict,
        store: Some(store.to_owned()),
        lock: Some(lock.to_owned()),
        poll_seconds: history.poll,
        run: None,
        seed: None,
        fault_seconds: judgement.fault,
        not_run: None,
        expectations,
        missing,
        events: judgement.evidence.iter().map(event).collect(),
        recorded: Vec::new(),
        picture: drawing::picture(history),
    }
}

/// What is missing for a verdict, each once: of what is still open it is what was waited for, whatever was seen of it so far.
fn missing(judgement: &Judgement) -> Vec<String> {
    let waiting =
        || judgement.waiting.as_ref().map(|waiting| format!("this was still to come: {waiting}"));
    let mut all: Vec<String> = Vec::new();
    for e in judgement.expectations.iter().filter(|e| e.is_needed) {
        let one = match e.verdict {
            None => waiting(),
            Some(Verdict::NotJudged) => e.detail.clone(),
            Some(_) => None,
        };
        if let Some(one) = one.filter(|one| !all.contains(one)) {
            all.push(one);
        }
    }
    all
}

fn explained(criterion: &Criterion) -> String {
    let mut out = format!("{}\n", criterion.name);
    for (head, text) in [
        ("proves", criterion.about),
        ("you", criterion.make),
        ("watched", criterion.watched),
        ("needs", criterion.needs),
    ] {
        report::text::hanging(&mut out, &format!("  {head:9}"), text, report::text::width());
    }
    out
}

/// To whoever waits, beside the report.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn tell(text: &str) {
    let _ = write!(std::io::stdout(), "{text}");
}
