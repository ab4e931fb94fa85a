//! PromQL as the tests of alerts and dashboards read it: parsing, walking, and which labels a result can have. It knows
//! the families of the catalogue and nothing of what is good style.

mod labels;
mod schema;

use promql_parser::parser::{Expr, VectorSelector, parse as parse_promql};

pub use labels::{LabelSet, labels_of};
pub use schema::{Kind, Schema};

/// The tree of a query.
pub fn parse(text: &str) -> Result<Expr, String> {
    parse_promql(text).map_err(|why| format!("not PromQL: {why}: {text}"))
}

/// What stands directly below a node.
pub fn children(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Aggregate(a) => {
            a.param.as_deref().into_iter().chain([a.expr.as_ref()]).collect::<Vec<_>>()
        }
        Expr::Unary(u) => vec![&u.expr],
        Expr::Binary(b) => vec![&b.lhs, &b.rhs],
        Expr::Paren(p) => vec![&p.expr],
        Expr::Subquery(s) => vec![&s.expr],
        Expr::Call(c) => c.args.args.iter().map(AsRef::as_ref).collect(),
        Expr::NumberLiteral(_)
        | Expr::StringLiteral(_)
        | Expr::VectorSelector(_)
        | Expr::MatrixSelector(_)
        | Expr::Extension(_) => Vec::new(),
    }
}

/// Visits every node, parents first, each with the nodes above it from the root down.
pub fn visit<'a>(expr: &'a Expr, seen: &mut dyn FnMut(&'a Expr, &[&'a Expr])) {
    fn below<'a>(
        expr: &'a Expr,
        above: &mut Vec<&'a Expr>,
        seen: &mut dyn FnMut(&'a Expr, &[&'a Expr]),
    ) {
        seen(expr, above);
        above.push(expr);
        for child in children(expr) {
            below(child, above, seen);
        }
        above.pop();
    }
    below(expr, &mut Vec::new(), seen);
}

/// The selector of a node that selects series, whether at an instant or over a range.
pub fn selector(expr: &Expr) -> Option<&VectorSelector> {
    match expr {
        Expr::VectorSelector(selector) => Some(selector),
        Expr::MatrixSelector(range) => Some(&range.vs),
        _ => None,
    }
}

/// All selectors of a query.
pub fn selectors(expr: &Expr) -> Vec<&VectorSelector> {
    let mut found = Vec::new();
    visit(expr, &mut |node, _| found.extend(selector(node)));
    found
}

/// The metric names that a query reads.
pub fn metrics(expr: &Expr) -> impl Iterator<Item = &str> {
    selectors(expr).into_iter().filter_map(|s| s.name.as_deref())
}

/// A node without the parentheses around it.
pub fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(p) => bare(&p.expr),
        other => other,
    }
}
