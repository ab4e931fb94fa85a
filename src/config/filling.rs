//! Checks the one place that a path, key or URL leaves open for a name: `{worker}`, `{lock}` or `{member}`. Fills nothing
//! in but a sample.

use super::checks::Wrong;
use super::mistake::{closest, quoted};
use super::model::Place;

/// Whose name fills a template, and whether several of them share it.
#[derive(Clone, Copy)]
pub(super) struct Filling {
    /// The one place it may have.
    pub(super) place: Place,
    /// More than one name fills it.
    pub(super) several: bool,
}

impl Filling {
    /// Checks that what looks like a placeholder is one.
    pub(super) fn places(self, text: &str, braces: Braces) -> Result<(), Wrong> {
        let known = bare_word(self.place);
        for place in innermost(text).filter(|place| *place != known) {
            let bare = place.trim();
            let word = bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let wrong = match braces {
                Braces::Ours => word,
                Braces::Shared => is_slip(bare, known),
            };
            if wrong {
                return Err((
                    format!("{} is an unknown placeholder", quoted(&format!("{{{place}}}"))),
                    format!("`{}` exists, and stands for {}", self.place.as_str(), self.whose()),
                ));
            }
        }
        Ok(())
    }

    /// Checks that what several share tells them apart.
    pub(super) fn apart(self, texts: &[&str]) -> Result<(), Wrong> {
        let place = self.place.as_str();
        if !self.several || texts.iter().any(|t| t.contains(place)) {
            return Ok(());
        }
        let all = match self.place {
            Place::Worker => "all workers of this group would share it",
            Place::Lock => "all locks of this entry would share it",
            Place::Member => "all members would share it",
        };
        let fix = format!("put `{place}`, which stands for {}, into it", self.whose());
        Err((all.into(), fix))
    }

    /// Refuses the place where it is not filled in.
    pub(super) fn fixed(self, text: &str) -> Result<(), Wrong> {
        let place = self.place.as_str();
        if text.contains(place) {
            return Err((
                format!("`{place}` is not filled in here"),
                "use it in a key, field, member, path or URL".into(),
            ));
        }
        Ok(())
    }

    /// The text with an ordinary name filled in, to check what comes out.
    pub(super) fn sample(self, text: &str) -> String {
        self.place.fill(text, bare_word(self.place))
    }

    fn whose(self) -> &'static str {
        match self.place {
            Place::Worker => "a worker's name",
            Place::Lock => "the lock's name",
            Place::Member => "a member's name",
        }
    }
}

/// Whether this is a slip of the place's word, and no hash tag: `{workers}` makes a fine one, as `{clock}` and `{block}` do;
/// nobody means `{wroker}` or `{lok}` by one.
fn is_slip(bare: &str, known: &str) -> bool {
    const WORDS: [&str; 12] = [
        "block", "clock", "flock", "look", "luck", "dock", "rock", "mock", "sock", "loch", "lick",
        "lack",
    ];
    let lower = bare.to_ascii_lowercase();
    let is_word = lower.strip_suffix('s') == Some(known) || WORDS.contains(&lower.as_str());
    !is_word && closest(bare, [known]).is_some()
}

fn bare_word(place: Place) -> &'static str {
    match place {
        Place::Worker => "worker",
        Place::Lock => "lock",
        Place::Member => "member",
    }
}

/// What else braces may be in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Braces {
    /// Nothing: paths, units and URLs.
    Ours,
    /// Hash tags of keys, counts of regular expressions.
    Shared,
}

/// What stands between braces that hold no others.
fn innermost(text: &str) -> impl Iterator<Item = &str> {
    let closed = text.split_inclusive('}').filter_map(|part| part.strip_suffix('}'));
    closed.filter_map(|before| before.rsplit_once('{')).map(|(_, place)| place)
}
