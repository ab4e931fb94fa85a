//! A private Prometheus on a free port: given rule files and targets, or a whole config; queried over its HTTP API. Gone
//! with the test, its data too. It must not know what any rule means.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use dlock_exporter::clock;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tempfile::TempDir;

use super::{Alertmanager, Group, free_port, request, wait_until};

/// A set of labels.
pub type Labels = BTreeMap<String, String>;

/// How to start a Prometheus.
pub struct PrometheusSetup {
    targets: Vec<SocketAddr>,
    rules: Vec<(String, String)>,
    alertmanager: Option<SocketAddr>,
    every: Duration,
    config: Option<String>,
}

impl PrometheusSetup {
    /// One job `dlock` with these targets, scraped and its rules evaluated every second.
    pub fn new(targets: &[SocketAddr]) -> Self {
        Self {
            targets: targets.to_vec(),
            rules: Vec::new(),
            alertmanager: None,
            every: Duration::from_secs(1),
            config: None,
        }
    }

    /// Loads this rule file as it is.
    pub fn rules(self, file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        let name = file.file_name().expect("a rule file has a name").to_string_lossy().into_owned();
        self.rule_text(&name, text)
    }

    /// Loads these rules, under the name `file`.
    pub fn rule_text(mut self, file: &str, text: String) -> Self {
        self.rules.push((file.to_owned(), text));
        self
    }

    /// Sends its alerts there.
    pub fn alertmanager(mut self, alertmanager: &Alertmanager) -> Self {
        self.alertmanager = Some(alertmanager.address());
        self
    }

    /// The interval of scrapes and of rule evaluation.
    pub fn every(mut self, interval: Duration) -> Self {
        self.every = interval;
        self
    }

    /// Starts with this config instead of one made of targets and intervals. The rule files are in `rules/` beside it.
    pub fn config(mut self, yaml: String) -> Self {
        self.config = Some(yaml);
        self
    }

    fn yaml(&self) -> String {
        if let Some(yaml) = &self.config {
            return yaml.clone();
        }
        let every = self.every.as_millis();
        let mut yaml = format!(
            "global: {{ scrape_interval: {every}ms, scrape_timeout: {every}ms, evaluation_interval: {every}ms }}\n\
             rule_files: ['rules/*.yml']\n"
        );
        if let Some(address) = self.alertmanager {
            let targets = format!("[{{ static_configs: [{{ targets: ['{address}'] }}] }}]");
            let _ = writeln!(yaml, "alerting: {{ alertmanagers: {targets} }}");
        }
        let targets: Vec<_> = self.targets.iter().map(|t| format!("'{t}'")).collect();
        let targets = targets.join(", ");
        yaml + &format!(
            "scrape_configs: [{{ job_name: dlock, static_configs: [{{ targets: [{targets}] }}] }}]\n"
        )
    }

    /// Starts it and waits until it is ready.
    pub fn start(self) -> Prometheus {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let write = |name: &str, text: &str| {
            let file = dir.path().join(name);
            std::fs::write(&file, text).expect("a file can be written");
            file
        };
        let config = write("prometheus.yml", &self.yaml());
        std::fs::create_dir(dir.path().join("rules")).expect("a directory can be made");
        for (name, text) in &self.rules {
            write(&format!("rules/{name}"), text);
        }
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", dir.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            // Alerts are sent again after this long; the ones that still fire must not end in between.
            .args(["--rules.alert.resend-delay=5s", "--log.level=warn"])
            .env("GOGC", "75"); // as it sets by itself since 2.53
        let group = Group::start("prometheus", &mut command, &dir.path().join("log"));
        let mut prometheus = Prometheus { group, address, _dir: dir };
        wait_until("Prometheus is ready", Duration::from_secs(20), || {
            prometheus.must_run();
            let answer = request(address, "GET", "/-/ready", Duration::from_secs(2)).ok()?;
            (answer.status == 200).then_some(())
        });
        prometheus
    }
}

/// One series of an instant query.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its labels, `__name__` too where it has one.
    pub labels: Labels,
    /// Its value.
    pub value: f64,
}

/// One series of a range query.
#[derive(Clone, Debug)]
pub struct Range {
    /// Its labels.
    pub labels: Labels,
    /// Time in seconds since the epoch, and value.
    pub points: Vec<(f64, f64)>,
}

/// An alert that is pending or fires.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActiveAlert {
    /// Its name.
    pub name: String,
    /// `firing` or `pending`.
    pub state: String,
    /// All its labels, without `alertname`.
    pub labels: Labels,
    /// Its annotations, with the templates filled in.
    pub annotations: Labels,
}

/// A running Prometheus.
pub struct Prometheus {
    group: Group,
    address: SocketAddr,
    _dir: TempDir,
}

impl Prometheus {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it logged; warnings and errors only.
    pub fn log(&self) -> String {
        self.group.log()
    }

