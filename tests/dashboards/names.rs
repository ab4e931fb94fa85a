//! Every query of the dashboards parses, and each metric and label in it is one of the catalogue's, or one of the few
//! that Prometheus makes itself. Counters are read through `rate` or `increase`, over an interval that fits the zoom.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use promql_parser::parser::Expr;

use super::board::{self, Board, Panel, Target, text};
use crate::promql::{self, Kind, LabelSet, Schema, labels_of};

/// What Grafana puts for its own variables, so that they can be told in the tree.
const RATE: &str = "4001s";
const RANGE: &str = "4002s";

/// Panels that count over the whole time shown: a stat has one number for it.
const WHOLE_RANGE: [(&str, &str); 3] = [
    ("holders", "Killed for memory"),
    ("holders", "Restarts"),
    ("servers", "Failovers and restarts"),
];

/// Joins of which the check of labels knows too little, and why they never fail with many-to-many.
const TRUSTED: [(&str, &str, &str); 1] = [(
    "overview",
    "Flagged locks",
    "topk by (store, lock) (1, ..) leaves one series for each lock",
)];

fn schema() -> Schema {
    let mut schema = Schema::of_the_catalogue();
    let mut made = |name: &str, labels: &[&str]| schema.record(name, LabelSet::scraped(labels));
    made("ALERTS", &["alertname", "alertstate", "severity"]);
    made("scrape_duration_seconds", &[]);
    made("scrape_samples_scraped", &[]);
    schema
}

fn values() -> BTreeMap<&'static str, String> {
    let own = ["store", "lock", "worker", "job", "instance"].map(|name| (name, "x".to_owned()));
    own.into_iter().chain([("__rate_interval", RATE.into()), ("__range", RANGE.into())]).collect()
}

/// The query for each metric that a matcher of its name allows; the query itself where it names its metrics.
fn named(query: &str) -> Vec<String> {
    let Some((before, rest)) = query.split_once("{__name__=~\"") else { return vec![query.into()] };
    let (names, after) = rest.split_once('"').expect("the matcher ends");
    let after = after.trim_start_matches(", ");
    let each = names.split('|').flat_map(|name| named(&format!("{before}{name}{{{after}")));
    each.collect()
}

fn each(mut check: impl FnMut(&Board, Panel<'_>, Target<'_>, &str)) {
    for board in board::all() {
        for panel in board.panels() {
            for target in panel.targets() {
                for query in named(&board::filled(target.expr(), &values())) {
                    check(&board, panel, target, &query);
                }
            }
        }
    }
}

#[test]
fn queries_name_what_there_is() {
    let schema = schema();
    let mut wrong = BTreeSet::new();
    let mut used = BTreeSet::new();
    each(|board, panel, target, query| {
        let at = format!("{}, {:?}", board.name, panel.title());
        let tree = promql::parse(query).unwrap_or_else(|e| panic!("{at}: {e}"));
        let mut found = Vec::new();
        let labels = labels_of(&tree, &schema, &mut found);
        for label in target.legend_labels() {
            if !labels.may.contains(label) && !labels.open {
                found.push(format!("the legend shows {label}, which the result has not"));
            }
        }
        for name in promql::metrics(&tree) {
            if name.contains(':') {
                found.push(format!("{name}: dashboards do without recording rules"));
            }
        }
        if TRUSTED.iter().any(|(b, p, _)| (*b, *p) == (&board.name, panel.title())) {
            let before = found.len();
            found.retain(|what| {
                !what.starts_with("many-to-many") && !what.starts_with("group (worker)")
            });
            if found.len() < before {
                used.insert(panel.title().to_owned());
            }
        }
        wrong.extend(found.into_iter().map(|what| format!("{at}: {what}\n    {query}")));
    });
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(used.len(), TRUSTED.len(), "an exception that nothing needs: {used:?}");
}

#[test]
fn counters_are_rated_and_over_an_interval_that_fits() {
    let schema = schema();
    let mut wrong = BTreeSet::new();
    let mut whole = BTreeSet::new();
    each(|board, panel, _, query| {
        let at = format!("{}, {:?}", board.name, panel.title());
        let tree = promql::parse(query).unwrap_or_else(|e| panic!("{at}: {e}"));
        promql::visit(&tree, &mut |node, above| {
            let Some(name) = promql::selector(node).and_then(|s| s.name.as_deref()) else { return };
            let function = above.iter().rev().find_map(|expr| match expr {
                Expr::Call(call) => Some(call.func.name),
                _ => None,
            });
            let rated = matches!(function, Some("rate" | "increase" | "irate"));
            let counter = schema.kind(name) == Some(Kind::Counter);
            if counter != (rated && matches!(node, Expr::MatrixSelector(_))) {
                wrong.insert(format!("{at}: {name} (a counter: {counter}) below {function:?}"));
            }
            if let (true, Expr::MatrixSelector(range)) = (rated, node) {
                if range.range == Duration::from_secs(4002) {
                    whole.insert((board.name.clone(), panel.title().to_owned()));
                } else if range.range != Duration::from_secs(4001) {
                    wrong.insert(format!("{at}: {name} over {:?}", range.range));
                }
            }
        });
    });
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let allowed = WHOLE_RANGE.map(|(b, p)| (b.to_owned(), p.to_owned()));
    assert_eq!(whole, allowed.into(), "panels that count over the whole range");
}

#[test]
fn the_exporters_own_dashboard_asks_only_for_the_chosen_instances() {
    each(|board, panel, _, query| {
        if board.name != "exporter" {
            return;
        }
        let tree = promql::parse(query).expect("it parses");
        for selector in promql::selectors(&tree) {
            for label in ["job", "instance"] {
                let has = selector.matchers.matchers.iter().any(|m| m.name == label);
                assert!(has, "{:?}: {selector} has no matcher of {label}", panel.title());
            }
        }
    });
}

#[test]
fn variables_ask_for_labels_that_there_are() {
    let schema = schema();
    for board in board::all() {
        for variable in board.variables().iter().filter(|v| text(v, "/type") == "query") {
            let (name, query) = (text(variable, "/name"), text(variable, "/definition"));
            assert_eq!(query, text(variable, "/query/query"), "{}: {name}", board.name);
            let inner = query.strip_prefix("label_values(").and_then(|q| q.strip_suffix(')'));
            let inner = inner.unwrap_or_else(|| panic!("{}: {name}: {query}", board.name));
            let (selector, label) = inner.rsplit_once(", ").expect("a selector and a label");
            let tree = promql::parse(&board::filled(selector, &values())).expect("it parses");
            let mut wrong = Vec::new();
            let labels = labels_of(&tree, &schema, &mut wrong);
            assert!(wrong.is_empty(), "{}: {name}: {wrong:?}", board.name);
            assert!(
                labels.must.contains(label),
                "{}: {name}: no {label} in {selector}",
                board.name
            );
            assert_eq!(name, label, "{}: links go by it", board.name);
        }
    }
}

#[test]
fn every_signal_has_a_panel() {
    let mut shown = BTreeSet::new();
    each(|_, _, _, query| {
        let tree = promql::parse(query).expect("it parses");
        shown.extend(promql::metrics(&tree).map(str::to_owned));
    });
    for signal in dlock_exporter::derive::Signal::ALL {
        let metric = format!("dlock_{}", signal.as_str());
        assert!(shown.contains(&metric), "{metric} is on no dashboard");
    }
}
