//! Arbitrary input: a configuration or mistakes, never a panic, and never a line break inside a mistake.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::config::schema::{Kind, SECTIONS};

fn key() -> impl Strategy<Value = String> {
    let mut names: Vec<&str> = SECTIONS.iter().flat_map(|s| s.keys).map(|k| k.name).collect();
    names.extend(["main", "orders", "sentinel", "leese"]);
    prop_oneof![9 => prop::sample::select(names).prop_map(str::to_owned), 1 => any::<String>()]
}

fn scalar() -> impl Strategy<Value = Value> {
    let words = [
        "",
        "30s",
        "0s",
        "2",
        "redis://h:1/0",
        "redis://a:b@c",
        "redis+unix://",
        "rediss://[::1]",
        "http://{worker}/",
        "{0}",
        "{",
        "{1}",
        "{x}",
        "(",
        "(?P<worker>a)",
        "(?P<w>.{1000}){1000}",
        "/",
        "/a~",
        "a{b=\"",
        "auto",
        "full",
        "main",
        "sentinel",
        "/proc",
        "[",
        "h:1",
        ":",
        "]",
        "\u{0}",
        "ä{ö}",
    ];
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        6 => prop::sample::select(words.to_vec()).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => vec((key(), inner), 0..8).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Values that have the shape of the schema, so that the readers are reached and not only the first check.
fn shaped(kind: Kind) -> BoxedStrategy<Value> {
    let table = |section: &'static crate::config::schema::Section| {
        let keys: Vec<_> = section
            .keys
            .iter()
            .map(|k| prop::option::weighted(0.4, shaped(k.kind)).prop_map(|v| (k.name, v)))
            .collect();
        keys.prop_map(|entries| {
            let some = entries.into_iter().filter_map(|(k, v)| Some((k.to_owned(), v?)));
            Value::Object(some.collect::<Map<_, _>>())
        })
    };
    match kind {
        Kind::Table(section) => table(section).boxed(),
        Kind::Map(section) => {
            prop::option::of(table(section)).prop_map(|t| json!({ "main": t })).boxed()
        }
        Kind::List(section) => vec(table(section), 0..3).prop_map(Value::from).boxed(),
        Kind::Texts => vec(scalar(), 0..3).prop_map(Value::from).boxed(),
        _ => scalar().boxed(),
    }
}

fn variables() -> impl Strategy<Value = Vec<(String, String)>> {
    let part = prop_oneof![3 => key(), 1 => any::<u16>().prop_map(|n| n.to_string())];
    let name = (any::<bool>(), vec(part, 0..6)).prop_map(|(right, parts)| {
        format!("{}{}", if right { "DLOCK__" } else { "DLOCK_" }, parts.join("__"))
    });
    vec((name, any::<String>()), 0..4)
}

fn harmless(result: Result<Config, Mistakes>) {
    if let Err(mistakes) = result {
        assert!(mistakes.count() > 0);
        assert_eq!(mistakes.to_string().lines().count(), mistakes.count(), "{mistakes:?}");
    }
}

fn load_with(text: &str, env: Vec<(String, String)>) -> Result<Config, Mistakes> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    load(&Input { file: Some(file.path().into()), env, ..Input::default() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_value_is_read(value in anything(), env in variables()) {
        harmless(load_with(&value.to_string(), env));
    }

    #[test]
    fn any_value_of_the_right_shape_is_read(value in shaped(Kind::Table(&crate::config::schema::TOP)), env in variables()) {
        harmless(load_with(&value.to_string(), env));
    }

    #[test]
    fn any_text_is_read(text in "[-a-z{}\\[\\]:,&*!|>'\"%@`#? \n\t]{0,80}|\\PC{0,40}") {
        harmless(load_with(&text, Vec::new()));
    }

    #[test]
    fn a_password_in_any_wrong_place_is_not_told(section in 0..6_usize) {
        let secret = "correct-horse";
        let text = match section {
            0 => format!("stores: {{main: {{url: 'redis://:{secret}@h'}}}}"),
            1 => format!("stores: {{main: {{url: redis://h, password: {secret}}}}}"),
            2 => format!("stores: {{main: {{url: redis://h, pasword: {secret}}}}}"),
            3 => format!("stores: {{main: {{url: 'redis://h?password={secret}'}}}}"),
            4 => format!("stores: {{main: {{url: redis://h, password: {{{{{secret}}}}}}}}}"),
            _ => format!("workers: {{a: {{names: [a], heartbeat: {{http: {{url: 'http://u:{secret}@h/'}}}}}}}}"),
        };
        let said = text_of(load_with(&text, Vec::new()));
        prop_assert!(!said.contains("horse"), "{}", said);
    }
}
