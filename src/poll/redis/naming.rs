//! What the lock of a key that a pattern found is called, and the entry it comes from. Pure.

use std::sync::Arc;

use crate::config::{LockConfig, LockKeys, NameTemplate, Pattern};
use crate::observe::label;

/// The lock's name for a key: the template with what was captured, each piece made printable. `None` if the key does not
/// match the capture.
pub(super) fn lock_name(
    template: &NameTemplate,
    capture: Option<&Pattern>,
    key: &[u8],
) -> Option<String> {
    let found = match capture {
        Some(pattern) => Some(pattern.0.captures(key)?),
        None => None,
    };
    let group = |name: &str| -> Option<&[u8]> {
        let found = found.as_ref();
        match name.parse::<usize>() {
            Ok(0) => Some(key),
            Ok(n) => found?.get(n).map(|m| m.as_bytes()),
            Err(_) => found?.name(name).map(|m| m.as_bytes()),
        }
    };
    let mut name = String::new();
    let mut rest = template.0.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        name.push_str(before);
        match after.split_once('}') {
            Some((place, after)) => {
                name.push_str(&label::text(group(place).unwrap_or_default()));
                rest = after;
            }
            None => {
                name.push('{');
                rest = after;
            }
        }
    }
    name.push_str(rest);
    Some(if name.is_empty() { label::text(key) } else { name })
}

/// An entry's pattern or key as it may be printed.
pub(super) fn origin(config: &LockConfig) -> Arc<str> {
    match &config.keys {
        LockKeys::One { key, .. } => label::text(key),
        LockKeys::Several { keys, .. } => label::text(&keys.join(b", ".as_slice())),
        LockKeys::Matching { pattern, .. } => label::text(pattern),
    }
    .into()
}
