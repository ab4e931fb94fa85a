//! Which metrics there are, with their labels: the catalogue, `up`, and what recording rules add.

use std::collections::BTreeMap;

use dlock_exporter::derive::{Evidence, Liveness, Signal};
use dlock_exporter::expose::catalogue;

use super::LabelSet;

/// What sort of metric a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Goes up and down.
    Gauge,
    /// Only grows, but for restarts.
    Counter,
    /// Made by a recording rule.
    Recorded,
}

struct Metric {
    kind: Kind,
    labels: LabelSet,
    help: &'static str,
}

/// The metrics that queries may use.
pub struct Schema {
    metrics: BTreeMap<String, Metric>,
}

/// Labels whose values the user or the world makes.
const FREE: [&str; 18] = [
    "store",
    "lock",
    "group",
    "worker",
    "clock",
    "addr",
    "key",
    "format",
    "version",
    "flavor",
    "revision",
    "instance",
    "job",
    "target",
    "collector",
    "mode",
    "shard",
    "total",
];

impl Schema {
    /// What the exporter exports, as Prometheus stores it, and `up`.
    pub fn of_the_catalogue() -> Self {
        let family = |entry: &'static catalogue::Entry| {
            let kind = match entry.kind {
                catalogue::Kind::Gauge => Kind::Gauge,
                catalogue::Kind::Counter => Kind::Counter,
            };
            let labels = LabelSet::scraped(entry.labels);
            (entry.name.to_owned(), Metric { kind, labels, help: entry.help })
        };
        let mut metrics: BTreeMap<_, _> = catalogue::all().map(family).collect();
        let up = Metric { kind: Kind::Gauge, labels: LabelSet::scraped(&[]), help: "" };
        metrics.insert("up".into(), up);
        Self { metrics }
    }

    /// Adds a recorded name.
    pub fn record(&mut self, name: &str, labels: LabelSet) {
        let metric = Metric { kind: Kind::Recorded, labels, help: "" };
        self.metrics.insert(name.into(), metric);
    }

    /// The labels of a metric; `None` when there is no such metric.
    pub fn labels(&self, name: &str) -> Option<&LabelSet> {
        self.metrics.get(name).map(|m| &m.labels)
    }

    /// What sort of metric it is.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.metrics.get(name).map(|m| m.kind)
    }

    /// Whether the label of this metric can ever have that value. Lists that only the help text has are looked up there.
    pub fn can_be(&self, name: &str, label: &str, value: &str) -> bool {
        let Some(metric) = self.metrics.get(name) else { return true };
        if value.is_empty() || FREE.contains(&label) || metric.kind == Kind::Recorded {
            return true;
        }
        let words = |text: &str| {
            text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == value)
        };
        match label {
            "signal" => Signal::ALL.iter().any(|s| s.as_str() == value),
            "evidence" => Evidence::ALL.iter().any(|s| s.as_str() == value),
            "state" if name.contains("liveness") || name.contains("expired_under") => {
                Liveness::ALL.iter().any(|s| s.as_str() == value)
            }
            // A lock's resources have names of the config's choice, a cgroup's are a closed list.
            "resource" if !name.contains("cgroup") => true,
            // The lists of these are in the reference of the API, and no HELP has them.
            "aspect" | "reason" | "command" | "poller" | "maxmemory_policy" => true,
            // One of the families with a label lists its values.
            _ => self.metrics.values().any(|m| m.labels.may.contains(label) && words(m.help)),
        }
    }
}
