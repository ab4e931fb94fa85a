//! The lint itself: for each of its rules a bad alert that it must complain of, and a good file that it must not.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::files::RuleFile;
use super::lint::lint;

const URL: &str = "https://github.com/dlock-exporter/dlock_exporter/blob/main/alerts/runbooks/";

/// A file with rules before the one that is tested, which has the expression and one key changed.
struct Sample {
    before: Vec<Value>,
    rule: Value,
}

fn alert(expr: &str) -> Value {
    json!({
        "alert": "DlockHolderStale",
        "expr": expr,
        "for": "1m",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "A lock is owned by a holder that is gone.",
            "description": "{{ $labels.store }}/{{ $labels.lock }} is stale.",
            "runbook_url": format!("{URL}DlockHolderStale.md"),
        },
    })
}

fn record(name: &str, expr: &str) -> Value {
    json!({"record": name, "expr": expr})
}

const GOOD: &str = "max by (store, lock) (dlock_holder_stale) == 1";

fn complaints(rules: &[Value]) -> Vec<String> {
    let content = json!({"groups": [{"name": "dlock.test", "rules": rules}]});
    let file = RuleFile { name: "test.yml".into(), content };
    lint(&[file], &BTreeSet::from(["DlockHolderStale".to_owned()]))
}

fn of(sample: Sample) -> Vec<String> {
    let mut rules = sample.before;
    rules.push(sample.rule);
    complaints(&rules)
}

#[track_caller]
fn complains(rule: Value, what: &str) {
    let found = of(Sample { before: Vec::new(), rule });
    assert!(found.iter().any(|c| c.contains(what)), "no complaint has {what:?}: {found:#?}");
}

/// Complains of the query of an alert.
#[track_caller]
fn of_query(expr: &str, what: &str) {
    complains(alert(expr), what);
}

/// Complains of an alert with one value set; `path` as in a JSON pointer.
#[track_caller]
fn of_value(path: &str, value: Value, what: &str) {
    let mut rule = alert(GOOD);
    let (parent, key) = path.rsplit_once('/').expect("a path");
    rule.pointer_mut(parent).expect("a mapping")[key] = value;
    complains(rule, what);
}

#[test]
fn a_good_file_gets_no_complaint() {
    let join = "max by (store, lock) (dlock:holder:info{worker!=\"\"} * on (worker) group_left () \
                max by (worker) (dlock_worker_alive)) == 0 \
                or max by (store, lock) (increase(dlock_lease_late_renewals_total[5m])) > 0";
    let rules = [
        record("dlock:holder:info", "max by (store, lock, worker) (dlock_lock_holder_info)"),
        alert(join),
    ];
    assert_eq!(complaints(&rules), [""; 0]);
    let stale = "(dlock_exporter_snapshot_timestamp_seconds - on (job, instance) group_right () \
                 dlock_exporter_poll_last_success_timestamp_seconds) > 60";
    let mut rule = alert(&format!("max by (job, instance, poller, target) ({stale})"));
    rule["annotations"]["description"] =
        "{{ $labels.job }} {{ $labels.instance }} {{ $labels.poller }} {{ $labels.target }}."
            .into();
    assert_eq!(complaints(&[rule]), [""; 0]);
}

#[test]
fn names_labels_and_annotations_are_held_to_their_form() {
    of_value("/alert", "DlockHolder_stale".into(), "CamelCase");
    of_value("/alert", "HolderStale".into(), "CamelCase");
    of_value("/alert", "DlockOther".into(), "there is no alerts/runbooks/DlockOther.md");
    of_value("/labels/severity", "page".into(), "severity must be one of");
    of_value("/labels/team", "storage".into(), "sets the label team");
    of_value("/labels/severity", "{{ $value }}".into(), "has a template");
    of_value("/annotations/message", "Hi.".into(), "annotations are");
    of_value(
        "/annotations/summary",
        "{{ $labels.lock }} is stale.".into(),
        "the summary has a template",
    );
    of_value("/annotations/summary", "a lock is stale.".into(), "not one sentence");
    of_value("/annotations/summary", "A lock is stale".into(), "not one sentence");
    of_value("/annotations/summary", "A lock is stale. Look.".into(), "not one sentence");
    of_value("/annotations/runbook_url", "https://example.com/x.md".into(), "runbook_url is not");
    of_value("/limit", 3.into(), "the key limit");
}

