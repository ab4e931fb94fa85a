//! The faults that a slip of the hand makes in a rule, one at a time.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use promql_parser::parser::token::{
    T_ADD, T_EQLC, T_GTE, T_GTR, T_LAND, T_LOR, T_LSS, T_LTE, T_LUNLESS, T_MAX, T_MIN, T_SUB,
    TokenId, TokenType,
};
use promql_parser::parser::{BinaryExpr, Expr, LabelModifier, ParenExpr};
use serde_json::Value;

use crate::alert_rules::files::Rule;
use crate::promql::{Schema, bare, labels_of, parse};

/// A rule with one fault.
pub struct Change {
    /// What sort of fault.
    pub kind: &'static str,
    /// Where it is.
    detail: String,
    /// The changed rule.
    pub rule: Value,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.detail)
    }
}

/// A query with one fault.
struct Faulty {
    kind: &'static str,
    detail: String,
    expr: Expr,
}

/// All faults of a rule.
pub fn of(rule: Rule<'_>, schema: &Schema) -> Vec<Change> {
    let mut all = Vec::new();
    for kind in ["for", "keep_firing_for"] {
        if let Some(length) = rule.text(kind) {
            let mut changed = rule.content.clone();
            changed.as_object_mut().expect("a rule is a mapping").remove(kind);
            all.push(Change { kind, detail: format!("no {kind}: {length}"), rule: changed });
        }
    }
    let expr = parse(rule.expr()).expect("the lint has read it");
    let again = parse(&expr.to_string()).expect("what was printed can be read");
    assert_eq!(expr, again, "{}: printing a query changes it", rule.title());
    all.extend(faults(&expr, schema).into_iter().map(|faulty| {
        let mut changed = rule.content.clone();
        changed["expr"] = faulty.expr.to_string().into();
        Change { kind: faulty.kind, detail: faulty.detail, rule: changed }
    }));
    all
}

fn faults(expr: &Expr, schema: &Schema) -> Vec<Faulty> {
    let mut all = here(expr, schema);
    // A child's fault, in a copy of what is around it.
    macro_rules! below {
        ($child:expr, $kind:ident, $node:expr, $field:ident) => {
            for faulty in faults($child, schema) {
                let mut node = $node.clone();
                *node.$field = faulty.expr;
                all.push(Faulty { expr: Expr::$kind(node), ..faulty });
            }
        };
    }
    match expr {
        Expr::Aggregate(a) => below!(&a.expr, Aggregate, a, expr),
        Expr::Unary(u) => below!(&u.expr, Unary, u, expr),
        Expr::Paren(p) => below!(&p.expr, Paren, p, expr),
        Expr::Subquery(s) => below!(&s.expr, Subquery, s, expr),
        Expr::Binary(b) => {
            below!(&b.lhs, Binary, b, lhs);
            below!(&b.rhs, Binary, b, rhs);
        }
        Expr::Call(c) => {
            for (i, arg) in c.args.args.iter().enumerate() {
                for faulty in faults(arg, schema) {
                    let mut call = c.clone();
                    *call.args.args[i] = faulty.expr;
                    all.push(Faulty { expr: Expr::Call(call), ..faulty });
                }
            }
        }
        _ => {}
    }
    all
}

/// The faults of one node.
fn here(expr: &Expr, schema: &Schema) -> Vec<Faulty> {
    match expr {
        Expr::Aggregate(a) => {
            let mut all = Vec::new();
            if let Some(LabelModifier::Include(by)) = &a.modifier {
                for i in 0..by.labels.len() {
                    let mut less = a.clone();
                    let mut labels = by.clone();
                    let label = labels.labels.remove(i);
                    less.modifier = Some(LabelModifier::Include(labels));
                    let detail = format!("no {label} in {expr}");
                    all.push(Faulty { kind: "by", detail, expr: Expr::Aggregate(less) });
                }
            }
            // Where each group has one series only, the least of them is the largest.
            let inner = labels_of(&a.expr, schema, &mut Vec::new());
            let by: BTreeSet<String> = match &a.modifier {
                Some(LabelModifier::Include(by)) => by.labels.iter().cloned().collect(),
                _ => BTreeSet::new(),
            };
            for (one, other) in [(T_MAX, T_MIN), (T_MIN, T_MAX)] {
                if a.op.id() == one && !inner.unique_by(&by) {
                    let mut swapped = a.clone();
                    swapped.op = TokenType::new(other);
                    let detail = format!("the other in {expr}");
                    all.push(Faulty {
                        kind: "max and min",
                        detail,
                        expr: Expr::Aggregate(swapped),
                    });
                }
            }
            all
        }
        Expr::Binary(b) => binary(b),
        Expr::VectorSelector(s) => {
            let mut all = Vec::new();
            for (i, matcher) in s.matchers.matchers.iter().enumerate() {
                let mut less = s.clone();
                less.matchers.matchers.remove(i);
                let detail = format!("no {matcher} in {expr}");
                all.push(Faulty { kind: "matcher", detail, expr: Expr::VectorSelector(less) });
            }
            if s.offset.is_some() {
                let mut less = s.clone();
                less.offset = None;
                let detail = format!("none in {expr}");
                all.push(Faulty { kind: "offset", detail, expr: Expr::VectorSelector(less) });
            }
            all
        }
        Expr::MatrixSelector(m) => {
            let mut all = Vec::new();
            for (i, matcher) in m.vs.matchers.matchers.iter().enumerate() {
                let mut less = m.clone();
                less.vs.matchers.matchers.remove(i);
                let detail = format!("no {matcher} in {expr}");
                all.push(Faulty { kind: "matcher", detail, expr: Expr::MatrixSelector(less) });
            }
            for range in [m.range / 5, m.range * 5] {
                let mut other = m.clone();
                // Below two scrapes there is nothing at all, which anything would see.
                other.range = range.max(Duration::from_secs(45));
                let detail = format!("{:?} in {expr}", other.range);
                all.push(Faulty { kind: "range", detail, expr: Expr::MatrixSelector(other) });
            }
            all
        }
        _ => Vec::new(),
    }
}

