//! Any bytes of any type under any key: no panic, bounds, no claim on what is no owner.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::format::fuzzing::check;
use crate::observe::lock::Shape;

/// Keys that formats look for, and others.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let known = "(bull:|\\{bull\\}:|lock:|redlock:|mutex:|semaphore:|uniquejobs:|unique:|job-lock:|rueidislock:0:|\
                 redisson_lock_queue:|x-cache-laravel_unique_job:|framework/schedule-|trigger_lock:|redbeat::)?\
                 [a-f0-9:{}]{0,12}(:lock|:LOCKED|:timeout|\\}:timeout|\\.writer|\\.readers|JobLock|lock)?";
    prop_oneof![known.prop_map(String::into_bytes), vec(any::<u8>(), 0..40)]
}

/// Pieces of which libraries make their values, and others.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let known = prop_oneof![
        "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}([:_-][0-9]{0,20}(:write)?)?",
        "[0-9a-f]{12}1[0-9a-f]{3}[89ab][0-9a-f]{15}",
        "[A-Za-z0-9+/]{22}(==|[AQgw].{0,9})?",
        "[A-Za-z0-9+/]{24}",
        "[A-Za-z0-9+/]{43}=",
        "ADDED:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z@.{0,9}",
        "[a-zA-Z_.]{0,9}_[0-9]{0,20}_[0-9a-f]{32}(_WRITERWAITING)?",
        "[0-9]{0,25}",
        "\\{\"(holder|time|limit)\": ?(\"[a-f0-9-]{0,36}\"|[0-9.e-]{1,30}|null)(,\"resources\":\\[\\])?\\}?",
        Just("mode".to_owned()),
        Just("read".to_owned()),
        Just("__write__".to_owned()),
    ];
    prop_oneof![3 => known.prop_map(String::into_bytes), 1 => vec(any::<u8>(), 0..48)]
}

/// No format or any of them, no pointer or one, no lease or any.
fn rules() -> impl Strategy<Value = LockRules> {
    let name = proptest::option::of(0..REGISTRY.len());
    (name, proptest::bool::weighted(0.1), proptest::option::of(any::<Duration>())).prop_map(
        |(n, pointed, lease)| LockRules {
            format: n.map(|n| REGISTRY[n].name.to_owned()),
            owner_json: pointed.then(|| "/holder".to_owned()),
            lease,
            ..LockRules::default()
        },
    )
}

/// The members with each once, as a server has them.
fn distinct<T: Copy>(members: &[(Vec<u8>, T)]) -> Vec<(&[u8], T)> {
    let map: std::collections::BTreeMap<&[u8], T> =
        members.iter().map(|(m, t)| (m.as_slice(), *t)).collect();
    map.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn any_string(key in key(), value in value(), more in 0usize..3, rules in rules()) {
        check(&key, Raw::String { bytes: &value, full_len: value.len() + more }, &rules);
    }

    #[test]
    fn any_members(key in key(), members in vec((value(), (value(), any::<f64>())), 0..6), rules in rules()) {
        let scored: Vec<(Vec<u8>, f64)> = members.iter().map(|(m, (_, s))| (m.clone(), *s)).collect();
        check(&key, Raw::Zset(&distinct(&scored)), &rules);
        let names: Vec<(Vec<u8>, ())> = members.iter().map(|(m, _)| (m.clone(), ())).collect();
        let names: Vec<&[u8]> = distinct(&names).into_iter().map(|(m, ())| m).collect();
        check(&key, Raw::Set(&names), &rules);
        let fields: Vec<(Vec<u8>, usize)> = members.iter().enumerate().map(|(i, (m, _))| (m.clone(), i)).collect();
        let fields: Vec<(&[u8], &[u8])> =
            distinct(&fields).into_iter().map(|(m, i)| (m, members[i].1.0.as_slice())).collect();
        check(&key, Raw::Hash(&fields), &rules);
    }

    #[test]
    fn a_number_is_never_an_owner(key in key(), i: i64, f in proptest::num::f64::NORMAL, n in 0..REGISTRY.len()) {
        // Declared, a string may be anything, and a lock with the time inside is one of the cases above.
        let name = REGISTRY[n].name;
        let rules = [auto(), if name == "string" { auto() } else { declared(name) }];
        for (v, rules) in [i.to_string(), f.to_string()].iter().zip([&rules[0], &rules[1]]) {
            let d = decode(&key, Raw::String { bytes: v.as_bytes(), full_len: v.len() }, rules, NOW);
            prop_assert_eq!((d.shape, d.holders.len()), (Shape::Number, 0), "{}", v);
        }
    }

    #[test]
    fn json_that_nobody_declared_is_no_owner(key in key(), a in "[a-z]{1,8}", b in "[a-z0-9-]{0,36}") {
        let value = format!(r#"{{"{a}": "{b}", "holder": "{b}"}}"#);
        let d = decode(&key, Raw::String { bytes: value.as_bytes(), full_len: value.len() }, &auto(), NOW);
        prop_assert_eq!(d.holders.len(), usize::from(d.format.starts_with("laravel-") && d.shape != Shape::Json));
    }

    #[test]
    fn a_redisson_field_round_trips(uuid in "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", thread: u32, n in 1u64..) {
        let field = format!("{uuid}:{thread}");
        let d = hash("k", &[(&field, &n.to_string())], &auto());
        prop_assert_eq!(d.holders[0].owner.token.bytes(), field.as_bytes());
        prop_assert_eq!(d.holders[0].count, n);
    }
}

/// A declared format on what is not of it gives nobody, under the declared name, so that its shape can be called wrong.
#[test]
fn a_declared_format_on_a_strange_value_has_nobody() {
    for format in REGISTRY {
        let rules = declared(format.name);
        let odd: Vec<&[u8]> = vec![b"a", b"\xff", b"", b"17", b"{}", b"[[[[", b"mode"];
        for value in odd {
            // Some take any text for an owner, by their own rules.
            let takes_text = ["string", "python-redis-lock", "laravel"]
                .iter()
                .any(|n| format.name == *n || format.name.starts_with("laravel"));
            let raws = [
                Raw::String { bytes: value, full_len: value.len() },
                Raw::String { bytes: value, full_len: 1 << 20 },
                Raw::Hash(&[(value, value)]),
                Raw::Zset(&[(value, 1.0)]),
                Raw::Set(&[value]),
                Raw::Unread(Shape::List),
            ];
            for raw in raws {
                let d = decode(b"k", raw, &rules, NOW);
                assert_eq!(d.format, format.name);
                let is_text = matches!(raw, Raw::String { .. }) && takes_text;
                assert!(is_text || d.holders.is_empty(), "{} {value:?}", format.name);
            }
        }
    }
}

#[test]
fn unread_types_have_a_shape_and_nobody() {
    let d = decode(b"k", Raw::Unread(Shape::List), &auto(), NOW);
    assert_eq!((d.shape, d.format, d.holders.len()), (Shape::List, "unknown", 0));
}

#[test]
fn what_has_too_many_members_is_not_looked_at() {
    let fields: Vec<String> = (0..=MAX_HOLDERS).map(|i| format!("{OTHER}:{i}")).collect();
    let all: Vec<(&str, &str)> = fields.iter().map(|f| (f.as_str(), "1")).collect();
    assert_eq!(hash("k", &all, &auto()).holders.len(), 0);
    assert_eq!(hash("k", &all[1..], &auto()).holders.len(), MAX_HOLDERS);
    assert_eq!(hash("k", &all, &auto()).shape, Shape::Hash);
}
