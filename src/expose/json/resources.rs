//! What sources tell of a lock as the API shows it: fencing tokens and side effects.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::view::{FencingView, ToldView};

#[derive(Debug, Serialize)]
pub(super) struct Fencing<'a> {
    issued: Option<u64>,
    accepted: BTreeMap<&'a str, Option<u64>>,
    regressions: BTreeMap<&'a str, u64>,
    rejections: BTreeMap<&'a str, u64>,
    regressed: Option<Regressed<'a>>,
}

#[derive(Debug, Serialize)]
struct Regressed<'a> {
    resource: &'a str,
    age_seconds: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Effects<'a> {
    resource: &'a str,
    total: u64,
    duplicates: Option<u64>,
    duplicated_age_seconds: Option<f64>,
}

pub(super) fn describe_fencing(told: &ToldView, fresh: bool) -> Option<Fencing<'_>> {
    let FencingView { issued, accepted, regressions, rejections, fell } = told.fencing.as_ref()?;
    Some(Fencing {
        issued: issued.filter(|_| fresh),
        accepted: accepted.iter().map(|(r, token)| (&**r, token.filter(|_| fresh))).collect(),
        regressions: regressions.iter().map(|(r, n)| (&**r, *n)).collect(),
        rejections: rejections.iter().map(|(r, n)| (&**r, *n)).collect(),
        regressed: fell.as_ref().map(|(resource, age)| Regressed { resource, age_seconds: *age }),
    })
}

pub(super) fn describe_effects(told: &ToldView) -> Vec<Effects<'_>> {
    let each = told.effects.iter();
    each.map(|e| Effects {
        resource: &e.resource,
        total: e.total,
        duplicates: e.duplicates,
        duplicated_age_seconds: e.duplicated_seconds,
    })
    .collect()
}