#[test]
fn descriptions_use_what_the_query_leaves() {
    let described =
        |text: &str, what: &str| of_value("/annotations/description", text.into(), what);
    let both = "{{ $labels.store }}/{{ $labels.lock }}";
    described(&format!("{both} of {{{{ $labels.worker }}}}."), "uses the label worker");
    described("{{ $labels.store }} is bad.", "does not name the lock");
    described(&format!("{both} is bad"), "full stop");
    described(&format!("{both} {{{{ $value }}."), "braces");
    let looked_up = |query: &str, rest: &str| {
        format!(
            "{both} {{{{ range printf \"{query}\" $labels.store | query }}}}{rest}{{{{ end }}}}."
        )
    };
    described(&looked_up("dlock_lock_held{stor=%q}", "x"), "dlock_lock_held has no label stor");
    described(&looked_up("dlock_lock_hold{store=%q}", "x"), "there is no metric dlock_lock_hold");
    described(&looked_up("dlock_lock_held{store=%q", "x"), "not PromQL");
    described(&looked_up("dlock_lock_held", "x"), "1 labels are given");
    described(&looked_up("dlock_lock_held{store=\\\"%s\\\"}", "x"), "use %q");
    let worker = looked_up("dlock_lock_held{store=%q}", "{{ .Labels.worker }}");
    described(&worker, "no query of the description has the label worker");
}

#[test]
fn twins_are_alike() {
    let mut critical = alert(GOOD);
    critical["labels"]["severity"] = "critical".into();
    assert_eq!(complaints(&[alert(GOOD), critical.clone()]), [""; 0]);
    let with = |path: &str, value: &str| {
        let mut other = critical.clone();
        *other.pointer_mut(path).expect("a value") = value.into();
        complaints(&[alert(GOOD), other]).join("\n")
    };
    assert!(with("/annotations/summary", "It is gone.").contains("different summaries"));
    assert!(with("/labels/severity", "warning").contains("one severity twice"));
    let by_store = "max by (store) (dlock_holder_stale) == 1";
    assert!(with("/expr", by_store).contains("twins with different labels"));
}

#[test]
fn queries_name_what_there_is() {
    of_query(
        "max by (store, lock) (dlock_holder_gone) == 1",
        "there is no metric dlock_holder_gone",
    );
    of_query("max by (store, lok) (dlock_holder_stale) == 1", "by (lok)");
    of_query("max by (store, lock) (dlock_holder_stale{worker=\"a\"}) == 1", "has no label worker");
    of_query("max by (store, lock, worker) (dlock_holder_stale) == 1", "by (worker)");
    let values = |selector: &str, what: &str| {
        of_query(&format!("max by (store) ({selector}) > 0"), what);
    };
    values("dlock_locks_flagged{signal=\"doubted\"}", "is never \"doubted\"");
    values("dlock_store_role{role=\"slave\"}", "is never \"slave\"");
    values("dlock_lock_previous_holder_info{evidence=~\"lapsed|gone\"}", "is never \"gone\"");
    of_query("max by (store, lock) ({lock=\"a\"}) > 0", "without a metric name");
    of_query("max by (store, lock) (dlock_holder_stale = 1", "not PromQL");
}

#[test]
fn joins_cannot_fail() {
    let holder = "max by (store, lock, worker) (dlock_lock_holder_info)";
    let joined = |one: &str| {
        format!("max by (store, lock) ({holder} * on (worker) group_left () {one}) == 0")
    };
    of_query(&joined("dlock_worker_alive"), "many-to-many");
    of_query(&joined("max by (worker, source) (dlock_worker_alive)"), "many-to-many");
    of_query(&joined("max by (source) (dlock_worker_alive)"), "on (worker)");
    of_query(
        "max by (store, lock) (dlock_lock_held - on (store, lock) dlock_lock_holders) > 0",
        "many-to-many",
    );
    of_query(
        "max by (store, lock) (dlock_lock_held) == 1 and max by (store) (dlock_store_primaries) > 1",
        "nothing can match",
    );
    of_query(
        "max by (store, lock) (dlock_lock_held) == 1 unless on (worker) max by (worker) (dlock_worker_alive)",
        "on (worker)",
    );
}

