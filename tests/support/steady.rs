//! What has to hold of `/metrics` whatever happens to the servers: every scrape is answered, at once, and no counter ever
//! goes down. Scrapes all the time from its start to [`Steady::finish`], which panics with all that was wrong. It must not
//! judge anything else, and must not be kept over a restart of the exporter, whose counters begin anew.
//!
//! ```ignore
//! let steady = Steady::watch(&exporter);
//! // ... servers come and go ...
//! steady.finish();
//! ```

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use dlock_exporter::clock;

use super::sampling::Repeating;
use super::{Exporter, Latencies, Metrics, Stopwatch, request};

/// What an answer may take. Waiting for a server would take at least its timeout, a multiple of this.
const AT_ONCE: Duration = Duration::from_millis(50);
/// The very longest is the scheduler's on a busy machine.
const LONGEST: Duration = Duration::from_millis(250);
/// Counters that a server keeps itself: they begin anew with it, as the reference says, and never otherwise.
const KEPT_BY_SERVER: [&str; 4] = [
    "dlock_store_evicted_keys_total",
    "dlock_store_expired_keys_total",
    "dlock_store_connections_received_total",
    "dlock_store_rejected_connections_total",
];
/// What is told at most.
const MOST_TOLD: usize = 20;

/// Watches an exporter from outside.
pub struct Steady {
    scrapes: Repeating<Scrapes>,
    machine: Stopwatch,
}

/// All scrapes so far.
#[derive(Default)]
pub(super) struct Scrapes {
    took: Latencies,
    /// The last value of each series of a counter; one that was withheld for a while has to come back no lower. With it
    /// the restarts of the server that keeps it.
    counters: HashMap<String, (f64, f64)>,
    wrong: Vec<String>,
}

impl Steady {
    /// Starts to scrape.
    pub fn watch(exporter: &Exporter) -> Self {
        Self::watch_at(exporter.address())
    }

    /// The same by address.
    pub fn watch_at(address: SocketAddr) -> Self {
        Self::watch_each(address, Duration::from_millis(30), |_| None)
    }

    /// The same with so long between two looks, at what else may be wrong with a scrape too.
    pub fn watch_each(
        address: SocketAddr,
        pause: Duration,
        wrong: impl Fn(&Metrics) -> Option<String> + Send + 'static,
    ) -> Self {
        let step = move |seen: &mut Scrapes| {
            let begun = clock::mono();
            match request(address, "GET", "/metrics", Duration::from_secs(5)) {
                Ok(answer) if answer.status == 200 => {
                    seen.took.note(clock::mono().since(begun));
                    let metrics = seen.compare(&answer.body);
                    if let Some(wrong) = metrics.and_then(|m| wrong(&m)) {
                        seen.tell(wrong);
                    }
                }
                Ok(answer) => seen.tell(format!("status {}: {}", answer.status, answer.body)),
                Err(error) => seen.tell(format!("no answer: {error}")),
            }
            true
        };
        Self {
            scrapes: Repeating::start(pause, Scrapes::default(), step),
            machine: Latencies::measure_each(address, "/-/healthy", pause),
        }
    }

    /// Ends it; panics if anything was wrong. Gives the number of scrapes.
    pub fn finish(self) -> usize {
        self.outcome().unwrap_or_else(|wrong| panic!("{wrong}"))
    }

    /// Ends it; says what was wrong, or how many scrapes there were.
    pub fn outcome(self) -> Result<usize, String> {
        let (seen, machine) = (self.scrapes.finish(), self.machine.finish());
        if !seen.wrong.is_empty() {
            return Err(format!("{:#?}", seen.wrong));
        }
        if seen.took.count() == 0 || seen.counters.is_empty() {
            return Err("nothing was scraped, or no counter, so nothing was proven".into());
        }
        // What an answer without any work takes is the machine's; one with some waits more than once for a processor.
        for (share, limit) in [(0.95, AT_ONCE), (1.0, LONGEST)] {
            let (took, idle) = (seen.took.quantile(share), machine.quantile(share));
            let count = seen.took.count();
            if took > limit + idle * 2 {
                return Err(format!(
                    "{share} of {count} scrapes took {took:?} at most; {limit:?} and twice the machine's own {idle:?} are allowed"
                ));
            }
        }
        Ok(seen.took.count())
    }
}

impl Scrapes {
    fn tell(&mut self, wrong: String) {
        if self.wrong.len() < MOST_TOLD {
            self.wrong.push(wrong);
        }
    }

    /// Takes an exposition, and notes which counters are lower than they were.
    pub(super) fn compare(&mut self, text: &str) -> Option<Metrics> {
        let counters: HashSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
            .collect();
        let metrics = match Metrics::parse(text) {
            Ok(metrics) => metrics,
            Err(error) => {
                self.tell(error);
                return None;
            }
        };
        for sample in metrics.samples().iter().filter(|s| counters.contains(s.name.as_str())) {
            let mut series = sample.name.clone();
            for (name, value) in &sample.labels {
                let _ = write!(series, " {name}={value:?}");
            }
            let mut restarts = 0.0;
            if KEPT_BY_SERVER.contains(&sample.name.as_str()) {
                let node = ["store", "addr"].map(|name| (name, sample.label(name)));
                restarts = metrics.sum("dlock_store_restarts_total", &node);
            }
            let before = self.counters.insert(series.clone(), (sample.value, restarts));
            let fell = before.filter(|(before, then)| sample.value < *before && restarts <= *then);
            if let Some((before, _)) = fell {
                self.tell(format!("{series} fell from {before} to {}", sample.value));
            }
        }
        Some(metrics)
    }

    /// What was wrong so far.
    pub(super) fn wrong(&self) -> &[String] {
        &self.wrong
    }
}
