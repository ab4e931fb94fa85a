//! Every query of every panel on a real Prometheus that scraped a real exporter, while real holders freeze, die, wait and
//! collect garbage, a replica diverges, a server comes back without its data and a chronyd falls silent. Each query must
//! return something, what legends and links name must be there, and no query may fail: there is no list of exceptions,
//! but for what this machine does not have. In the long form it draws them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::board::{self, Board, Panel, Target, labels_in, text};
use super::world::World;
use crate::support::{Prometheus, PrometheusSetup, long, repository};

/// Over which the queries look back; the faults are younger.
const BACK: Duration = Duration::from_secs(100);
const STEP: Duration = Duration::from_secs(1);

/// Values of the variables under which a query is tried; one of them has to give something.
fn choices(board: &Board, world: &World) -> Vec<BTreeMap<&'static str, String>> {
    let common = [("__rate_interval", "4s"), ("__range", "100s"), ("worker", ".+"), ("job", ".+")];
    let mut values: BTreeMap<_, _> = common.map(|(k, v)| (k, v.to_owned())).into();
    values.insert("instance", ".+".into());
    if board.name != "lock" {
        values.insert("store", ".+".into());
        return vec![values];
    }
    let each = world.locks().into_iter().map(|(store, lock)| {
        let mut own = values.clone();
        own.extend([("store", store.to_owned()), ("lock", lock.to_owned())]);
        own
    });
    each.collect()
}

/// What is wrong with the answers to a query; `None` when all is well.
fn fault(
    prometheus: &Prometheus,
    board: &Board,
    panel: Panel<'_>,
    target: Target<'_>,
    world: &World,
) -> Option<String> {
    let mut found = false;
    for values in choices(board, world) {
        for series in prometheus.range(&board::filled(target.expr(), &values), BACK, STEP) {
            found = true;
            let lacks = |label: &str| series.labels.get(label).is_none_or(String::is_empty);
            // A holder that nobody can name has no name to show or to follow.
            let named = |label: &&str| *label != "worker" || text(panel.0, "/type") != "table";
            let links = panel.links();
            let wanted = links.iter().flat_map(|link| labels_in(link)).filter(named);
            for label in wanted.chain(target.legend_labels()) {
                if lacks(label) {
                    return Some(format!("{label} is missing in {:?}", series.labels));
                }
            }
        }
    }
    (!found).then(|| format!("no data: {}", target.expr()))
}

/// Whether it asks for what this machine does not let a test make.
fn excused(target: Target<'_>, world: &World) -> bool {
    (target.expr().contains("dlock_worker_cgroup_") && !world.has_cgroups)
        || (target.expr().contains("dlock_worker_jvm_") && !world.has_jvm)
}

#[test]
fn every_query_returns_data_after_real_faults() {
    let mut world = World::start();
    let rules = ["recording", "locks", "holders", "servers", "watching"];
    let rules = rules.map(|name| repository(&format!("alerts/{name}.yml")));
    let setup = PrometheusSetup::new(&[world.exporter()]).every(STEP);
    let mut prometheus = rules.iter().fold(setup, |setup, file| setup.rules(file)).start();
    prometheus.wait_for("up == 1", Duration::from_secs(20));
    world.go_wrong();

    let boards = board::all();
    let mut left: Vec<_> = boards
        .iter()
        .flat_map(|b| b.panels().flat_map(move |p| p.targets().map(move |t| (b, p, t))))
        .filter(|(_, _, t)| !excused(*t, &world))
        .collect();
    assert!(left.len() > 150, "only {} queries", left.len());
    let begun = dlock_exporter::clock::mono();
    let mut faults = BTreeMap::new();
    while !left.is_empty() && dlock_exporter::clock::mono().since(begun) < Duration::from_secs(45) {
        left.retain(|(board, panel, target)| {
            let ref_id = text(target.0, "/refId").to_owned();
            let at = (board.name.clone(), panel.title().to_owned(), ref_id);
            faults.remove(&at);
            let fault = fault(&prometheus, board, *panel, *target, &world);
            fault.map(|fault| faults.insert(at, fault)).is_some()
        });
        world.keep_going();
    }
    let told: Vec<_> = faults.iter().map(|(at, fault)| format!("{at:?}: {fault}")).collect();
    assert!(told.is_empty(), "{} queries:\n{}\n{}", told.len(), told.join("\n"), world.told());

    variables_have_values(&boards, &prometheus);
    if long() {
        draw(&prometheus, PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("panels"));
    }
}

fn variables_have_values(boards: &[Board], prometheus: &Prometheus) {
    let mut empty = BTreeSet::new();
    let any = ["store", "job"].map(|name| (name, ".+".to_owned())).into();
    for board in boards {
        for variable in board.variables().iter().filter(|v| text(v, "/type") == "query") {
            let query = text(variable, "/definition").trim_start_matches("label_values(");
            let (selector, label) = query.rsplit_once(", ").expect("a selector and a label");
            let selector = board::filled(selector, &any).replace("=\".+\"", "=~\".+\"");
            let label = label.trim_end_matches(')');
            let found = prometheus.query(&format!("count by ({label}) ({selector})"));
            if found.iter().all(|s| s.labels.get(label).is_none_or(String::is_empty)) {
                empty.insert(format!("{}: {query}", board.name));
            }
        }
    }
    assert!(empty.is_empty(), "variables without values: {empty:?}");
}

/// With Grafana's own components, as pictures to look at. What draws says what drew nothing.
fn draw(prometheus: &Prometheus, out: PathBuf) {
    let url = format!("http://{}", prometheus.address());
    let output = Command::new(repository("tests/panels/draw"))
        .args([&url, &out.display().to_string(), "2", "store=main", "lock=orders", "scrape=1"])
        .output()
        .expect("tests/panels/draw runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, wrong) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "tests/panels/draw: {said}\n{wrong}");
}
