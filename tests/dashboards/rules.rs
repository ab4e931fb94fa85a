//! What Grafana's dashboard-linter asks of a dashboard, and what else makes one that works when a file provisions it:
//! one data source variable, words and units at every panel, nothing on top of anything else, links that lead somewhere.
//! What the linter asks and is not so here is in `EXCEPTIONS`, each with its reason.

use std::collections::BTreeSet;

use serde_json::Value;

use super::board::{self, Board, labels_in, list, text};

/// Rules of the linter that a dashboard does not follow: dashboard, rule, reason.
const EXCEPTIONS: [(&str, &str, &str); 4] = [
    (
        "overview",
        "job and instance",
        "one store or worker may be seen by many exporters: shown once, by store and lock",
    ),
    ("lock", "job and instance", "one lock, whichever exporters see it"),
    ("holders", "job and instance", "one worker, whichever exporters see it"),
    ("servers", "job and instance", "one store, whichever exporters see it"),
];

const UIDS: [&str; 5] =
    ["dlock-exporter", "dlock-holders", "dlock-lock", "dlock-overview", "dlock-servers"];

/// Kinds of panel that tests/panels can draw.
const KINDS: [&str; 3] = ["timeseries", "stat", "table"];

/// All faults at once.
struct Faults(Vec<String>);

impl Faults {
    fn check(&mut self, good: bool, at: &str, what: &str) {
        if !good {
            self.0.push(format!("{at}: {what}"));
        }
    }

