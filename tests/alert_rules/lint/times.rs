//! Instants of different clocks are never set against each other: the difference would show how wrong the clocks are, and
//! alert on that.

use std::collections::BTreeSet;

use promql_parser::parser::Expr;

use crate::promql::{Kind, Schema, children, selector};

/// The clock that an instant is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Clock {
    Prometheus,
    ExporterHost,
    LockServer,
    ChronydHost,
}

/// Adds each place where two clocks meet.
pub fn check(expr: &Expr, schema: &Schema, wrong: &mut Vec<String>) {
    if let Expr::Binary(binary) = expr
        && !binary.op.is_set_operator()
    {
        let mut clocks = BTreeSet::new();
        instants(&binary.lhs, schema, &mut clocks);
        instants(&binary.rhs, schema, &mut clocks);
        if clocks.len() > 1 {
            wrong.push(format!("sets instants of different clocks against each other: {clocks:?}"));
        }
    }
    for child in children(expr) {
        check(child, schema, wrong);
    }
}

/// The clocks whose instants the value of `expr` is made of.
fn instants(expr: &Expr, schema: &Schema, found: &mut BTreeSet<Clock>) {
    match expr {
        Expr::Call(call) if ["time", "timestamp"].contains(&call.func.name) => {
            found.insert(Clock::Prometheus);
        }
        // A guard decides whether there is a value, and is no part of it.
        Expr::Binary(b) if ["and", "unless"].contains(&&*b.op.to_string()) => {
            instants(&b.lhs, schema, found);
        }
        other => {
            let name = selector(other).and_then(|s| s.name.as_deref());
            found.extend(name.and_then(|n| clock_of(n, schema)));
            for child in children(other) {
                instants(child, schema, found);
            }
        }
    }
}

fn clock_of(name: &str, schema: &Schema) -> Option<Clock> {
    if !name.ends_with("timestamp_seconds") {
        return None;
    }
    Some(match schema.kind(name) {
        Some(Kind::Recorded) => Clock::Prometheus,
        _ if name.starts_with("dlock_exporter_") => Clock::ExporterHost,
        _ if name.starts_with("dlock_clock_") => Clock::ChronydHost,
        _ if name.starts_with("process_") => Clock::ExporterHost,
        _ => Clock::LockServer,
    })
}
