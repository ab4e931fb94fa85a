//! Lines against the `prometheus` crate's own, and their order against that of the values they are made of.

use prometheus::proto::{Gauge, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Encoder, TextEncoder};
use proptest::prelude::*;

use super::*;
use crate::expose::catalogue::{exporter, lock, store};

fn ours<const N: usize>(family: &Family<N>, values: [&str; N], value: f64) -> String {
    let mut at = At::default();
    let mut out = Vec::new();
    let end = write(&mut out, &at, family, values, value);
    assert_eq!(out.get(..end).unwrap_or_default(), labels(&out), "{values:?}");
    // The same again, as one of several samples of a lock.
    if let [store, lock, ..] = values.as_slice() {
        at.set(store, lock);
    }
    let mut again = Vec::new();
    assert_eq!(write(&mut again, &at, family, values, value), end);
    assert_eq!(again, out);
    String::from_utf8(out).expect("UTF-8")
}

fn theirs<const N: usize>(family: &Family<N>, values: [&str; N], value: f64) -> String {
    let pair = |(name, value): (&&str, &str)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value(value.to_owned());
        pair
    };
    let mut metric = Metric::from_label(family.labels.iter().zip(values).map(pair).collect());
    let mut gauge = Gauge::default();
    gauge.set_value(value);
    metric.set_gauge(gauge);
    let mut told = MetricFamily::default();
    told.set_name(family.name.to_owned());
    told.set_field_type(MetricType::GAUGE);
    told.set_metric(vec![metric]);
    let mut out = Vec::new();
    TextEncoder::new().encode(&[told], &mut out).expect("encoded");
    let text = String::from_utf8(out).expect("UTF-8");
    text.split_once('\n').expect("TYPE and the line").1.to_owned()
}

fn same<const N: usize>(family: &Family<N>, values: [&str; N], value: f64) {
    assert_eq!(ours(family, values, value), theirs(family, values, value));
}

#[test]
fn numbers_are_written_as_the_crate_writes_them() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MIN_POSITIVE, 5e-324];
    let plain =
        [1.0, -1.0, 0.1, -2.5, 1_789_999_907.123_456_7, 1e15, 1e16, -1e15, 999_999_999_999_999.9];
    let steep =
        [1e300, f64::MAX, f64::MIN, 1e-5, 1.5e-7, 9.999e-6, 123e21, 0.3, 2f64.powi(53) + 2.0];
    for value in odd.into_iter().chain(plain).chain(steep) {
        same(&exporter::SNAPSHOT_TIMESTAMP, [], value);
        same(&lock::HELD, ["main", "orders"], value);
    }
}

#[test]
fn hostile_labels_are_written_as_the_crate_writes_them() {
    for text in
        ["", "\\", "\"", "\n", "\\n", "a\\\"\n}{,=", "\u{0}\r\t", "ü\u{2028}\u{1f512}", "\\\\\""]
    {
        same(&lock::HELD, [text, "orders"], 1.0);
        same(&store::INFO, ["main", text, text, "", "\\", text], 1.0);
        same(&lock::INFO, [text, text, text, "", "config"], 1.0);
    }
}

/// Labels of the few characters that matter, so that many begin alike.
fn text() -> impl Strategy<Value = String> {
    let one = prop::sample::select(vec!['\\', '"', '\n', 'n', 'a', '!', '}', '\u{0}', 'ü']);
    prop::collection::vec(one, 0..6).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn any_line_is_as_the_crate_writes_it(a in any::<String>(), b in text(), bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assert_eq!(ours(&lock::HELD, [&a, &b], value), theirs(&lock::HELD, [&a, &b], value));
        // Few of any bits are of the size that times and counts have.
        let near = (bits >> 24) as f64 / 1024.0;
        prop_assert_eq!(ours(&lock::HELD, [&b, &a], near), theirs(&lock::HELD, [&b, &a], near));
    }

    #[test]
    fn lines_have_the_order_of_their_values(a in text(), b in text(), c in text(), d in text()) {
        let line = |x: &str, y: &str, value| ours(&lock::HELD, [x, y], value).into_bytes();
        let (first, second) = (line(&a, &b, 1.5), line(&c, &d, 2.0));
        let order = compare(labels(&first), labels(&second));
        prop_assert_eq!(order, (&a, &b).cmp(&(&c, &d)));
    }
}