    /// An instant query; panics on an error of the query. A scalar has no labels.
    pub fn query(&self, expression: &str) -> Vec<Series> {
        let data = self.api("query", &[("query", expression)]);
        if data["resultType"] == "scalar" {
            return vec![Series { labels: Labels::new(), value: number(&data["result"][1]) }];
        }
        let result = data["result"].as_array().expect("a result is a list");
        result
            .iter()
            .map(|s| Series { labels: labels(&s["metric"]), value: number(&s["value"][1]) })
            .collect()
    }

    /// A range query over the last `length`; panics on an error of the query.
    pub fn range(&self, expression: &str, length: Duration, step: Duration) -> Vec<Range> {
        let now = self.query("time()")[0].value;
        let (start, end) = ((now - length.as_secs_f64()).to_string(), now.to_string());
        let step = step.as_secs_f64().to_string();
        let words = [("query", expression), ("start", &start), ("end", &end), ("step", &step)];
        let data = self.api("query_range", &words);
        let result = data["result"].as_array().expect("a result is a list");
        let points = |s: &Value| {
            let points = s["values"].as_array().expect("a range has values");
            points.iter().map(|p| (p[0].as_f64().unwrap_or(f64::NAN), number(&p[1]))).collect()
        };
        result.iter().map(|s| Range { labels: labels(&s["metric"]), points: points(s) }).collect()
    }

    /// Alerts that are pending or fire now, sorted.
    pub fn alerts(&self) -> Vec<ActiveAlert> {
        let data = self.api("alerts", &[]);
        let alerts = data["alerts"].as_array().expect("alerts are a list");
        let mut alerts: Vec<_> = alerts
            .iter()
            .map(|alert| {
                let mut own = labels(&alert["labels"]);
                let name = own.remove("alertname").expect("an alert has a name");
                let state = alert["state"].as_str().expect("an alert has a state").to_owned();
                ActiveAlert { name, state, labels: own, annotations: labels(&alert["annotations"]) }
            })
            .collect();
        alerts.sort();
        alerts
    }

    /// Rules that could not be evaluated, with what Prometheus says of it.
    pub fn broken_rules(&self) -> Vec<String> {
        let data = self.api("rules", &[]);
        let groups = data["groups"].as_array().expect("groups are a list");
        let rules = groups.iter().flat_map(|g| g["rules"].as_array().expect("rules are a list"));
        rules
            .filter(|rule| rule["health"] == "err")
            .map(|rule| format!("{}: {}", rule["name"], rule["lastError"]))
            .collect()
    }

    /// Waits until the expression gives something, and gives the time that took. Panics after `deadline` with what
    /// fires and what is wrong.
    pub fn wait_for(&mut self, expression: &str, deadline: Duration) -> Duration {
        self.wait_until(expression, deadline, |p| {
            let found = p.query(expression);
            (!found.is_empty()).then_some(())
        })
        .1
    }

    /// Waits until the condition gives a value. Panics after `deadline` with what fires and what is wrong.
    pub fn wait_until<T>(
        &mut self,
        what: &str,
        deadline: Duration,
        mut condition: impl FnMut(&Self) -> Option<T>,
    ) -> (T, Duration) {
        let begun = clock::mono();
        loop {
            self.must_run();
            if let Some(value) = condition(self) {
                return (value, clock::mono().since(begun));
            }
            assert!(
                clock::mono().since(begun) < deadline,
                "not within {deadline:?}: {what}\nalerts: {:#?}\nbroken rules: {:#?}\nup: {:?}\nlog:\n{}",
                self.alerts(),
                self.broken_rules(),
                self.query("up"),
                self.group.log_tail()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn api(&self, path: &str, words: &[(&str, &str)]) -> Value {
        let words: Vec<_> = words
            .iter()
            .map(|(k, v)| format!("{k}={}", utf8_percent_encode(v, NON_ALPHANUMERIC)))
            .collect();
        let path = format!("/api/v1/{path}?{}", words.join("&"));
        let answer = request(self.address, "GET", &path, Duration::from_secs(10))
            .unwrap_or_else(|e| panic!("{path}: {e}\n{}", self.group.log_tail()));
        let mut body: Value = serde_json::from_str(&answer.body)
            .unwrap_or_else(|e| panic!("{path}: {e}: {}", answer.body));
        assert_eq!(body["status"], "success", "{path}: {}", answer.body);
        body["data"].take()
    }

    fn must_run(&mut self) {
        if let Some(status) = self.group.ended() {
            panic!("Prometheus ended by itself with {status}:\n{}", self.group.log_tail());
        }
    }
}

/// A JSON object of strings.
pub(super) fn labels(object: &Value) -> Labels {
    let object = object.as_object().expect("labels are an object");
    let text = |v: &Value| v.as_str().expect("a label's value is a text").to_owned();
    object.iter().map(|(k, v)| (k.clone(), text(v))).collect()
}

fn number(text: &Value) -> f64 {
    match text.as_str().expect("a value is a text") {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        text => text.parse().expect("a value is a number"),
    }
}
