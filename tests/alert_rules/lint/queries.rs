//! Recorded names, and what the query of an alert must be able to do: be empty, and wait where it asks for what is absent.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use promql_parser::label::MatchOp;
use promql_parser::parser::Expr;
use regex::Regex;

use super::Parsed;
use crate::promql::{bare, children, selectors, visit};

static LEVELS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^dlock:[a-z_]+:[a-z0-9_]+$").expect("a pattern"));

/// Recorded names: of the form level:metric:operation, recorded once, and before what uses them.
pub fn names(parsed: &[Parsed<'_>]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut recorded: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, one) in parsed.iter().enumerate() {
        let Some(name) = one.rule.text("record") else { continue };
        if !LEVELS.is_match(name) {
            wrong.push(format!("{}: not of the form dlock:metric:operation", one.rule.title()));
        }
        if recorded.insert(name, at).is_some() {
            wrong.push(format!("{}: recorded twice", one.rule.title()));
        }
        if !one.rule.pairs("labels").is_empty() {
            wrong.push(format!("{}: a recording rule that sets labels", one.rule.title()));
        }
    }
    for (at, one) in parsed.iter().enumerate() {
        for name in crate::promql::metrics(&one.expr) {
            if recorded.get(name).is_some_and(|made| *made >= at) {
                wrong.push(format!("{}: uses {name} before it is recorded", one.rule.title()));
            }
        }
    }
    wrong
}

/// What holds for every query.
pub fn any(one: &Parsed<'_>, wrong: &mut Vec<String>) {
    for selector in selectors(&one.expr) {
        for matcher in &selector.matchers.matchers {
            let regex = matches!(matcher.op, MatchOp::Re(_) | MatchOp::NotRe(_));
            let special = |c: char| ".+*?()|[]{}^$\\".contains(c);
            if regex
                && (!matcher.value.contains(special) || [".*", ".+"].contains(&&*matcher.value))
            {
                wrong.push(format!("{matcher}: a regular expression that is not needed"));
            }
        }
    }
    visit(&one.expr, &mut |node, _| {
        if let Expr::Aggregate(aggregate) = node
            && aggregate.modifier.as_ref().is_some_and(|m| !m.is_include())
        {
            wrong.push(format!(
                "{}: say by: without keeps labels that the scrape adds",
                aggregate.op
            ));
        }
    });
}

/// What holds for an alert's query.
pub fn alert(one: &Parsed<'_>, wrong: &mut Vec<String>) {
    if !can_be_empty(&one.expr) {
        wrong.push("the query is never empty: compare with something".into());
    }
    let mut asks_for_absence = false;
    visit(&one.expr, &mut |node, _| {
        asks_for_absence |= matches!(node, Expr::Call(c) if c.func.name.starts_with("absent"));
    });
    if asks_for_absence && one.rule.text("for").is_none_or(|t| t == "0s") {
        wrong.push("absent() without for fires at each restart of Prometheus".into());
    }
}

/// Whether something in the query decides if there is an alert.
fn can_be_empty(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Binary(b) if b.op.is_comparison_operator() => !b.return_bool(),
        Expr::Binary(b) if b.op.to_string() == "or" => can_be_empty(&b.lhs) && can_be_empty(&b.rhs),
        Expr::Binary(b) if b.op.is_set_operator() => true,
        Expr::Call(c) if c.func.name.starts_with("absent") => true,
        other => children(other).into_iter().any(can_be_empty),
    }
}
