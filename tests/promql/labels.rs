//! Which labels the result of a query can have, found without running it, and every label that is named and cannot be
//! there. Joins are held to what can never fail with many-to-many: the one side has no label beyond those of `on`.

use std::collections::BTreeSet;

use promql_parser::label::MatchOp;
use promql_parser::parser::token::{T_BOTTOMK, T_COUNT_VALUES, T_LOR, T_TOPK};
use promql_parser::parser::value::ValueType;
use promql_parser::parser::{
    AggregateExpr, BinaryExpr, Call, Expr, LabelModifier, VectorMatchCardinality, VectorSelector,
};

use super::{Schema, bare};

/// The labels of a vector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSet {
    /// Any series may have these.
    pub may: BTreeSet<String>,
    /// Every series has these.
    pub must: BTreeSet<String>,
    /// And there may be others, which the scrape configuration adds.
    pub open: bool,
}

fn set(labels: &[String]) -> BTreeSet<String> {
    labels.iter().cloned().collect()
}

fn listed(labels: &BTreeSet<String>) -> String {
    labels.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

impl LabelSet {
    /// Of a scraped metric: its own labels and the target's.
    pub fn scraped(own: &[&str]) -> Self {
        let all: BTreeSet<String> =
            own.iter().chain(&["instance", "job"]).map(|l| (*l).to_owned()).collect();
        Self { may: all.clone(), must: all, open: true }
    }

    /// Exactly these.
    fn exactly(labels: BTreeSet<String>) -> Self {
        Self { may: labels.clone(), must: labels, open: false }
    }

    fn only(&self, labels: &BTreeSet<String>) -> Self {
        let keep = |of: &BTreeSet<String>| of.intersection(labels).cloned().collect();
        Self { may: keep(&self.may), must: keep(&self.must), open: false }
    }

    fn less(&self, labels: &BTreeSet<String>) -> Self {
        let keep = |of: &BTreeSet<String>| of.difference(labels).cloned().collect();
        Self { may: keep(&self.may), must: keep(&self.must), open: self.open }
    }

    fn with(&self, labels: &BTreeSet<String>) -> Self {
        let add = |of: &BTreeSet<String>| of.union(labels).cloned().collect();
        Self { may: add(&self.may), must: add(&self.must), open: self.open }
    }

    /// Whether no two series can agree in all of `labels`. What a scrape adds goes by its job and instance.
    pub fn unique_by(&self, labels: &BTreeSet<String>) -> bool {
        let target = ["instance", "job"].iter().all(|l| labels.contains(*l));
        (!self.open || target) && self.may.is_subset(labels)
    }
}

/// The labels of the result of `expr`; what cannot be right is added to `wrong`.
pub fn labels_of(expr: &Expr, schema: &Schema, wrong: &mut Vec<String>) -> LabelSet {
    match expr {
        Expr::VectorSelector(s) => selected(s, schema, wrong),
        Expr::MatrixSelector(m) => selected(&m.vs, schema, wrong),
        Expr::Paren(p) => labels_of(&p.expr, schema, wrong),
        Expr::Unary(u) => labels_of(&u.expr, schema, wrong),
        Expr::Subquery(s) => labels_of(&s.expr, schema, wrong),
        Expr::Aggregate(a) => aggregated(a, schema, wrong),
        Expr::Binary(b) => combined(b, schema, wrong),
        Expr::Call(c) => called(c, schema, wrong),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => LabelSet::default(),
    }
}

fn selected(selector: &VectorSelector, schema: &Schema, wrong: &mut Vec<String>) -> LabelSet {
    let Some(name) = selector.name.as_deref() else {
        wrong.push(format!("a selector without a metric name: {selector}"));
        return LabelSet { open: true, ..LabelSet::default() };
    };
    let Some(labels) = schema.labels(name) else {
        wrong.push(format!("there is no metric {name}"));
        return LabelSet { open: true, ..LabelSet::default() };
    };
    for matcher in &selector.matchers.matchers {
        if !labels.may.contains(&matcher.name) {
            wrong.push(format!("{name} has no label {}", matcher.name));
        }
        let values: Vec<&str> = match matcher.op {
            MatchOp::Equal | MatchOp::NotEqual => vec![&matcher.value],
            MatchOp::Re(_) | MatchOp::NotRe(_) => matcher.value.split('|').collect(),
        };
        let plain = |v: &&str| v.chars().all(|c| c.is_alphanumeric() || c == '_');
        for value in values.into_iter().filter(plain) {
            if !schema.can_be(name, &matcher.name, value) {
                wrong.push(format!("the label {} of {name} is never {value:?}", matcher.name));
            }
        }
    }
    labels.clone()
}

fn aggregated(aggregate: &AggregateExpr, schema: &Schema, wrong: &mut Vec<String>) -> LabelSet {
    let inner = labels_of(&aggregate.expr, schema, wrong);
    if [T_TOPK, T_BOTTOMK].contains(&aggregate.op.id()) {
        return inner;
    }
    let kept = match &aggregate.modifier {
        None => LabelSet::default(),
        Some(LabelModifier::Include(by)) => {
            let by = set(&by.labels);
            missing("by", &by, &inner, wrong);
            inner.only(&by)
        }
        Some(LabelModifier::Exclude(without)) => {
            let without = set(&without.labels);
            let strange = without.difference(&inner.may).cloned().collect::<BTreeSet<_>>();
            if !strange.is_empty() && !inner.open {
                wrong.push(format!("without ({}) drops what is not there", listed(&strange)));
            }
            inner.less(&without)
        }
    };
    match aggregate.param.as_deref().map(bare) {
        Some(Expr::StringLiteral(label)) if aggregate.op.id() == T_COUNT_VALUES => {
            kept.with(&[label.val.clone()].into())
        }
        _ => kept,
    }
}

/// Says which of `wanted` some series do not have.
fn missing(word: &str, wanted: &BTreeSet<String>, of: &LabelSet, wrong: &mut Vec<String>) {
    let not_there: BTreeSet<_> = wanted.difference(&of.must).cloned().collect();
    if !not_there.is_empty() {
        wrong.push(format!("{word} ({}): not every series has that label", listed(&not_there)));
    }
}

fn called(call: &Call, schema: &Schema, wrong: &mut Vec<String>) -> LabelSet {
    let args: Vec<&Expr> = call.args.args.iter().map(|a| bare(a)).collect();
    let mut of_args: Vec<LabelSet> = args.iter().map(|a| labels_of(a, schema, wrong)).collect();
    let text = |i: usize| match args.get(i) {
        Some(Expr::StringLiteral(s)) => s.val.clone(),
        _ => String::new(),
    };
    match call.func.name {
        "time" | "vector" | "scalar" | "pi" => LabelSet::default(),
        // Only what the selector says with `=` is left of what is not there.
        "absent" | "absent_over_time" => {
            let equal = args.first().and_then(|a| super::selector(a)).map(|s| &s.matchers.matchers);
            let names = equal.into_iter().flatten().filter(|m| m.op == MatchOp::Equal);
            LabelSet::exactly(names.map(|m| m.name.clone()).collect())
        }
        "label_replace" | "label_join" => of_args.swap_remove(0).with(&[text(1)].into()),
        _ => {
            let vector =
                |a: &&Expr| matches!(a.value_type(), ValueType::Vector | ValueType::Matrix);
            args.iter().position(vector).map(|i| of_args.swap_remove(i)).unwrap_or_default()
        }
    }
}

fn combined(binary: &BinaryExpr, schema: &Schema, wrong: &mut Vec<String>) -> LabelSet {
    let lhs = labels_of(&binary.lhs, schema, wrong);
    let rhs = labels_of(&binary.rhs, schema, wrong);
    match (binary.lhs.value_type(), binary.rhs.value_type()) {
        (ValueType::Vector, ValueType::Vector) => {}
        (ValueType::Vector, _) => return lhs,
        (_, ValueType::Vector) => return rhs,
        _ => return LabelSet::default(),
    }
    let on = match binary.modifier.as_ref().and_then(|m| m.matching.as_ref()) {
        Some(LabelModifier::Include(on)) => {
            let on = set(&on.labels);
            missing("on", &on, &lhs, wrong);
            missing("on", &on, &rhs, wrong);
            Some(on)
        }
        Some(LabelModifier::Exclude(labels)) if !labels.is_empty() => {
            wrong.push(format!("ignoring ({labels}): say on, which names what must agree"));
            None
        }
        _ => None,
    };
    if binary.op.is_set_operator() {
        return of_sets(binary.op.id() == T_LOR, on.as_ref(), lhs, &rhs, wrong);
    }
    let card = binary.modifier.as_ref().map_or(&VectorMatchCardinality::OneToOne, |m| &m.card);
    let (many, one, more) = match card {
        VectorMatchCardinality::ManyToOne(more) => (lhs, rhs, set(&more.labels)),
        VectorMatchCardinality::OneToMany(more) => (rhs, lhs, set(&more.labels)),
        _ => return one_to_one(on, lhs, &rhs, wrong),
    };
    missing("group", &more, &one, wrong);
    let on = on.unwrap_or_default();
    if !one.unique_by(&on) {
        wrong.push(format!(
            "many-to-many: the one side of group has ({}){} and not only on ({})",
            listed(&one.may),
            if one.open { " and what the scrape adds" } else { "" },
            listed(&on)
        ));
    }
    many.with(&more)
}

/// `and`, `unless` and `or`.
fn of_sets(
    is_or: bool,
    on: Option<&BTreeSet<String>>,
    lhs: LabelSet,
    rhs: &LabelSet,
    wrong: &mut Vec<String>,
) -> LabelSet {
    if is_or {
        return LabelSet {
            may: lhs.may.union(&rhs.may).cloned().collect(),
            must: lhs.must.intersection(&rhs.must).cloned().collect(),
            open: lhs.open || rhs.open,
        };
    }
    if on.is_none() {
        same(&lhs, rhs, wrong);
    }
    lhs
}

fn one_to_one(
    on: Option<BTreeSet<String>>,
    lhs: LabelSet,
    rhs: &LabelSet,
    wrong: &mut Vec<String>,
) -> LabelSet {
    let Some(on) = on else {
        same(&lhs, rhs, wrong);
        return lhs;
    };
    for side in [&lhs, rhs] {
        if !side.unique_by(&on) {
            wrong.push(format!(
                "many-to-many: a side has ({}) and is joined on ({})",
                listed(&side.may),
                listed(&on)
            ));
        }
    }
    lhs.only(&on)
}

/// Without `on`, all labels must agree.
fn same(lhs: &LabelSet, rhs: &LabelSet, wrong: &mut Vec<String>) {
    if (&lhs.may, lhs.open) != (&rhs.may, rhs.open) {
        wrong.push(format!(
            "nothing can match: one side has ({}), the other ({}), and there is no on",
            listed(&lhs.may),
            listed(&rhs.may)
        ));
    }
}
