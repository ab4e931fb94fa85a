//! Collects samples and hands them out as metric families that the encoder cannot fail on: sorted, unique, finite, none
//! empty. It knows no metric; what the numbers mean is up to `families`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};

use super::catalogue::{Family, Kind, Tier};

/// A sheet of samples by family.
#[derive(Default)]
pub struct Sheet {
    families: BTreeMap<&'static str, Column>,
}

struct Column {
    kind: Kind,
    help: &'static str,
    samples: Vec<Metric>,
}

impl Sheet {
    /// Adds a sample; `values` are in the order of the family's labels. A number that is not finite is left out:
    /// missing is honest, NaN is not.
    pub fn add<const N: usize>(&mut self, family: &Family<N>, values: [&str; N], value: f64) {
        if !value.is_finite() {
            return;
        }
        let column = self.families.entry(family.name).or_insert_with(|| Column {
            kind: family.kind,
            help: family.help,
            samples: Vec::new(),
        });
        column.samples.push(sample(family, values, value));
    }

    /// Adds a sample if there is a value.
    pub fn add_some<const N: usize>(
        &mut self,
        family: &Family<N>,
        values: [&str; N],
        value: Option<f64>,
    ) {
        if let Some(value) = value {
            self.add(family, values, value);
        }
    }

    /// The families, sorted by name, samples sorted by label values. Of two samples with the same labels the first
    /// added stays; views are unique, so that this only guards against a mistake.
    pub fn into_families(self) -> Vec<MetricFamily> {
        self.families
            .into_iter()
            .map(|(name, mut column)| {
                // Views are sorted, so that this is close to one pass; equal labels keep their order.
                column.samples.sort_by(by_label_values);
                column.samples.dedup_by(|later, first| by_label_values(later, first).is_eq());
                let mut family = MetricFamily::default();
                family.set_name(name.to_owned());
                family.set_help(column.help.to_owned());
                family.set_field_type(match column.kind {
                    Kind::Gauge => MetricType::GAUGE,
                    Kind::Counter => MetricType::COUNTER,
                });
                family.set_metric(column.samples);
                family
            })
            .collect()
    }
}

/// A sheet seen through a tier: families that a lock or worker does not have are left out in one place.
pub struct Tiered<'a> {
    sheet: &'a mut Sheet,
    full: bool,
}

impl<'a> Tiered<'a> {
    /// `full`: also families of the full tier.
    pub fn new(sheet: &'a mut Sheet, full: bool) -> Self {
        Self { sheet, full }
    }

    /// Whether families of this tier are kept.
    pub fn keeps(&self, tier: Tier) -> bool {
        self.full || tier == Tier::Core
    }

    /// As [`Sheet::add`], if the tier is kept.
    pub fn add<const N: usize>(&mut self, family: &Family<N>, values: [&str; N], value: f64) {
        if self.keeps(family.tier) {
            self.sheet.add(family, values, value);
        }
    }

    /// As [`Sheet::add_some`], if the tier is kept.
    pub fn add_some<const N: usize>(
        &mut self,
        family: &Family<N>,
        values: [&str; N],
        value: Option<f64>,
    ) {
        if let Some(value) = value {
            self.add(family, values, value);
        }
    }
}

/// 1 or 0.
pub fn flag(on: bool) -> f64 {
    if on { 1.0 } else { 0.0 }
}

fn sample<const N: usize>(family: &Family<N>, values: [&str; N], value: f64) -> Metric {
    let mut labels = Vec::with_capacity(N);
    for (name, value) in family.labels.iter().zip(values) {
        let mut label = LabelPair::default();
        label.set_name((*name).to_owned());
        label.set_value(value.to_owned());
        labels.push(label);
    }
    let mut metric = Metric::from_label(labels);
    match family.kind {
        Kind::Gauge => {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
        Kind::Counter => {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        }
    }
    metric
}

fn by_label_values(a: &Metric, b: &Metric) -> Ordering {
    a.get_label().iter().map(LabelPair::value).cmp(b.get_label().iter().map(LabelPair::value))
}
