//! What must hold for any bytes under any key: no format panics, holders and companions are bounded, a number is nobody's
//! name, and what a format says of a value it says with its own name. Compiled for tests and for `tests/fuzz` only.

use crate::config::LockRules;
use crate::observe::lock::Shape;
use crate::observe::{Decoded, ServerTime};

use super::{MAX_COMPANIONS, MAX_HOLDERS, REGISTRY, Raw, decode, is_companion};

/// Splits the bytes into a type, a format that is declared or none, a key and a value, and decodes it. Lines: the first
/// byte of the first chooses the type, its second the format; the second line is the key; the others are members.
pub fn format(bytes: &[u8]) {
    let mut lines = bytes.splitn(3, |b| *b == b'\n');
    let (head, key, rest) =
        (lines.next().unwrap_or_default(), lines.next().unwrap_or_default(), lines.next());
    let rest = rest.unwrap_or_default();
    let declared = head.get(1).and_then(|n| REGISTRY.get(usize::from(*n).checked_sub(48)?));
    let rules = LockRules {
        format: declared.map(|f| f.name.to_owned()),
        owner_json: head.get(2).map(|_| "/holder".to_owned()),
        ..LockRules::default()
    };
    let members: Vec<&[u8]> = rest.split(|b| *b == b'\n').collect();
    let pairs: Vec<(&[u8], &[u8])> = members
        .chunks(2)
        .map(|p| (p.first().copied().unwrap_or_default(), p.get(1).copied().unwrap_or_default()))
        .collect();
    let raw = match head.first() {
        Some(b'h') => Raw::Hash(&pairs),
        Some(b'z') => {
            let score = |text: &[u8]| {
                std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).unwrap_or(f64::INFINITY)
            };
            let scored: Vec<(&[u8], f64)> = pairs.iter().map(|(m, s)| (*m, score(s))).collect();
            return check(key, Raw::Zset(&scored), &rules);
        }
        Some(b's') => Raw::Set(&members),
        Some(b'c') => Raw::String { bytes: rest, full_len: rest.len().saturating_add(1) },
        _ => Raw::String { bytes: rest, full_len: rest.len() },
    };
    check(key, raw, &rules);
}

/// Within a year of what the tokens in the corpus say.
const NOW: ServerTime = ServerTime(1_795_958_100_000_000);

/// Holds the assertions against one value.
pub fn check(key: &[u8], raw: Raw<'_>, rules: &LockRules) {
    is_companion(key);
    let decoded = decode(key, raw, rules, NOW);
    let is_known = |name: &str| name == "unknown" || REGISTRY.iter().any(|f| f.name == name);
    assert!(is_known(decoded.format) && decoded.also_fits.iter().all(|f| is_known(f)));
    assert!(!decoded.also_fits.contains(&decoded.format), "{decoded:?}");
    assert!(
        decoded.looks_like.is_none_or(|f| decoded.misfit && is_known(f) && f != decoded.format)
    );
    assert!(decoded.holders.len() <= MAX_HOLDERS && decoded.companions.len() <= MAX_COMPANIONS);
    assert!(decoded.companions.iter().all(|c| &*c.key != key), "it is not beside itself");
    is_sound(&decoded);
    if let Raw::String { bytes, .. } = raw {
        let is_declared = rules.format.is_some() || rules.owner_json.is_some();
        assert!(decoded.holders.len() <= 1);
        assert!(is_declared || decoded.holders.is_empty() || decoded.shape != Shape::Number);
        assert!(is_declared || decoded.holders.is_empty() || !is_all_digits(bytes));
    }
}

fn is_sound(decoded: &Decoded) {
    for held in &decoded.holders {
        let owner = &held.owner;
        assert!(held.count > 0 && !owner.token.bytes().is_empty(), "{decoded:?}");
        assert!(owner.pid.is_none_or(|p| p > 0) && held.taken_at.is_none_or(f64::is_finite));
        let texts = [&owner.worker, &owner.host, &owner.thread];
        let printed = |t: &str| !t.is_empty() && !t.chars().any(char::is_control);
        assert!(texts.into_iter().flatten().all(|t| printed(t)), "{decoded:?}");
    }
    let tokens = decoded.holders.iter().map(|h| h.owner.token.bytes());
    assert!(tokens.is_sorted_by(|a, b| a < b), "each once, in order");
}

fn is_all_digits(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit)
}
