//! `basic_auth_users`: names and what bcrypt made of their passwords. No message may quote a hash: some put the password
//! itself there.

use std::collections::BTreeMap;

use bcrypt::HashParts;

use super::super::cursor::Cursor;
use super::model::User;
use crate::secret::Secret;

/// bcrypt has no fewer rounds than 2 to the power of the first. Beyond the second, one password takes longer than the
/// usual timeout of a scrape.
const COSTS: std::ops::RangeInclusive<u32> = 4..=16;

const HOW: &str = "make it with `htpasswd -nBC 10 NAME`, and take what follows the colon";

pub(super) fn read(top: &Cursor<'_>) -> BTreeMap<String, User> {
    if !top.has("basic_auth_users") {
        return BTreeMap::new();
    }
    let mut users = BTreeMap::new();
    let pairs = top.pairs("basic_auth_users");
    // An empty table lets everybody in, which is not what its name says.
    if pairs.is_empty() && top.is_empty_table("basic_auth_users") {
        top.wrong("basic_auth_users", "names nobody", "add a user, or remove the key");
    }
    for (name, hash) in pairs {
        if name.is_empty() || name.contains(':') || name.chars().any(char::is_control) {
            // The header cannot carry it: a colon ends the name there. It is not repeated, as whoever wrote a colon may have
            // put the password behind it.
            let reason = "has a name that no client can send";
            top.wrong("basic_auth_users", reason, "use names without `:`, and hashes behind them");
            continue;
        }
        let text = hash.text.trim();
        match text.parse::<HashParts>() {
            Ok(parts) if COSTS.contains(&parts.get_cost()) => {
                let user = User { hash: Secret::new(text), cost: parts.get_cost() };
                users.insert(name.to_owned(), user);
            }
            Ok(parts) => {
                let (least, most) = (COSTS.start(), COSTS.end());
                let reason = format!("has the cost {}", parts.get_cost());
                hash.wrong(reason, format!("hash it anew with a cost from {least} to {most}"));
            }
            Err(_) => hash.wrong("is no bcrypt hash", HOW),
        }
    }
    users
}
