//! Why something of a lock cannot be judged, in words that point to what would help there. Without a hint the reason's own
//! words do.

use super::words;
use crate::view::{Aspect, BlindReason, Hint, LockView, Namer, Reuse};

/// What to say of a lock, each fact once: that holds cannot be told apart follows from what is said of its tokens.
pub fn told_once(
    blind: &[(Aspect, BlindReason)],
) -> impl Iterator<Item = (Aspect, BlindReason)> + '_ {
    let follows = |b: &(Aspect, BlindReason)| {
        *b == (Aspect::Hold, BlindReason::ReusableToken)
            && blind.contains(&(Aspect::Token, BlindReason::ReusableToken))
    };
    blind.iter().copied().filter(move |b| !follows(b))
}

/// What cannot be judged, why, and what to do about it.
pub fn blind(lock: &LockView, aspect: Aspect, reason: BlindReason) -> String {
    let own = lock.hints.iter().filter(|(a, _)| *a == aspect);
    match own.filter_map(|(_, hint)| why(reason, hint)).next() {
        Some(why) => format!("{}: {why}", aspect.as_str()),
        None => words::blind(aspect, reason),
    }
}

/// The words of a hint, if it is one for this reason.
fn why(reason: BlindReason, hint: &Hint) -> Option<String> {
    use BlindReason as R;
    Some(match (reason, hint) {
        (R::OpaqueToken, Hint::Unnamed(namers)) => unnamed(namers)?.to_owned(),
        (R::NoHistory, Hint::ListNamesNobody(list)) => format!(
            "the list {} never named anybody, so it says nothing (look at its `store` and `preset` or `members`)",
            code(list)
        ),
        (R::NoHistory, Hint::BullMqNamesNobody(list)) => format!(
            "the list {} never named anybody, so it says nothing (look at its `queue`; BullMQ workers are in it that have a \
             `name` of their own)",
            code(list)
        ),
        (R::NoHistory, Hint::NotInList(list, seconds)) => format!(
            "the list {} does not name it; if it stays so, that counts in {}",
            code(list),
            super::when::seconds(*seconds)
        ),
        (R::Permission, Hint::ListUnread(list)) => {
            format!("the list {}: permission refused (see the ACL line in the README)", code(list))
        }
        (R::Unreachable, Hint::ListUnread(list)) => {
            format!("the list {} cannot be read", code(list))
        }
        (R::NoHistory, Hint::ListUnread(list)) => {
            format!("the list {} was not read yet", code(list))
        }
        (R::Unsupported, Hint::Shows(shown, Some(declared))) => format!(
            "the key is {}, nothing that {} writes (see `format`)",
            shown.words(),
            code(declared)
        ),
        (R::Unsupported, Hint::Shows(shown, None)) => {
            format!("the key is {}, and no format reads it", shown.words())
        }
        (R::ReusableToken, Hint::Reuse(reuse)) => self::reuse(*reuse),
        (R::NotConfigured, Hint::NoResource) => {
            "no resource is known to check its tokens (set `accepted` in `fencing`)".to_owned()
        }
        _ => return None,
    })
}

fn unnamed(namers: &[Namer]) -> Option<&'static str> {
    Some(match namers {
        [Namer::Pattern] => "its token does not match `holder`",
        [Namer::Index] => "its token is not in the store's `owner_index`",
        [Namer::UnreadIndex] => {
            "the store's `owner_index` was not read yet, or cannot be (see the log)"
        }
        [Namer::Pattern, Namer::Index] => {
            "its token does not match `holder` and is not in the store's `owner_index`"
        }
        [Namer::Pattern, Namer::UnreadIndex] => {
            "its token does not match `holder`, and the store's `owner_index` was not read yet, or cannot be (see the log)"
        }
        _ => return None,
    })
}

fn reuse(reuse: Reuse) -> String {
    match reuse {
        Reuse::Config => "the same for every acquire, as `token` says".to_owned(),
        Reuse::Design(format) => format!("the same for every acquire: {} is made so", code(format)),
        Reuse::Possible => {
            "may be the same (set `token: per_acquire` if each acquire has a new one)".to_owned()
        }
    }
}

/// A name from the config as code; a backtick in it would end that.
fn code(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_said_once() {
        let (reusable, short) = (BlindReason::ReusableToken, BlindReason::NoHistory);
        let both = [(Aspect::Hold, reusable), (Aspect::Token, reusable)];
        assert_eq!(told_once(&both).collect::<Vec<_>>(), [(Aspect::Token, reusable)]);
        let other = [(Aspect::Hold, short), (Aspect::Holder, short)];
        assert_eq!(told_once(&other).collect::<Vec<_>>(), other);
    }

    #[test]
    fn a_hint_is_for_its_reason_only() {
        let hint = Hint::ListUnread("fleet".into());
        let said = why(BlindReason::Unreachable, &hint);
        assert_eq!(said.as_deref(), Some("the list `fleet` cannot be read"));
        assert_eq!(why(BlindReason::OpaqueToken, &hint), None);
        assert_eq!(why(BlindReason::OpaqueToken, &Hint::Unnamed(Vec::new())), None);
    }
}
