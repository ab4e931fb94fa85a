//! The requests to a sentinel, over one connection. What the ACL refuses is not asked for again and again, except the one
//! question that cannot be done without.

use super::super::ability::{Abilities, Ability};
use super::super::codec::{Item, Walk};
use super::super::conn::Conn;
use super::super::failure::{Failure, is_noperm};
use super::super::handshake::Hello;
use super::super::info::{self, Origin};
use super::super::pack;
use super::answer::{self, Answer};
use crate::config::RedisAddr;
use crate::observe::Span;
use crate::observe::node::{FailReason, NodeFacts, NodeRef, Role};

/// What a sentinel says of itself, once for each connection. `INFO` may be refused: a sentinel is asked for others.
pub async fn facts(
    conn: &mut Conn,
    abilities: &mut Abilities,
    (node, connection): (NodeRef, u64),
    hello: &Hello,
) -> Result<NodeFacts, Failure> {
    let mut text = String::new();
    let span = if abilities.worth_trying("info") {
        let (_, span) = conn.call(&[b"INFO", b"server"]).await?;
        match conn.walk(0).next() {
            Some(Item::Bulk(b) | Item::Simple(b) | Item::Other(b)) => {
                text = String::from_utf8_lossy(b).into_owned();
                abilities.set("info", Ability::Works);
            }
            Some(Item::Error(e)) if is_noperm(e) => abilities.refuse("info"),
            Some(Item::Error(e)) => return Err(Failure::server("INFO", e)),
            _ => return Err(Failure::unexpected("INFO")),
        }
        span
    } else {
        let now = crate::clock::mono();
        Span { sent: now, done: now }
    };
    let mut facts = info::facts(&text, Origin { node, connection, span, time: None, db: 0 });
    if !text.is_empty() && facts.role != Role::Sentinel {
        return Err(answer::not_a_sentinel());
    }
    facts.role = Role::Sentinel;
    facts.mode = "sentinel".to_owned();
    if facts.version.is_empty() {
        facts.version.clone_from(&hello.version);
    }
    abilities.serve(facts.run_id.as_deref());
    Ok(facts)
}

/// The optional questions, by what they are called where they are refused.
const OPTIONAL: [(&str, &str); 2] =
    [("sentinel|replicas", "REPLICAS"), ("sentinel|sentinels", "SENTINELS")];

/// Asks for the primary, its replicas and the other sentinels in one round trip.
pub async fn ask(
    conn: &mut Conn,
    abilities: &mut Abilities,
    master: &str,
) -> Result<(Answer, Span), Failure> {
    let mut request = Vec::new();
    pack::command(&mut request, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", master]);
    let asked: Vec<(&'static str, &str)> =
        OPTIONAL.into_iter().filter(|(ability, _)| abilities.worth_trying(ability)).collect();
    for (_, word) in &asked {
        pack::command(&mut request, &["SENTINEL", word, master]);
    }
    let span = conn.exchange(&request, 1 + asked.len()).await?;
    let Some(primary) = answer::primary(conn.walk(0))? else { return Err(unknown(master)) };
    let mut answer = Answer { primary: Some(primary), ..Answer::default() };
    for (index, (ability, word)) in asked.into_iter().enumerate() {
        let found = list(conn.walk(index + 1), abilities, ability, word)?;
        match ability {
            "sentinel|replicas" => answer.replicas = found,
            _ => answer.sentinels = found,
        }
    }
    Ok((answer, span))
}

fn list(
    reply: Walk<'_>,
    abilities: &mut Abilities,
    ability: &'static str,
    word: &str,
) -> Result<Vec<RedisAddr>, Failure> {
    match reply.clone().next() {
        Some(Item::Error(e)) if is_noperm(e) => {
            abilities.refuse(ability);
            Ok(Vec::new())
        }
        Some(Item::Error(e)) => Err(Failure::server(&format!("SENTINEL {word}"), e)),
        _ => {
            abilities.serves(ability);
            answer::instances(reply).ok_or_else(|| Failure::unexpected(&format!("SENTINEL {word}")))
        }
    }
}

/// The sentinel watches other masters, or none.
fn unknown(master: &str) -> Failure {
    let detail = format!(
        "this sentinel knows no master `{master}`; write in `sentinel.master` of the store the name that its `sentinel monitor` has"
    );
    Failure::new(FailReason::Missing, detail)
}
