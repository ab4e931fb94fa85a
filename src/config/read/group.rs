//! Reads whether the locks of an entry are told as one group, and what that group is called.

use super::super::cursor::Cursor;
use super::super::model::Group;
use super::seen::Seen;

/// Locks of a group that have series of their own at most.
const TOP: usize = 20;

/// Reads `group` and `group_top`. The group's name is the entry's `name` with `*` in its places, or its `match`.
pub(super) fn read(at: &Cursor<'_>, seen: &mut Seen) -> Option<Group> {
    let group = at.switch("group");
    let top = at.whole("group_top");
    let by_match = at.has("match") || at.mistyped(&["match"]);
    if group == Some(true) && !by_match {
        at.wrong("group", "has no meaning without `match`", "remove it; one lock is no group");
    }
    if at.has("group_top") && !at.has("group") && !at.mistyped(&["group"]) {
        at.wrong("group_top", "has no meaning without `group: true`", "remove it, or add that");
    } else if at.has("group_top") && group == Some(false) {
        at.wrong("group_top", "has no meaning with `group: false`", "remove it");
    }
    if group != Some(true) || !at.has("match") {
        return None;
    }
    let text = match at.has("name") {
        true => at.text("name"),
        false => at.text("match"),
    };
    let name = stars(text?);
    seen.group(at, &name);
    Some(Group { name: name.into(), top: top.unwrap_or(TOP) })
}

/// A template with a `*` for each of its places, several in a row as one.
fn stars(template: &str) -> String {
    let mut name = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((_, after)) = after.split_once('}') else { break };
        name.push_str(before);
        if !name.ends_with('*') {
            name.push('*');
        }
        rest = after;
    }
    name.push_str(rest);
    name
}

#[cfg(test)]
mod tests {
    #[test]
    fn places_become_stars() {
        for (template, name) in
            [("job-{1}", "job-*"), ("{0}", "*"), ("{a}{b}:x-{c}", "*:x-*"), ("lock:*", "lock:*")]
        {
            assert_eq!(super::stars(template), name);
        }
    }
}
