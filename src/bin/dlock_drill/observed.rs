//! What the exporter says: its metrics, scraped a few times in each of its polls, for everybody who waits for something. It must
//! not judge.

use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::clock::mono;
use dlock_exporter::observe::Mono;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::failure::Failure;
use crate::http;

/// Longest wait for an answer.
const LIMIT: Duration = Duration::from_secs(5);

/// One sample.
#[derive(Clone, Debug)]
pub struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    /// Its value.
    pub value: f64,
}

impl Sample {
    /// A label's value.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(k, _)| k == name).map(|(_, v)| v.as_str())
    }
}

/// All samples of a scrape.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    samples: Vec<Sample>,
}

impl Metrics {
    /// Reads an exposition.
    pub fn parse(text: &str) -> Self {
        Self { samples: text.lines().filter_map(sample).collect() }
    }

    /// The samples of that name that have at least these labels.
    pub fn all<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a Sample> {
        self.samples
            .iter()
            .filter(move |s| s.name == name && labels.iter().all(|(k, v)| s.label(k) == Some(*v)))
    }

    /// The value of the one sample of that name with these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut fitting = self.all(name, labels);
        let first = fitting.next()?.value;
        fitting.next().is_none().then_some(first)
    }

    /// How often stores are polled; of several stores the longest interval.
    pub fn poll_interval(&self) -> Option<Duration> {
        let of_redis = self.all("dlock_exporter_poll_interval_seconds", &[("poller", "redis")]);
        let longest = of_redis.map(|s| s.value).filter(|v| *v > 0.0).reduce(f64::max)?;
        Duration::try_from_secs_f64(longest).ok()
    }
}

fn sample(line: &str) -> Option<Sample> {
    let (series, value) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))?;
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let labels = labels.strip_suffix('}')?.split("\",").filter_map(|pair| {
        let (key, value) = pair.split_once("=\"")?;
        Some((key.to_owned(), value.trim_end_matches('"').to_owned()))
    });
    Some(Sample { name: name.into(), labels: labels.collect(), value: value.parse().ok()? })
}

/// An exporter that is scraped all the time.
pub struct Observed {
    url: String,
    seen: watch::Receiver<Seen>,
    scraper: AbortHandle,
}

/// The last scrape that succeeded.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// When it was asked for.
    pub at: Mono,
    /// What it said.
    pub metrics: Arc<Metrics>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.scraper.abort();
    }
}

impl Observed {
    /// Takes the first scrape within `limit`, and goes on.
    pub async fn begin(url: &str, limit: Duration) -> Result<Self, Failure> {
        let url = url.trim_end_matches('/').to_owned();
        let begun = mono();
        let metrics = loop {
            match scrape(&url).await {
                Ok(metrics) => break metrics,
                Err(e) if mono().since(begun) > limit => return Err(e),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        };
        let poll = metrics.poll_interval().ok_or_else(|| {
            Failure::new(format!(
                "{url}/metrics has no dlock_exporter_poll_interval_seconds; is it a dlock_exporter?"
            ))
        })?;
        let pause = (poll / 4).clamp(Duration::from_millis(50), Duration::from_millis(500));
        let (sender, seen) = watch::channel(Seen { at: begun, metrics: Arc::new(metrics) });
        let from = url.clone();
        let scraper = tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let at = mono();
                if let Ok(metrics) = scrape(&from).await {
                    sender.send_replace(Seen { at, metrics: Arc::new(metrics) });
                }
            }
        });
        Ok(Self { url, seen, scraper: scraper.abort_handle() })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The last scrape.
    pub fn now(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// A scrape that was asked for after `then`, within `limit`.
    pub async fn after(&self, then: Mono, limit: Duration) -> Option<Seen> {
        let mut seen = self.seen.clone();
        let wait = seen.wait_for(|s| s.at > then);
        let found = tokio::time::timeout(limit, wait).await.ok()?.ok()?;
        Some(found.clone())
    }
}

async fn scrape(url: &str) -> Result<Metrics, Failure> {
    let path = format!("{url}/metrics");
    match http::get(&path, LIMIT).await? {
        (200, body) => Ok(Metrics::parse(&String::from_utf8_lossy(&body))),
        (status, _) => Err(Failure::new(format!("{path}: it answered {status}; its log says why"))),
    }
}
