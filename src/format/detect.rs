//! Which format a value is of: the declared one, or the one that fits best. Of formats that fit equally well it takes for
//! granted only what all of them say.

use crate::config::{LockRules, TokenKind};
use crate::observe::lock::{Companion, CompanionPart, Endless, Shape, Tells};
use crate::observe::{Decoded, ServerTime};

use super::{Fit, Format, Kind, MAX_HOLDERS, REGISTRY, Raw, Sight, json, strangers, string, value};

/// Decodes a value: by the declared format if there is one, else by the one that fits best.
/// `now` is the time of the server that has it.
pub fn decode(key: &[u8], raw: Raw<'_>, rules: &LockRules, now: ServerTime) -> Decoded {
    let raw = bounded(raw);
    let sight = Sight { key, raw, rules, now, is_declared: false };
    // A pointer to the owner says as much as the format's name.
    let pointed = rules.owner_json.as_ref().map(|_| json::FORMAT.name);
    let declared = rules.format.as_deref().or(pointed);
    if let Some(format) = declared.and_then(|d| REGISTRY.iter().find(|f| f.name == d)) {
        let sight = Sight { is_declared: true, ..sight };
        let whole = ask(format, &sight).map(|(_, decoded)| decoded);
        return whole
            .or_else(|| {
                let part = strangers::decode(&sight, [format].into_iter())?;
                Some(Decoded { misfit: true, ..part })
            })
            .unwrap_or_else(|| misfit(format, &Sight { is_declared: false, ..sight }));
    }
    detect(&sight).unwrap_or_else(|| Decoded::nobody("unknown", shape_of(raw)))
}

/// The format that fits best, and which others fit as well.
fn detect(sight: &Sight<'_>) -> Option<Decoded> {
    let mut best: Option<(Fit, Decoded)> = None;
    // Formats that fit less well.
    let mut less: Vec<&'static str> = Vec::new();
    for (fit, decoded) in REGISTRY.iter().filter_map(|f| ask(f, sight)) {
        match &mut best {
            Some((known, _)) if fit < *known => less.push(decoded.format),
            Some((known, named)) if fit == *known => agree(named, &decoded),
            _ => {
                if let Some((_, beaten)) = best.replace((fit, decoded)) {
                    less.push(beaten.format);
                    less.extend(beaten.also_fits);
                }
            }
        }
    }
    let Some((fit, mut decoded)) = best else {
        return strangers::decode(sight, REGISTRY.iter());
    };
    // What is only likely may be one of them. That any string fits `string` need not be said.
    if fit < Fit::Certain {
        decoded.also_fits.extend(less.iter().filter(|name| **name != string::FORMAT.name));
    }
    Some(decoded)
}

/// A value that is none of the declared format's. One that names an owner all the same looks like another's; that any string
/// could be one says nothing.
fn misfit(format: &Format, sight: &Sight<'_>) -> Decoded {
    let is_other = |name: &str| name != format.name && name != string::FORMAT.name;
    let other = detect(sight).filter(|d| !d.holders.is_empty());
    let looks_like = other.map(|d| d.format).filter(|name| is_other(name));
    Decoded { misfit: true, looks_like, ..Decoded::nobody(format.name, shape_of(sight.raw)) }
}

/// A format's answer. It is not asked for a value of another type than its own.
pub(super) fn ask(format: &Format, sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let kind = match sight.raw {
        Raw::String { .. } => Kind::String,
        Raw::Hash(_) => Kind::Hash,
        Raw::Zset(_) => Kind::Zset,
        Raw::Set(_) => Kind::Set,
        Raw::Unread(_) => return None,
    };
    if kind == format.kind { (format.decode)(sight) } else { None }
}

/// Another format fits as well: of what would follow from the name, only what both say is kept.
fn agree(named: &mut Decoded, other: &Decoded) {
    named.also_fits.push(other.format);
    if named.default_lease != other.default_lease {
        named.default_lease = None;
    }
    if named.always_renews != other.always_renews {
        named.always_renews = None;
    }
    if other.tokens == TokenKind::Reusable {
        named.tokens = TokenKind::Reusable;
    }
    named.reuses_tokens &= other.reuses_tokens;
    if named.endless == Endless::Abnormal {
        named.endless = other.endless;
    }
    named.ends_by_expiry |= other.ends_by_expiry;
}

/// A sorted set of which only the members with the highest scores were decoded, and `beyond` them are so many more. Where
/// scores are expiries, those that are ahead are counted beside it.
pub fn cut(decoded: Decoded, key: &[u8], beyond: usize) -> Decoded {
    if beyond == 0 || decoded.holders.is_empty() {
        return decoded;
    }
    let mut cut = Decoded { beyond: u64::try_from(beyond).unwrap_or(u64::MAX), ..decoded };
    if cut.holders.iter().any(|h| h.until.is_some()) {
        let (part, tells) = (CompanionPart::CountAhead, Tells::Holders);
        cut.companions.push(Companion { key: key.into(), part, tells });
    }
    cut
}

/// Whether a key belongs to some lock without being one.
pub fn is_companion(key: &[u8]) -> bool {
    REGISTRY.iter().any(|f| (f.is_companion)(key))
}

/// Key type and coarse shape.
pub fn shape_of(raw: Raw<'_>) -> Shape {
    match raw {
        Raw::String { bytes, full_len } => value::shape_of(bytes, full_len),
        Raw::Hash(_) => Shape::Hash,
        Raw::Zset(_) => Shape::Zset,
        Raw::Set(_) => Shape::Set,
        Raw::Unread(shape) => shape,
    }
}

/// A value with too many members is no lock, and is not looked at.
fn bounded(raw: Raw<'_>) -> Raw<'_> {
    let members = match raw {
        Raw::Hash(fields) => fields.len(),
        Raw::Zset(members) => members.len(),
        Raw::Set(members) => members.len(),
        _ => 0,
    };
    if members > MAX_HOLDERS { Raw::Unread(shape_of(raw)) } else { raw }
}
