//! Collections that several may hold a lock by, with members in them that no library writes there: those that fit are holders
//! all the same, and the others are counted. One that is asked for the whole says no to all of it.

use crate::observe::Decoded;
use crate::observe::lock::Sharing;

use super::detect::ask;
use super::{Fit, Format, Raw, Sight};

/// Members that are no holders and tell what the others mean: each goes along with any of them.
const MARKS: [&[u8]; 2] = [b"mode", b"__write__"];

/// The value without its strangers, by the format that has most holders in it. At least half of the members have to be
/// holders: else it is something else in which one member happens to look like one.
pub(super) fn decode<'f>(
    sight: &Sight<'_>,
    formats: impl Iterator<Item = &'f &'static Format>,
) -> Option<Decoded> {
    let mut best: Option<(usize, Fit, Decoded)> = None;
    for format in formats {
        let read = match sight.raw {
            Raw::Hash(all) => without(format, sight, all, |(m, _)| m, |part| Raw::Hash(part)),
            Raw::Zset(all) => without(format, sight, all, |(m, _)| m, |part| Raw::Zset(part)),
            Raw::Set(all) => without(format, sight, all, |m| m, |part| Raw::Set(part)),
            Raw::String { .. } | Raw::Unread(_) => None,
        };
        let Some((fit, decoded)) = read else { continue };
        let rank = (decoded.holders.len(), fit);
        if best.as_ref().is_none_or(|(holders, fit, _)| rank > (*holders, *fit)) {
            best = Some((rank.0, rank.1, decoded));
        }
    }
    best.map(|(.., decoded)| decoded)
}

fn without<'a, M: Copy>(
    format: &'static Format,
    sight: &Sight<'_>,
    all: &[M],
    name: impl Fn(&M) -> &'a [u8],
    raw: impl Fn(&[M]) -> Raw<'_>,
) -> Option<(Fit, Decoded)> {
    let asked = |part: &[M]| ask(format, &Sight { raw: raw(part), ..*sight });
    let (marks, members): (Vec<M>, Vec<M>) = all.iter().partition(|m| MARKS.contains(&name(m)));
    let mut part = marks.clone();
    for member in &members {
        if asked(&[marks.as_slice(), &[*member]].concat()).is_some() {
            part.push(*member);
        }
    }
    let fitting = part.len() - marks.len();
    let strangers = members.len() - fitting;
    if strangers == 0 || fitting < strangers {
        return None;
    }
    let (fit, mut decoded) = asked(&part)?;
    decoded.strangers = strangers as u64;
    // What only one may hold is in question with anything else in it.
    let is_meant = fit >= Fit::Likely && decoded.sharing != Sharing::Exclusive;
    is_meant.then_some((fit, decoded))
}
