//! A dashboard file as the tests read it. It must not judge.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::repository;

/// A file of `dashboards/`.
pub struct Board {
    /// The name of the file, without `.json`.
    pub name: String,
    /// What is in it.
    pub json: Value,
    /// As it is written.
    pub text: String,
}

/// A panel that is not a row.
#[derive(Clone, Copy)]
pub struct Panel<'a>(pub &'a Value);

/// A query of a panel.
#[derive(Clone, Copy)]
pub struct Target<'a>(pub &'a Value);

/// Every dashboard, by name.
pub fn all() -> Vec<Board> {
    let files = std::fs::read_dir(repository("dashboards")).expect("there are dashboards");
    let mut boards: Vec<Board> = files
        .map(|file| file.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a dashboard can be read");
            let json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
            Board { name, json, text }
        })
        .collect();
    boards.sort_by(|a, b| a.name.cmp(&b.name));
    boards
}

/// A text in JSON; empty if it is not there.
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A list in JSON; empty if it is not there.
pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

impl Board {
    /// Its panels, rows too.
    pub fn everything(&self) -> &[Value] {
        list(&self.json, "/panels")
    }

    /// Its panels without the rows.
    pub fn panels(&self) -> impl Iterator<Item = Panel<'_>> {
        self.everything().iter().filter(|p| text(p, "/type") != "row").map(Panel)
    }

    /// Its variables.
    pub fn variables(&self) -> &[Value] {
        list(&self.json, "/templating/list")
    }

    /// The name of each variable.
    pub fn variable_names(&self) -> Vec<&str> {
        self.variables().iter().map(|v| text(v, "/name")).collect()
    }
}

impl<'a> Panel<'a> {
    /// Its title.
    pub fn title(self) -> &'a str {
        text(self.0, "/title")
    }

    /// Its queries.
    pub fn targets(self) -> impl Iterator<Item = Target<'a>> {
        list(self.0, "/targets").iter().map(Target)
    }

    /// The addresses of all its links, those in overrides too.
    pub fn links(self) -> Vec<&'a str> {
        let config = self.0.pointer("/fieldConfig").expect("a panel has a fieldConfig");
        let defaults = list(config, "/defaults/links").iter();
        let properties = list(config, "/overrides").iter().flat_map(|o| list(o, "/properties"));
        let overrides =
            properties.filter(|p| text(p, "/id") == "links").flat_map(|p| list(p, "/value"));
        defaults.chain(overrides).map(|link| text(link, "/url")).collect()
    }
}

impl<'a> Target<'a> {
    /// Its PromQL, with Grafana's variables in it.
    pub fn expr(self) -> &'a str {
        text(self.0, "/expr")
    }

    /// The labels that its legend shows.
    pub fn legend_labels(self) -> Vec<&'a str> {
        let parts = text(self.0, "/legendFormat").split("{{").skip(1);
        parts.filter_map(|part| Some(part.split_once("}}")?.0.trim())).collect()
    }
}

/// The labels of series, or columns of a table, that a link needs.
pub fn labels_in(link: &str) -> Vec<&str> {
    let of = |word: &'static str| {
        link.split(word).skip(1).filter_map(|rest| rest.split([':', '}']).next())
    };
    of("${__field.labels.").chain(of("${__data.fields.")).collect()
}

/// The query with these values in it, the longest names first, as Grafana does it.
pub fn filled(expr: &str, values: &BTreeMap<&str, String>) -> String {
    let mut names: Vec<_> = values.iter().collect();
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let mut out = expr.to_owned();
    for (name, value) in names {
        out = out.replace(&format!("${name}"), value);
    }
    assert!(!out.contains("=~\"$") && !out.contains("=\"$"), "a variable is left: {out}");
    out
}
