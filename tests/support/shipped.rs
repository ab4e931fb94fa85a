//! The rule files and configs that are shipped, with a test's addresses and times in them and nothing else changed. What
//! is replaced must be there, so that a change of a shipped file fails here and not in silence.

use std::path::PathBuf;
use std::time::Duration;

use regex::{Captures, Regex};

use super::{Alertmanager, Exporter, PrometheusSetup, Webhook, repository};

/// The interval that the shipped config and the shipped rules are made for.
const SHIPPED_INTERVAL: Duration = Duration::from_secs(15);

/// The shipped rule files, sorted.
pub fn rule_files() -> Vec<PathBuf> {
    let dir = repository("alerts").read_dir().expect("alerts/ can be read");
    let mut files: Vec<_> = dir
        .map(|entry| entry.expect("alerts/ can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "yml"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "alerts/ has no rules");
    files
}

/// The names of the shipped alerts with their severities, in the order of the files.
pub fn alert_names() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut name = None;
    for file in rule_files() {
        for line in read(&file).lines() {
            let line = line.trim().trim_start_matches("- ");
            if let Some(alert) = line.strip_prefix("alert: ") {
                name = Some(alert.to_owned());
            } else if let Some(severity) = line.strip_prefix("severity: ") {
                let name = name.take().expect("a severity follows the name of its alert");
                found.push((name, severity.to_owned()));
            }
        }
    }
    assert!(name.is_none() && !found.is_empty(), "alerts without a severity");
    found
}

/// Rules or routes in which every length of time is shorter by that factor: `for`, `keep_firing_for`, ranges, offsets,
/// and the waits and intervals of Alertmanager. With an interval that is shorter by the same factor, every length
/// keeps its relation to scrapes and evaluations. Leases and the exporter's own delays stay what the test makes them.
pub fn faster(text: &str, times: u128) -> String {
    let lengths = r"(?m)(\b(?:keep_firing_)?for: |\b(?:group_wait|group_interval|repeat_interval): |\boffset |\[)(\d+)([smhd])\b";
    let lengths = Regex::new(lengths).expect("a good pattern");
    let shorter = |found: &Captures<'_>| {
        let unit = match &found[3] {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => 86400,
        };
        let ms = found[2].parse::<u128>().expect("digits") * unit * 1000 / times;
        format!("{}{ms}ms", &found[1])
    };
    lengths.replace_all(text, shorter).into_owned()
}

/// Prometheus with the shipped config and rules, scraping these exporters, everything `times` faster than shipped.
pub fn prometheus(exporters: &[&Exporter], to: &Alertmanager, times: u128) -> PrometheusSetup {
    let ms = |length: Duration| format!("{}ms", length.as_millis() / times);
    let targets: Vec<_> = exporters.iter().map(|e| format!("'{}'", e.address())).collect();
    let interval = ms(SHIPPED_INTERVAL);
    let config = adapted(
        "deploy/prometheus/prometheus.yml",
        &[
            ("scrape_interval: 15s", format!("scrape_interval: {interval}")),
            ("evaluation_interval: 15s", format!("evaluation_interval: {interval}")),
            ("scrape_timeout: 5s", format!("scrape_timeout: {interval}")),
            ("'127.0.0.1:10121'", targets.join(", ")),
            ("127.0.0.1:9093", to.address().to_string()),
        ],
    );
    with_rules(PrometheusSetup::new(&[]).config(config), times)
}

/// The same rules for a Prometheus of the test's own.
pub fn with_rules(mut setup: PrometheusSetup, times: u128) -> PrometheusSetup {
    for file in rule_files() {
        let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
        setup = setup.rule_text(&name, faster(&read(&file), times));
    }
    setup.every(Duration::from_millis(
        u64::try_from(SHIPPED_INTERVAL.as_millis() / times).expect("intervals are short"),
    ))
}

/// Alertmanager with the shipped routes, everything `times` faster, whose receivers are that webhook.
pub fn alertmanager(webhook: &Webhook, times: u128) -> Alertmanager {
    let into = webhook.address().to_string();
    let config = adapted("deploy/alertmanager/alertmanager.yml", &[("127.0.0.1:9099", into)]);
    Alertmanager::start(&faster(&config, times))
}

fn adapted(path: &str, changes: &[(&str, String)]) -> String {
    let mut text = read(&repository(path));
    for (from, into) in changes {
        assert!(text.contains(from), "{path} has no {from:?} to be replaced");
        text = text.replace(from, into);
    }
    text
}

fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn faster_keeps_everything_but_lengths_of_time() {
    let text =
        "for: 1m # 1m\nkeep_firing_for: 5m\nexpr: increase(x_total[10m]) > 5 and y offset 6h\n";
    let wanted = "for: 2000ms # 1m\nkeep_firing_for: 10000ms\n\
                  expr: increase(x_total[20000ms]) > 5 and y offset 720000ms\n";
    assert_eq!(faster(text, 30), wanted);
    assert_eq!(
        faster("group_wait: 0s, group_interval: 30s", 30),
        "group_wait: 0ms, group_interval: 1000ms"
    );
}
