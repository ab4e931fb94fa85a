//! What is wrong with a configuration: where, why and what to do about it. All mistakes are collected and shown
//! together. No text in here may hold a password; callers never pass one on.

use std::cell::RefCell;
use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, environment variable or flag it came from.
    pub origin: String,
    /// Path of the key, such as `stores.main.locks[0].lease`; empty where the origin says it all.
    pub key: String,
    /// What is wrong.
    pub reason: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.origin))?;
        if !self.key.is_empty() {
            write!(f, ": {}", printable(&self.key))?;
        }
        write!(f, ": {}", printable(&self.reason))?;
        if let Some(fix) = &self.fix {
            write!(f, "; {}", printable(fix))?;
        }
        Ok(())
    }
}

/// Everything that is wrong, one per line when displayed. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// The mistakes in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.0.iter()
    }

    /// A fault of this program rather than of the configuration.
    pub(crate) fn fault() -> Self {
        Self(vec![Mistake {
            origin: "dlock_exporter".into(),
            key: String::new(),
            reason: "the configuration could not be read".into(),
            fix: Some("please report this together with the configuration".into()),
        }])
    }

    /// One of a whole file.
    pub fn one(file: &std::path::Path, reason: String) -> Self {
        let origin = file.to_string_lossy().into_owned();
        Self(vec![Mistake { origin, key: String::new(), reason, fix: None }])
    }

    /// Those of two inputs together, of which neither may be right.
    pub fn of_both<A, B>(one: Result<A, Self>, other: Result<B, Self>) -> Result<(A, B), Self> {
        match (one, other) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(mut found), other) => {
                found.0.extend(other.err().into_iter().flat_map(|more| more.0));
                Err(found)
            }
            (_, Err(found)) => Err(found),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, mistake) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            mistake.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

/// Collects mistakes while a configuration is read.
pub(super) struct Report {
    /// Origin of values that name none of their own: the file, or how else the configuration was given.
    pub(super) base: String,
    found: RefCell<Vec<Mistake>>,
}

impl Report {
    pub(super) fn new(base: impl Into<String>) -> Self {
        Self { base: base.into(), found: RefCell::default() }
    }

    /// Adds a mistake at `key`; `origin` is where its value came from, if not from the base.
    pub(super) fn add(&self, origin: Option<&str>, key: &str, reason: String, fix: Option<String>) {
        let origin = origin.unwrap_or(&self.base).to_owned();
        // A flag says more to the one who typed it than the key it stands for.
        let key = if origin.starts_with("--") { String::new() } else { key.to_owned() };
        self.found.borrow_mut().push(Mistake { origin, key, reason, fix });
    }

    /// The mistakes, or `None` if there are none.
    pub(super) fn finish(self) -> Option<Mistakes> {
        let found = self.found.into_inner();
        (!found.is_empty()).then_some(Mistakes(found))
    }
}

/// The known word that was probably meant.
pub(super) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase().replace('-', "_");
    known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(&word, &k.to_ascii_lowercase().replace('-', "_")), k))
        .filter(|(distance, k)| *distance <= 1.max(k.len() / 4))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

/// A value as it may be quoted in a message: short, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    format!("`{short}`")
}

/// Hostile names must not break the line or the terminal.
fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let escaped = c.is_control().then(|| c.escape_default());
            let plain = (!c.is_control()).then_some(c);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}
