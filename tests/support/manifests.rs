//! YAML files of this repository as JSON, and verdicts of published schemas on them, by the Python that `tests/run`
//! installs. It must not know what is in them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::repository;

/// A program that `tests/run` installed into its Python environment.
pub fn installed(name: &str) -> Command {
    let program = repository("tests/.venv/bin").join(name);
    assert!(program.exists(), "{} is not there; tests/run installs it", program.display());
    Command::new(program)
}

/// Runs a command and gives its output; panics if it fails.
pub fn output(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {}\n{text}{errors}", out.status);
    text
}

fn reader(what: &str) -> Command {
    let mut command = installed("python");
    command.arg(repository("tests/support/manifests.py")).arg(what);
    command
}

/// Every document in those files, with the file that it is in.
pub fn documents(files: &[PathBuf]) -> Vec<(PathBuf, Value)> {
    let text = output(reader("json").args(files));
    serde_json::from_str(&text).expect("the reader writes JSON")
}

/// The one document of a file.
pub fn document(file: &Path) -> Value {
    let mut all = documents(&[file.to_owned()]);
    assert_eq!(all.len(), 1, "{} has {} documents", file.display(), all.len());
    all.remove(0).1
}

/// Panics with what is wrong unless the files are valid to `what`: `compose`, `kubernetes` or `custom`.
pub fn must_be_valid(what: &str, files: &[PathBuf]) {
    output(reader(what).args(files));
}

/// The files below a directory with one of these ends, sorted.
pub fn files_below(directory: &Path, ends: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|e| panic!("{} cannot be read: {e}", directory.display()));
    for path in entries.map(|e| e.expect("a directory can be read to its end").path()) {
        if path.is_dir() {
            found.extend(files_below(&path, ends));
        } else if ends.iter().any(|end| path.to_string_lossy().ends_with(end)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The capabilities that the README's `docker run` names for what watches processes, sorted.
pub fn capabilities_of_the_readme() -> Vec<String> {
    let readme = std::fs::read_to_string(repository("README.md")).expect("README.md can be read");
    let lines = readme.lines().filter(|l| l.contains("--cap-add"));
    let mut words: Vec<String> = lines
        .flat_map(|l| l.split("--cap-add ").skip(1))
        .filter_map(|rest| rest.split_whitespace().next().map(str::to_owned))
        .collect();
    words.sort();
    assert!(!words.is_empty(), "README.md has no --cap-add");
    words
}

/// The texts in a JSON list, sorted.
pub fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut texts: Vec<String> =
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    texts.sort();
    texts
}