#[test]
fn alerts_carry_what_is_wrong_and_not_who_saw_it() {
    of_query("dlock_holder_stale == 1", "carries whatever labels the scrape adds");
    of_query("max by (store, lock, instance) (dlock_holder_stale) == 1", "about a store at once");
    of_query("max without (instance) (dlock_holder_stale) == 1", "say by");
    of_query("max by (store, state) (dlock_locks) > 1", "carries the label state");
    of_query(
        "max by (store, lock) (dlock_holder_stale) == 1 or max by (store) (dlock_store_primaries) > 1",
        "does not always carry",
    );
}

#[test]
fn counters_count_as_differences() {
    let of =
        |query: &str, what: &str| of_query(&format!("max by (store, lock) ({query}) > 0"), what);
    of("dlock_lease_late_renewals_total", "is a counter and used as a number");
    of("max_over_time(dlock_lease_late_renewals_total[5m])", "is a counter and used as a number");
    of("increase(dlock_holder_lost_seconds[5m])", "which is no counter");
    of("increase(dlock_lease_late_renewals_total[1m])", "holds less than two scrapes");
    let late = "dlock_lease_late_renewals_total";
    let compared = alert(&format!("max by (store, lock) ({late} > 0 unless {late} offset 5m) > 0"));
    assert_eq!(complaints(&[compared]), [""; 0]);
}

#[test]
fn clocks_are_not_mixed() {
    let of =
        |query: &str| of_query(&format!("max by (store, lock) ({query}) > 0"), "different clocks");
    of("time() - dlock_lease_last_renewal_timestamp_seconds");
    of("timestamp(dlock_lock_held) - dlock_lock_held_since_timestamp_seconds");
    of("dlock_lease_expiry_timestamp_seconds < time() + 5");
    of_query(
        "max by (job, instance) (dlock_exporter_snapshot_timestamp_seconds) \
         < on (job, instance) max by (job, instance) (dlock_clock_reference_timestamp_seconds)",
        "different clocks",
    );
    let age = "timestamp(dlock_lock_held_seconds) - dlock_lock_held_seconds";
    let fine = [
        record("dlock:lock:acquired_timestamp_seconds", &format!("min by (store, lock) ({age})")),
        alert("time() - dlock:lock:acquired_timestamp_seconds > 100"),
    ];
    assert_eq!(complaints(&fine), [""; 0]);
}

#[test]
fn an_alert_can_be_silent() {
    of_query("max by (store, lock) (dlock_holder_stale)", "the query is never empty");
    of_query("max by (store, lock) (dlock_holder_stale) == bool 1", "the query is never empty");
    let half =
        "max by (store, lock) (dlock_holder_stale) == 1 or max by (store, lock) (dlock_unheld)";
    of_query(half, "the query is never empty");
    let mut absent = alert("absent(dlock_exporter_build_info)");
    absent["annotations"]["description"] = "None is there.".into();
    assert_eq!(complaints(&[absent.clone()]), [""; 0]);
    absent.as_object_mut().expect("a mapping").remove("for");
    complains(absent, "absent() without for");
}

#[test]
fn regular_expressions_are_needed() {
    of_query("max by (store, lock) (dlock_holder_stale{lock=~\"a\"}) == 1", "not needed");
    of_query("max by (store, lock) (dlock_holder_stale{lock!~\".+\"}) == 1", "not needed");
}

#[test]
fn recorded_names_are_in_form_and_in_order() {
    let info = "max by (store, lock, worker) (dlock_lock_holder_info)";
    let of = |rules: &[Value], what: &str| {
        let found = complaints(rules).join("\n");
        assert!(found.contains(what), "no complaint has {what:?}: {found}");
    };
    of(&[record("dlock_holder_info", info)], "not of the form");
    of(&[record("dlock:holder:info", info), record("dlock:holder:info", info)], "recorded twice");
    let using = record("dlock:held:info", "max by (store) (dlock:holder:info)");
    of(&[using, record("dlock:holder:info", info)], "before it is recorded");
    let mut labelled = record("dlock:holder:info", info);
    labelled["labels"] = json!({"a": "b"});
    of(&[labelled], "sets labels");
}

#[test]
fn groups_follow_the_server() {
    let group = |group: Value| {
        let file = RuleFile { name: "test.yml".into(), content: json!({"groups": [group]}) };
        lint(&[file], &BTreeSet::new()).join("\n")
    };
    let interval = json!({"name": "dlock.test", "interval": "15s", "rules": []});
    assert!(group(interval).contains("sets interval"));
    assert!(group(json!({"name": "test", "rules": []})).contains("does not start with dlock."));
}
