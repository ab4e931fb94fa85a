//! The rule files and their unit tests, read as YAML with the merges resolved. A file is kept as JSON, which is YAML too, so
//! that a changed one can be written back; nothing is judged here.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use yaml_rust2::{Yaml, YamlLoader};

use crate::support::repository;

/// A rule file.
#[derive(Clone)]
pub struct RuleFile {
    /// Its name without the directory.
    pub name: String,
    /// All of it.
    pub content: Value,
}

/// One alerting or recording rule.
#[derive(Clone, Copy)]
pub struct Rule<'a> {
    /// The file's name.
    pub file: &'a str,
    /// The group's name.
    pub group: &'a str,
    /// The rule itself.
    pub content: &'a Value,
}

impl<'a> Rule<'a> {
    /// The name, of an alert or of what is recorded.
    pub fn name(&self) -> &'a str {
        self.text("alert").or(self.text("record")).unwrap_or_default()
    }

    /// Whether it alerts.
    pub fn is_alert(&self) -> bool {
        self.text("alert").is_some()
    }

    /// A key's text.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.content[key].as_str()
    }

    /// The query.
    pub fn expr(&self) -> &'a str {
        self.text("expr").unwrap_or_default()
    }

    /// The severity; empty when there is none.
    pub fn severity(&self) -> &'a str {
        self.content["labels"]["severity"].as_str().unwrap_or_default()
    }

    /// The pairs of `labels` or `annotations`.
    pub fn pairs(&self, key: &str) -> Vec<(&'a str, &'a str)> {
        let map = self.content[key].as_object();
        map.into_iter()
            .flatten()
            .map(|(k, v)| (k.as_str(), v.as_str().unwrap_or_default()))
            .collect()
    }

    /// An annotation; empty when there is none.
    pub fn annotation(&self, key: &str) -> &'a str {
        self.content["annotations"][key].as_str().unwrap_or_default()
    }

    /// How the rule is called in complaints.
    pub fn title(&self) -> String {
        match self.severity() {
            "" => format!("{}: {}", self.file, self.name()),
            severity => format!("{}: {} ({severity})", self.file, self.name()),
        }
    }
}

impl RuleFile {
    /// Reads one from text.
    pub fn parse(name: &str, text: &str) -> Self {
        Self { name: name.into(), content: yaml(name, text) }
    }

    /// All rules, in order.
    pub fn rules(&self) -> Vec<Rule<'_>> {
        let mut found = Vec::new();
        for group in list(&self.content["groups"]) {
            let name = group["name"].as_str().unwrap_or_default();
            let rules = list(&group["rules"]).iter();
            found.extend(rules.map(|content| Rule { file: &self.name, group: name, content }));
        }
        found
    }

    /// The file with one rule, counted over all groups, replaced.
    pub fn with_rule(&self, index: usize, rule: &Value) -> Self {
        let mut changed = self.clone();
        let groups = changed.content["groups"].as_array_mut().expect("groups");
        let all = groups.iter_mut().filter_map(|g| g["rules"].as_array_mut()).flatten();
        *all.into_iter().nth(index).expect("that many rules") = rule.clone();
        changed
    }
}

/// The list that a value is; empty when it is none.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The shipped rule files, the recording rules first.
pub fn shipped() -> Vec<RuleFile> {
    let mut files: Vec<RuleFile> = yaml_files("alerts")
        .iter()
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy();
            RuleFile::parse(&name, &read(path))
        })
        .collect();
    files.sort_by_key(|f| (f.name != "recording.yml", f.name.clone()));
    assert!(files.len() > 1 && files[0].name == "recording.yml", "where are the rules?");
    files
}

/// All rules of some files.
pub fn rules(files: &[RuleFile]) -> Vec<Rule<'_>> {
    files.iter().flat_map(RuleFile::rules).collect()
}

/// The YAML files of a directory of this repository, sorted.
pub fn yaml_files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository(directory)).expect("the directory is there");
    let paths = entries.map(|e| e.expect("an entry").path());
    let mut found: Vec<_> = paths.filter(|p| p.extension().is_some_and(|e| e == "yml")).collect();
    found.sort();
    found
}

/// A file's text.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The one document of a YAML text.
pub fn yaml(name: &str, text: &str) -> Value {
    let documents = YamlLoader::load_from_str(text).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(documents.len(), 1, "{name} is not one document");
    json(&documents[0])
}

fn json(node: &Yaml) -> Value {
    match node {
        Yaml::Real(text) => text.parse::<f64>().map_or_else(|_| text.clone().into(), Value::from),
        Yaml::String(text) => Value::String(text.clone()),
        Yaml::Integer(number) => Value::from(*number),
        Yaml::Boolean(truth) => Value::Bool(*truth),
        Yaml::Array(items) => Value::Array(items.iter().map(json).collect()),
        Yaml::Hash(pairs) => {
            let mut map = Map::new();
            for (key, value) in pairs {
                let key = key.as_str().map_or_else(|| json(key).to_string(), str::to_owned);
                match (key.as_str(), json(value)) {
                    ("<<", Value::Object(merged)) => map.extend(merged),
                    (_, value) => drop(map.insert(key, value)),
                }
            }
            Value::Object(map)
        }
        Yaml::Alias(_) | Yaml::Null | Yaml::BadValue => Value::Null,
    }
}
