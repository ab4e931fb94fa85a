//! Checks the places that the names of many locks leave open: `{0}`, `{1}` and `{name}`, each a group of `capture`. Fills
//! nothing in.

use regex::bytes::Regex;

use super::checks::Wrong;
use super::mistake::{closest, quoted};

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
