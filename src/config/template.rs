//! Checks the places that names and paths leave open: `{0}`, `{1}` and `{name}` in the names of many locks, `{worker}`
//! in where a worker's things are. Fills nothing in.

use regex::bytes::Regex;

use super::checks::Wrong;
use super::mistake::{closest, quoted};

/// What stands for a worker's name.
pub(super) const WORKER: &str = "{worker}";

/// Checks that every place in a lock's name is a group of `capture`, and that there is one at all.
pub(super) fn lock_name(name: &str, capture: Option<&Regex>) -> Result<(), Wrong> {
    let mut places = 0_usize;
    let mut rest = name;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((place, after)) = after.split_once('}') else {
            return Err(("has a `{` without `}`".into(), "write `{0}`, `{1}` or `{name}`".into()));
        };
        group(place, capture)?;
        places += 1;
        rest = after;
    }
    if places == 0 {
        return Err((
            "all keys that match would have this one name".into(),
            "put `{0}` (the whole key) or a group of `capture` such as `{1}` into it".into(),
        ));
    }
    Ok(())
}

fn group(place: &str, capture: Option<&Regex>) -> Result<(), Wrong> {
    if place == "0" {
        return Ok(());
    }
    let shown = quoted(&format!("{{{place}}}"));
    let Some(capture) = capture else {
        let fix = "add `capture` with that group, or use `{0}` for the whole key";
        return Err((format!("{shown} stands for a group, and there is no `capture`"), fix.into()));
    };
    let named: Vec<&str> = capture.capture_names().flatten().collect();
    let numbered = place.parse::<usize>().is_ok_and(|n| n < capture.captures_len());
    if numbered || named.contains(&place) {
        return Ok(());
    }
    let fix = match (closest(place, named.iter().copied()), capture.captures_len() - 1) {
        (Some(meant), _) => format!("did you mean `{{{meant}}}`?"),
        (None, 0) => "put the part of the key that is meant in parentheses in `capture`".into(),
        (None, 1) => "`capture` has one group, `{1}`".into(),
        (None, n) => format!("`capture` has {n} groups, `{{1}}` to `{{{n}}}`"),
    };
    Err((format!("{shown} is not a group of `capture`"), fix))
}

/// What else braces may be in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Braces {
    /// Nothing: paths, units and URLs.
    Ours,
    /// Hash tags of keys, counts of regular expressions.
    Shared,
}

/// Checks that what looks like a placeholder is one.
pub(super) fn places(text: &str, braces: Braces) -> Result<(), Wrong> {
    for place in innermost(text).filter(|place| *place != "worker") {
        let bare = place.trim();
        let word = bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let wrong = match braces {
            Braces::Ours => word,
            // `{workers}` makes a fine hash tag; nobody means `{wroker}` by one.
            Braces::Shared => bare != "workers" && closest(bare, ["worker"]).is_some(),
        };
        if wrong {
            return Err((
                format!("{} is an unknown placeholder", quoted(&format!("{{{place}}}"))),
                "`{worker}` exists, and stands for a worker's name".into(),
            ));
        }
    }
    Ok(())
}

/// What stands between braces that hold no others.
fn innermost(text: &str) -> impl Iterator<Item = &str> {
    let closed = text.split_inclusive('}').filter_map(|part| part.strip_suffix('}'));
    closed.filter_map(|before| before.rsplit_once('{')).map(|(_, place)| place)
}

/// Checks that a source of a group with several workers tells them apart.
pub(super) fn per_worker(texts: &[&str]) -> Result<(), Wrong> {
    if texts.iter().any(|t| t.contains(WORKER)) {
        return Ok(());
    }
    Err((
        "all workers of this group would share it".into(),
        "put `{worker}`, which stands for a worker's name, into it".into(),
    ))
}

/// Refuses `{worker}` where it is not filled in.
pub(super) fn fixed(text: &str) -> Result<(), Wrong> {
    if text.contains(WORKER) {
        return Err((
            "`{worker}` is not filled in here".into(),
            "use it in a key, field, member, path or URL".into(),
        ));
    }
    Ok(())
}

/// The text with an ordinary name filled in, to check what comes out.
pub(super) fn sample(text: &str) -> String {
    text.replace(WORKER, "worker")
}
