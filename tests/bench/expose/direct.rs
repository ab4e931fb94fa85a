//! The same samples written straight: by a loop over names, labels and numbers that lie ready, and by the encoder of the
//! `prometheus` crate. What a rendering is compared with.

use std::io::Write;

use prometheus::proto::{Gauge, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Encoder, TextEncoder};

/// A family with its samples.
pub struct Family {
    head: String,
    name: String,
    samples: Vec<Sample>,
}

struct Sample {
    labels: Vec<(String, String)>,
    value: f64,
}

/// Takes a text apart. It has no escaped quotes, as its names are plain.
pub fn parse(text: &str) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for line in text.lines() {
        if line.starts_with("# HELP ") {
            let name = line.split(' ').nth(2).unwrap().to_owned();
            families.push(Family { head: format!("{line}\n"), name, samples: Vec::new() });
            continue;
        }
        let family = families.last_mut().unwrap();
        if line.starts_with('#') {
            family.head += &format!("{line}\n");
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let labels = series.split_once('{').map_or("", |(_, rest)| rest.trim_end_matches("\"}"));
        let pair = |pair: &str| {
            let (name, value) = pair.split_once("=\"").unwrap();
            (name.to_owned(), value.to_owned())
        };
        let labels = labels.split("\",").filter(|l| !l.is_empty()).map(pair).collect();
        family.samples.push(Sample { labels, value: value.parse().unwrap() });
    }
    families
}

pub fn samples(families: &[Family]) -> usize {
    families.iter().map(|f| f.samples.len()).sum()
}

/// What one would write by hand.
pub fn write(families: &[Family]) -> Vec<u8> {
    let mut out = Vec::new();
    for family in families {
        out.extend_from_slice(family.head.as_bytes());
        for sample in &family.samples {
            out.extend_from_slice(family.name.as_bytes());
            let mut before = b'{';
            for (name, value) in &sample.labels {
                out.push(before);
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b"=\"");
                for b in value.bytes() {
                    match b {
                        b'\\' => out.extend_from_slice(b"\\\\"),
                        b'"' => out.extend_from_slice(b"\\\""),
                        b'\n' => out.extend_from_slice(b"\\n"),
                        b => out.push(b),
                    }
                }
                out.push(b'"');
                before = b',';
            }
            if !sample.labels.is_empty() {
                out.push(b'}');
            }
            out.push(b' ');
            write!(out, "{}", sample.value).unwrap();
            out.push(b'\n');
        }
    }
    out
}

/// What the crate is given.
pub fn protos(families: &[Family]) -> Vec<MetricFamily> {
    let metric = |sample: &Sample| {
        let pair = |(name, value): &(String, String)| {
            let mut pair = LabelPair::default();
            pair.set_name(name.clone());
            pair.set_value(value.clone());
            pair
        };
        let mut metric = Metric::from_label(sample.labels.iter().map(pair).collect());
        let mut gauge = Gauge::default();
        gauge.set_value(sample.value);
        metric.set_gauge(gauge);
        metric
    };
    let family = |family: &Family| {
        let mut proto = MetricFamily::default();
        proto.set_name(family.name.clone());
        proto.set_field_type(MetricType::GAUGE);
        proto.set_metric(family.samples.iter().map(metric).collect());
        proto
    };
    families.iter().map(family).collect()
}

pub fn encode(protos: &[MetricFamily]) -> Vec<u8> {
    let mut out = Vec::new();
    TextEncoder::new().encode(protos, &mut out).unwrap();
    out
}