    fn done(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

fn excepted(board: &Board, rule: &str) -> bool {
    EXCEPTIONS.iter().any(|(b, r, _)| (*b, *r) == (&board.name, rule))
}

#[test]
fn dashboards_can_be_provisioned_and_found() {
    let mut faults = Faults(Vec::new());
    let boards = board::all();
    let uids: Vec<_> = boards.iter().map(|b| text(&b.json, "/uid")).collect();
    assert_eq!(uids, UIDS);
    for board in &boards {
        let (at, json) = (board.name.as_str(), &board.json);
        faults.check(text(json, "/uid") == format!("dlock-{at}"), at, "uid is not its name");
        faults.check(json["schemaVersion"].as_u64() >= Some(41), at, "an old schemaVersion");
        faults.check(json["id"].is_null(), at, "an id belongs to one Grafana");
        faults.check(json["editable"] == false, at, "editable: the file is the source");
        faults.check(json["graphTooltip"] == 1, at, "no shared crosshair");
        faults.check(list(json, "/tags") == ["dlock"], at, "tags");
        faults.check(!text(json, "/title").is_empty(), at, "no title");
        faults.check(!text(json, "/description").is_empty(), at, "no description");
        for word in ["__inputs", "${DS_", "__requires", "__elements"] {
            faults.check(!board.text.contains(word), at, &format!("{word} breaks provisioning"));
        }
    }
    let titles: BTreeSet<_> = boards.iter().map(|b| text(&b.json, "/title")).collect();
    faults.check(titles.len() == boards.len(), "all", "two with one title");
    faults.done();
}

#[test]
fn variables_are_as_the_linter_wants_them() {
    let mut faults = Faults(Vec::new());
    for board in &board::all() {
        let names = board.variable_names();
        faults.check(names.first() == Some(&"datasource"), &board.name, "no datasource first");
        for variable in board.variables() {
            let at = format!("{}, variable {}", board.name, text(variable, "/name"));
            match text(variable, "/type") {
                "datasource" => {
                    faults.check(text(variable, "/query") == "prometheus", &at, "not Prometheus");
                    faults.check(text(variable, "/label") == "Data source", &at, "label");
                }
                "query" => {
                    let uid = text(variable, "/datasource/uid");
                    faults.check(uid == "${datasource}", &at, "another data source");
                    faults.check(variable["refresh"] == 2, &at, "not asked anew with the time");
                    faults.check(!text(variable, "/label").is_empty(), &at, "no label");
                    let all = variable["includeAll"] == true;
                    let fits = !all || text(variable, "/allValue") == ".+";
                    faults.check(variable["multi"] == all && fits, &at, "multi and its allValue");
                }
                "textbox" => {
                    let value = text(variable, "/query");
                    faults.check(value == "http://localhost:10121", &at, "default");
                }
                other => faults.check(false, &at, &format!("a variable of type {other}")),
            }
        }
        let targets = ["job", "instance"].iter().all(|name| {
            let found = board.variables().iter().find(|v| text(v, "/name") == *name);
            let label = name[..1].to_uppercase() + &name[1..];
            found.is_some_and(|v| text(v, "/label") == label && v["multi"] == true)
        });
        let wanted = !excepted(board, "job and instance");
        faults.check(targets == wanted, &board.name, "variables job and instance");
    }
    faults.done();
}

#[test]
fn panels_say_what_they_show_in_which_unit_and_when_there_is_nothing() {
    let mut faults = Faults(Vec::new());
    for board in &board::all() {
        let mut ids = BTreeSet::new();
        for panel in board.everything() {
            let at = format!("{}, {:?}", board.name, text(panel, "/title"));
            faults.check(ids.insert(panel["id"].as_u64()), &at, "an id twice");
        }
        for panel in board.panels() {
            let at = format!("{}, {:?}", board.name, panel.title());
            let json = panel.0;
            faults.check(!panel.title().is_empty(), &at, "no title");
            faults.check(text(json, "/description").len() > 15, &at, "no description");
            faults.check(KINDS.contains(&text(json, "/type")), &at, "a kind that is not drawn");
            faults.check(text(json, "/datasource/uid") == "${datasource}", &at, "data source");
            let defaults = json.pointer("/fieldConfig/defaults").unwrap_or(&Value::Null);
            let tells =
                !text(defaults, "/unit").is_empty() || !list(defaults, "/mappings").is_empty();
            faults.check(tells, &at, "no unit");
            let nothing = text(defaults, "/noValue");
            faults.check(nothing.len() > 3, &at, "does not say what no data means");
            let refs: BTreeSet<_> = panel.targets().map(|t| text(t.0, "/refId")).collect();
            let count = panel.targets().count();
            faults.check(count > 0 && refs.len() == count, &at, "no query, or a refId twice");
            for target in panel.targets() {
                let instant = target.0["instant"] == true;
                let drawn_over_time = text(json, "/type") == "timeseries"
                    || text(json, "/options/graphMode") == "area";
                faults.check(
                    instant != drawn_over_time,
                    &at,
                    "instant where it is a graph, or not",
                );
            }
            for over in list(json, "/fieldConfig/overrides") {
                let refers = text(over, "/matcher/id") != "byFrameRefID"
                    || refs.contains(text(over, "/matcher/options"));
                faults.check(refers, &at, "an override of a query that is not there");
            }
        }
    }
    faults.done();
}

#[test]
fn nothing_lies_on_anything_else() {
    let mut faults = Faults(Vec::new());
    for board in &board::all() {
        let boxes: Vec<_> = board
            .everything()
            .iter()
            .map(|panel| {
                let side = |name: &str| panel["gridPos"][name].as_u64().expect("a place");
                (text(panel, "/title"), side("x"), side("y"), side("w"), side("h"))
            })
            .collect();
        for (i, (title, x, y, w, h)) in boxes.iter().enumerate() {
            faults.check(x + w <= 24 && *w > 0 && *h > 0, title, "beyond the 24 columns");
            for (other, ox, oy, ow, oh) in &boxes[..i] {
                let apart = x + w <= *ox || ox + ow <= *x || y + h <= *oy || oy + oh <= *y;
                faults.check(apart, &board.name, &format!("{title:?} lies on {other:?}"));
            }
        }
    }
    faults.done();
}

#[test]
fn links_lead_to_a_dashboard_of_ours_or_to_the_exporter() {
    let mut faults = Faults(Vec::new());
    let boards = board::all();
    let mut reached = BTreeSet::new();
    for board in &boards {
        let at = &board.name;
        let dashboards = list(&board.json, "/links").iter();
        for link in dashboards.clone().filter(|l| text(l, "/type") == "dashboards") {
            faults.check(list(link, "/tags") == ["dlock"], at, "a list of other dashboards");
            let keeps = link["includeVars"] == true && link["keepTime"] == true;
            faults.check(keeps, at, "its links forget the time or the data source");
        }
        let own = dashboards.filter(|l| text(l, "/type") == "link").map(|l| text(l, "/url"));
        let panels = board.panels().flat_map(|p| p.links());
        for link in own.chain(panels) {
            if let Some(path) = link.strip_prefix("${exporter_url}") {
                let ok =
                    path.starts_with("/locks/${") && path.matches(":percentencode}").count() == 2;
                faults.check(ok, at, &format!("not a page of the exporter: {link}"));
                continue;
            }
            let Some((uid, query)) = link.strip_prefix("/d/").and_then(|l| l.split_once('?'))
            else {
                faults.check(false, at, &format!("leads nowhere: {link}"));
                continue;
            };
            let Some(target) = boards.iter().find(|b| text(&b.json, "/uid") == uid) else {
                faults.check(false, at, &format!("no such dashboard: {link}"));
                continue;
            };
            reached.insert(uid.to_owned());
            let names = target.variable_names();
            for part in query.split('&') {
                let variable = part.split_once('=').and_then(|(k, _)| k.strip_prefix("var-"));
                let carried = [
                    "${datasource:queryparam}",
                    "${exporter_url:queryparam}",
                    "${__url_time_range}",
                ];
                let known = carried.contains(&part) || variable.is_some_and(|v| names.contains(&v));
                faults.check(known, at, &format!("{uid} does not take {part}"));
                let encoded = variable.is_none() || part.ends_with(":percentencode}");
                faults.check(encoded, at, &format!("not percent-encoded: {part}"));
                for label in labels_in(part) {
                    faults.check(variable == Some(label), at, &format!("{label} given as {part}"));
                }
            }
        }
    }
    for uid in UIDS {
        faults.check(uid == "dlock-overview" || reached.contains(uid), uid, "no link leads there");
    }
    faults.done();
}
