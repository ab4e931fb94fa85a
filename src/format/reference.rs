//! The reference of formats as Markdown, made from the registry so that the two cannot differ. It prints; it decides
//! nothing.

use std::fmt::Write;

use super::{Format, Kind, REGISTRY};
use crate::config::{TokenKind, known_format};
use crate::observe::lock::{Endless, Sharing};

const OPENING: &str = "# Lock formats\n\n\
    Generated from the registry in `src/format`; a test keeps it so, and `UPDATE=1 cargo test --lib reference` writes it\n\
    anew. A lock's `format` is one of these names, or `auto`: then the value, and where it says little the key, decides.\n\
    Of several formats that fit equally well the first listed gives the name, the others are said to fit too, and only\n\
    what all of them have in common is taken for granted. Where key and value do not name one library for certain, those\n\
    that fit less well are said to fit too; that any string fits `string` goes without saying.\n\n\
    *Tokens*: whether each acquire has a new one, a holder may use the same again, or always does. *Lease*: its length where nothing\n\
    else is configured. *No expiry*: what it means that the key has none; `abnormal`: if the holder dies, nobody gets\n\
    the lock; `usual`: the library's own default; `carried`: the lease ends elsewhere, inside the value or per holder.\n\
    *Ends*: `expiry`: left to run out, so its end says nothing. *Names*: whom it names as the holder without a `holder`\n\
    pattern or an `owner_index`.\n\n\
    | format | libraries | type | key | value | tokens | lease | renewal | holders | names | no expiry | ends | beside it |\n\
    |---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

/// The whole reference.
pub fn markdown() -> String {
    let mut out = String::from(OPENING);
    for format in REGISTRY {
        row(&mut out, format);
    }
    out
}

fn row(out: &mut String, f: &Format) {
    let kind = match f.kind {
        Kind::String => "string",
        Kind::Hash => "hash",
        Kind::Zset => "sorted set",
        Kind::Set => "set",
    };
    let tokens = match f.tokens {
        TokenKind::PerAcquire => "per acquire",
        TokenKind::Reusable if f.reuses_tokens => "the same",
        TokenKind::Reusable => "reusable",
    };
    let lease = f
        .default_lease
        .map_or_else(|| "none".to_owned(), |l| humantime::format_duration(l).to_string());
    let sharing = match f.sharing {
        Sharing::Exclusive => "one",
        Sharing::ReadWrite => "readers or a writer",
        Sharing::Permits(_) => "permits",
    };
    let endless = match f.endless {
        Endless::Abnormal => "abnormal",
        Endless::Usual => "usual",
        Endless::Carried => "carried",
    };
    let ends = if f.ends_by_expiry { "expiry" } else { "release" };
    let names = known_format(f.name).map_or("", |known| known.names.as_str());
    let cells = [
        &format!("`{}`", f.name),
        f.libraries,
        kind,
        f.key,
        f.value,
        tokens,
        &lease,
        f.renewal,
        sharing,
        names,
        endless,
        ends,
        f.companions,
    ];
    // Writing to a String cannot fail.
    let _ = writeln!(out, "| {} |", cells.map(|c| c.replace('|', "\\|")).join(" | "));
}
