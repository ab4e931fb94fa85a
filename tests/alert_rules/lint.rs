//! What alert rules must be like beyond what promtool 2.42 checks. Each part looks at one side of a rule and returns
//! complaints; it never runs a query.

mod counters;
mod queries;
mod times;
mod words;

use std::collections::BTreeSet;

use promql_parser::parser::Expr;

use super::files::{Rule, RuleFile, rules};
use crate::promql::{LabelSet, Schema, labels_of, parse};

/// A rule with its query read.
pub struct Parsed<'a> {
    /// The rule.
    pub rule: Rule<'a>,
    /// Its query.
    pub expr: Expr,
    /// The labels of the query's result.
    pub labels: LabelSet,
}

/// All that is wrong with the rules, and nothing if they are good. `runbooks` are the names of those that exist.
pub fn lint(files: &[RuleFile], runbooks: &BTreeSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in files {
        wrong.extend(words::groups(file));
    }
    let (parsed, schema) = parsed(files, &mut wrong);
    wrong.extend(queries::names(&parsed));
    wrong.extend(words::twins(&parsed));
    for one in &parsed {
        let mut found = Vec::new();
        if one.rule.is_alert() {
            words::alert(one, runbooks, &mut found);
            words::templates(one, &schema, &mut found);
            queries::alert(one, &mut found);
        }
        queries::any(one, &mut found);
        counters::check(&one.expr, &schema, &mut found);
        times::check(&one.expr, &schema, &mut found);
        wrong.extend(found.into_iter().map(|what| format!("{}: {what}", one.rule.title())));
    }
    wrong.sort();
    wrong.dedup();
    wrong
}

/// Reads every query, each recorded name being known only to what comes after it.
pub fn parsed<'a>(files: &'a [RuleFile], wrong: &mut Vec<String>) -> (Vec<Parsed<'a>>, Schema) {
    let mut schema = Schema::of_the_catalogue();
    let mut parsed = Vec::new();
    for rule in rules(files) {
        let mut found = Vec::new();
        match parse(rule.expr()) {
            Ok(expr) => {
                let labels = labels_of(&expr, &schema, &mut found);
                if let Some(name) = rule.text("record") {
                    schema.record(name, labels.clone());
                }
                parsed.push(Parsed { rule, expr, labels });
            }
            Err(why) => found.push(why),
        }
        wrong.extend(found.into_iter().map(|what| format!("{}: {what}", rule.title())));
    }
    (parsed, schema)
}
