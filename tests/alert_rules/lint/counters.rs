//! Counters count only as differences: a raw one says how long ago the exporter was started. And ranges hold enough
//! scrapes for a difference.

use std::time::Duration;

use promql_parser::parser::Expr;

use crate::promql::{Kind, Schema, selector, selectors, visit};

/// Functions that take the difference of a counter.
const DIFFERENCES: [&str; 4] = ["rate", "increase", "irate", "resets"];

/// Twice the longest scrape interval that people use.
const LEAST_RANGE: Duration = Duration::from_secs(120);

/// Adds what is wrong with counters and ranges.
pub fn check(expr: &Expr, schema: &Schema, wrong: &mut Vec<String>) {
    visit(expr, &mut |node, above| {
        let Some(found) = selector(node) else { return };
        let Some(name) = found.name.as_deref() else { return };
        let function = above.iter().rev().find_map(|up| match up {
            Expr::Call(call) => Some(call.func.name),
            _ => None,
        });
        let difference = function.is_some_and(|f| DIFFERENCES.contains(&f));
        match schema.kind(name) {
            Some(Kind::Counter) => {
                let compared = above.iter().any(|up| earlier_and_now(up, name));
                if !difference && !compared {
                    wrong.push(format!("{name} is a counter and used as a number"));
                }
            }
            Some(Kind::Gauge | Kind::Recorded) if difference => {
                wrong.push(format!(
                    "{} of {name}, which is no counter",
                    function.unwrap_or_default()
                ));
            }
            _ => {}
        }
        if let Expr::MatrixSelector(range) = node
            && range.range < LEAST_RANGE
        {
            wrong.push(format!("{name} over {:?} holds less than two scrapes", range.range));
        }
    });
}

/// Whether the node sets a counter against itself at another time.
fn earlier_and_now(node: &Expr, name: &str) -> bool {
    let Expr::Binary(binary) = node else { return false };
    let has = |side, earlier: bool| {
        selectors(side)
            .iter()
            .any(|s| s.name.as_deref() == Some(name) && s.offset.is_some() == earlier)
    };
    has(&binary.lhs, false) && has(&binary.rhs, true)
}
