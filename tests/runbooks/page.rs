//! A runbook as the tests see it: its sections and its fenced blocks, with the output that it promises for each. It must
//! not know what any command does.

use std::path::PathBuf;

use crate::support::repository;

/// What a block may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads only.
    Reads,
    /// Changes something.
    Changes,
    /// Depends on how hosts are run, and is not run here.
    Elsewhere,
}

/// One fenced block of shell.
#[derive(Clone, Debug)]
pub struct Block {
    /// The section that it is in, without `## `.
    pub section: String,
    /// What it may do.
    pub kind: Kind,
    /// Its lines.
    pub script: String,
    /// The lines of output that the runbook promises; `...` stands for anything.
    pub promised: Vec<String>,
    /// Where it begins.
    pub line: usize,
}

impl Block {
    /// The promised lines that the output does not have.
    pub fn missing(&self, output: &str) -> Vec<&str> {
        let found = |promise: &&String| output.lines().any(|line| fits(promise, line));
        self.promised.iter().filter(|p| !found(p)).map(String::as_str).collect()
    }
}

/// One file.
#[derive(Clone, Debug)]
pub struct Page {
    /// The alert's name, or `README`.
    pub name: String,
    /// All of it.
    pub text: String,
    /// Its blocks in order.
    pub blocks: Vec<Block>,
}

impl Page {
    /// The sections' titles in order.
    pub fn sections(&self) -> Vec<&str> {
        self.text.lines().filter_map(|l| l.strip_prefix("## ")).collect()
    }

    /// The text without one section.
    pub fn without(&self, section: &str) -> String {
        let mut inside = false;
        let kept = self.text.lines().filter(|line| {
            if let Some(title) = line.strip_prefix("## ") {
                inside = title == section;
            }
            !inside
        });
        kept.collect::<Vec<_>>().join("\n")
    }
}

/// All runbooks, sorted by name, without the README.
pub fn runbooks() -> Vec<Page> {
    let mut pages: Vec<_> = directory()
        .read_dir()
        .expect("alerts/runbooks can be read")
        .map(|entry| entry.expect("alerts/runbooks can be read").path())
        .filter_map(|path| path.file_name()?.to_str()?.strip_suffix(".md").map(str::to_owned))
        .filter(|name| name != "README")
        .map(|name| page(&name))
        .collect();
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    pages
}

/// One runbook, or the README.
pub fn page(name: &str) -> Page {
    let text = std::fs::read_to_string(directory().join(format!("{name}.md")))
        .unwrap_or_else(|e| panic!("{name}.md: {e}"));
    let blocks = blocks(name, &text);
    Page { name: name.to_owned(), text, blocks }
}

fn directory() -> PathBuf {
    repository("alerts/runbooks")
}

fn blocks(name: &str, text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut section = String::new();
    let mut open: Option<(String, usize, Vec<&str>)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((info, begin, mut lines)) = open.take() {
            if line != "```" {
                lines.push(line);
                open = Some((info, begin, lines));
                continue;
            }
            let kind = match info.as_str() {
                "sh" => Kind::Reads,
                "sh change" => Kind::Changes,
                "sh elsewhere" => Kind::Elsewhere,
                "text" => {
                    let block = found.last_mut().filter(|b| b.promised.is_empty());
                    let block =
                        block.unwrap_or_else(|| panic!("{name}:{begin}: a promise of nothing"));
                    block.promised = lines.into_iter().map(str::to_owned).collect();
                    continue;
                }
                other => panic!("{name}:{begin}: a block of unknown kind {other:?}"),
            };
            let script = lines.join("\n");
            let section = section.clone();
            found.push(Block { section, kind, script, promised: Vec::new(), line: begin });
        } else if let Some(info) = line.strip_prefix("```") {
            open = Some((info.to_owned(), number, Vec::new()));
        } else if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut section);
        }
    }
    assert!(open.is_none(), "{name}: a block without an end");
    found
}

/// Whether a line of output is as promised.
fn fits(promise: &str, line: &str) -> bool {
    let Some((first, rest)) = promise.split_once("...") else { return promise == line };
    let Some(mut left) = line.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split("...").collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[test]
fn promises_hold_for_whole_lines() {
    for (promise, line, holds) in [
        ("1", "1", true),
        ("1", "10", false),
        ("...\"up\":false...", "{\"addr\":1,\"up\":false}", true),
        ("...\"up\":false...", "{\"addr\":1,\"up\":true}", false),
        ("a{...} 1", "a{x=\"y\"} 1", true),
        ("a{...} 1", "a{x=\"y\"} 0", false),
        ("a...b...c", "a c b", false),
    ] {
        assert_eq!(fits(promise, line), holds, "{promise} {line}");
    }
}
