//! What must hold for any configuration file and environment: a configuration or mistakes, each of one line, the same each
//! time, and nothing that tells a password. Compiled for tests and for `tests/fuzz` only.

use super::cursor::Cursor;
use super::input::Input;
use super::mistake::Report;
use super::model::Config;
use super::{layers, read, schema};

/// A password that no mistake and no trace of a configuration may tell.
const SECRET: &str = "hunter2-canary";

/// A file's text; behind a zero byte the environment, `NAME=VALUE` line by line.
pub fn config(bytes: &[u8]) {
    let Ok(whole) = std::str::from_utf8(bytes) else { return };
    let (text, variables) = whole.split_once('\0').unwrap_or((whole, ""));
    let pair = |line: &str| line.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
    let mut env: Vec<_> = variables.lines().filter_map(pair).collect();
    if text.contains("main:") && !whole.to_ascii_lowercase().contains("pass") {
        env.push(("DLOCK__STORES__MAIN__PASSWORD".to_owned(), SECRET.to_owned()));
    }
    let input = Input { env, ..Input::default() };
    let (made, told) = load(text, &input);
    assert!(made.is_some() || !told.is_empty(), "neither a configuration nor a mistake");
    assert!(told.iter().all(|t| !t.contains(['\n', '\r'])), "{told:?}");
    assert!(told.iter().all(|t| !t.contains(SECRET)), "{told:?}");
    assert!(!format!("{made:?}").contains(SECRET), "{made:?}");
    let (again, told_again) = load(text, &input);
    assert_eq!(told, told_again, "the same mistakes in the same order");
    assert_eq!(made.is_some(), again.is_some());
}

/// Whether these bytes are a configuration without a mistake.
pub fn is_accepted(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).unwrap_or("{");
    load(text, &Input::default()).0.is_some_and(|_| load(text, &Input::default()).1.is_empty())
}

/// What such a file makes, and all mistakes in it.
fn load(text: &str, input: &Input) -> (Option<Config>, Vec<String>) {
    let report = Report::new("dlock.yml");
    let made = layers::of_text(text, input, &report).and_then(|merged| {
        let top = Cursor::top(&merged, &schema::TOP, &report)?;
        read::config(&top)
    });
    let told = report.finish().map(|all| all.iter().map(ToString::to_string).collect());
    (made, told.unwrap_or_default())
}