/// One side alone, where the whole stood.
fn alone(kind: &'static str, detail: String, side: &Expr) -> Faulty {
    Faulty { kind, detail, expr: Expr::Paren(ParenExpr { expr: Box::new(side.clone()) }) }
}

fn binary(b: &BinaryExpr) -> Vec<Faulty> {
    let mut all = Vec::new();
    let with = |change: &dyn Fn(&mut BinaryExpr)| {
        let mut changed = b.clone();
        change(&mut changed);
        Expr::Binary(changed)
    };
    match b.op.id() {
        T_LAND | T_LUNLESS => all.push(alone("guard", format!("no {} {}", b.op, b.rhs), &b.lhs)),
        T_LOR => {
            all.push(alone("branch", format!("without {}", b.rhs), &b.lhs));
            all.push(alone("branch", format!("without {}", b.lhs), &b.rhs));
        }
        _ => {}
    }
    if b.op.is_comparison_operator() {
        all.extend(compared(b));
    } else if let Expr::NumberLiteral(number) = bare(&b.rhs) {
        let mut other = number.clone();
        other.val *= 3.0;
        let expr = with(&|c| *c.rhs = Expr::NumberLiteral(other.clone()));
        all.push(Faulty { kind: "arithmetic", detail: format!("three times {}", b.rhs), expr });
    }
    if b.op.id() == T_SUB {
        let expr = with(&|c| c.op = TokenType::new(T_ADD));
        all.push(Faulty { kind: "arithmetic", detail: format!("plus {}", b.rhs), expr });
    }
    if let Some(modifier) = &b.modifier
        && let Some(LabelModifier::Include(on)) = &modifier.matching
    {
        for i in 0..on.labels.len() {
            let mut labels = on.clone();
            let label = labels.labels.remove(i);
            let expr = with(&|c| {
                if let Some(m) = &mut c.modifier {
                    m.matching = Some(LabelModifier::Include(labels.clone()));
                }
            });
            all.push(Faulty {
                kind: "on",
                detail: format!("no {label} in {} on {}", b.op, b.rhs),
                expr,
            });
        }
    }
    all
}

/// Another threshold, or the comparison the other way round.
fn compared(b: &BinaryExpr) -> Vec<Faulty> {
    let changed = |op: TokenId, value: Option<f64>, detail: String| {
        let mut changed = b.clone();
        changed.op = TokenType::new(op);
        if let (Some(value), Expr::NumberLiteral(number)) = (value, bare(&b.rhs)) {
            let mut number = number.clone();
            number.val = value;
            changed.rhs = Box::new(Expr::NumberLiteral(number));
        }
        Faulty {
            kind: "threshold",
            detail: format!("{detail} for {b}"),
            expr: Expr::Binary(changed),
        }
    };
    let op = b.op.id();
    let turned = match op {
        T_GTR => T_LTE,
        T_LSS => T_GTE,
        T_GTE => T_LSS,
        T_LTE => T_GTR,
        other => other,
    };
    match bare(&b.rhs) {
        Expr::NumberLiteral(n) if op == T_EQLC => {
            let other = if n.val == 0.0 { 1.0 } else { 0.0 };
            vec![changed(op, Some(other), format!("== {other}"))]
        }
        // 0 is where a counter or a share begins: with it included, silence would alert.
        Expr::NumberLiteral(n) if n.val == 0.0 && op == T_GTR => {
            vec![changed(T_GTE, None, ">= 0".into()), changed(op, Some(3.0), "> 3".into())]
        }
        Expr::NumberLiteral(n) => vec![
            changed(op, Some(n.val * 2.0), "twice".into()),
            changed(op, Some(n.val / 2.0), "half".into()),
        ],
        _ => vec![changed(turned, None, "turned".into())],
    }
}
