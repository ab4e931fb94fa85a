//! The samples of one scrape. Lines that are no samples are passed over; how many are kept is bounded. A value that is not
//! there is `None`, never 0.

use std::time::Duration;

use dlock_exporter::poll::source::exposition::series;

/// Samples that are kept at most; of an exporter with more, name the lock in `--lock` and watch its API.
const MOST: usize = 500_000;

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The metric's name.
    pub name: String,
    /// Its labels, unescaped.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: f64,
}

impl Sample {
    /// A label's value.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(k, _)| k == name).map(|(_, v)| v.as_str())
    }

    fn fits(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        self.name == name && labels.iter().all(|(k, v)| self.label(k) == Some(*v))
    }
}

/// All samples of a scrape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    samples: Vec<Sample>,
    /// Some were beyond the bound: what is not here may be there.
    pub is_cut: bool,
}

impl Metrics {
    /// Reads an exposition.
    pub fn parse(body: &[u8]) -> Self {
        let mut all = Self::default();
        for line in body.split(|b| *b == b'\n').filter(|l| l.first().is_some_and(|b| *b != b'#')) {
            let Some(sample) = std::str::from_utf8(line).ok().and_then(sample) else { continue };
            if all.samples.len() == MOST {
                all.is_cut = true;
                break;
            }
            all.samples.push(sample);
        }
        all
    }

    /// The samples of that name that have at least these labels.
    pub fn all<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |s| s.fits(name, labels))
    }

    /// The value of the one sample of that name with these labels; `None` if there is none, or if several fit.
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

    /// When the exporter started: another value is another run, whose counters began anew.
    pub fn started(&self) -> Option<f64> {
        self.value("process_start_time_seconds", &[])
    }
}

fn sample(line: &str) -> Option<Sample> {
    let (name, labels, rest) = series(line)?;
    let value = match rest.split_ascii_whitespace().next()? {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        text => text.parse().ok()?,
    };
    Some(Sample { name: name.to_owned(), labels, value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_an_exporter_writes() {
        let text = "# HELP x y\n# TYPE x gauge\nx{lock=\"a\\\"b\",store=\"m\"} 1\nx{lock=\"c\",store=\"m\"} 2.5e1\n\
                    not a sample\nprocess_start_time_seconds 17.5\n\
                    dlock_exporter_poll_interval_seconds{poller=\"redis\",target=\"m\"} 2\n\
                    dlock_exporter_poll_interval_seconds{poller=\"redis\",target=\"n\"} 0.5\n";
        let metrics = Metrics::parse(text.as_bytes());
        assert_eq!(metrics.value("x", &[("lock", "a\"b")]), Some(1.0));
        assert_eq!(metrics.value("x", &[("lock", "c"), ("store", "m")]), Some(25.0));
        assert_eq!(metrics.value("x", &[]), None, "two fit");
        assert_eq!(metrics.value("y", &[]), None);
        assert_eq!(metrics.started(), Some(17.5));
        assert_eq!(metrics.poll_interval(), Some(Duration::from_secs(2)));
        assert!(!metrics.is_cut);
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(body: Vec<u8>) {
            let _ = Metrics::parse(&body);
        }
    }
}
