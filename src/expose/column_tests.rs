//! Lines that come in any order, and twice.

use proptest::prelude::*;

use super::*;
use crate::expose::catalogue::lock;

fn written(of: &[(String, f64)]) -> String {
    let mut column = Column::default();
    of.iter()
        .for_each(|(name, value)| column.add(&At::default(), &lock::HELD, ["main", name], *value));
    let text = String::from_utf8(column.into_text()).expect("UTF-8");
    text.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect()
}

fn expected(of: &[(String, f64)]) -> String {
    let mut by_name: std::collections::BTreeMap<&str, f64> = std::collections::BTreeMap::new();
    for (name, value) in of {
        by_name.entry(name).or_insert(*value);
    }
    let line =
        |(name, value)| format!("dlock_lock_held{{store=\"main\",lock=\"{name}\"}} {value}\n");
    by_name.into_iter().map(line).collect()
}

#[test]
fn lines_that_come_backwards_are_sorted_too() {
    let of: Vec<(String, f64)> =
        (0..500).rev().map(|n| (format!("{n:04}"), f64::from(n))).collect();
    assert_eq!(written(&of), expected(&of));
}

proptest! {
    #[test]
    fn lines_are_sorted_and_the_first_of_two_stays(
        of in prop::collection::vec(("[a-c]{0,3}", -5.0..5.0), 0..60)
    ) {
        prop_assert_eq!(written(&of), expected(&of));
    }
}
