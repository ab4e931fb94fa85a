//! Reads `sentinel` of a store, and which of its servers and sentinels are spoken to by TLS. Knows nothing of what a
//! sentinel says.

use super::super::cursor::Cursor;
use super::super::model::{RedisUrl, Sentinels, TlsFiles, Topology};
use super::{noted, password, tls};

/// The port of sentinels whose URL names none.
pub(super) const PORT: u16 = 26379;
/// Sentinels of one store at most; so many are never needed for a majority that can be trusted.
pub(super) const MOST: usize = 16;

/// Says that `sentinel` is there and the servers have none.
pub(super) fn refuse(at: &Cursor<'_>) {
    if at.has("sentinel") {
        let fix = "set `topology: sentinel`, with the sentinels' addresses in `urls`, or remove it";
        at.wrong("sentinel", "is only for `topology: sentinel`", fix);
        read(at, None, &TlsFiles::default());
    }
}

/// The sentinels. `url` is one of theirs and becomes the servers': `rediss` is TLS to both; with `redis` a table `tls` is TLS
/// to the servers, and one below `sentinel` TLS to the sentinels.
pub(super) fn read(
    at: &Cursor<'_>,
    url: Option<&mut RedisUrl>,
    servers: &TlsFiles,
) -> Option<Topology> {
    at.require(
        "sentinel",
        "add `sentinel: {master: NAME}` with the name the sentinels know the primary by",
    );
    let below = at.table("sentinel")?;
    below
        .require("master", "add the name after `sentinel monitor` in the sentinels' configuration");
    let master = below.text("master").and_then(|name| noted(&below, "master", master(name)));
    let own = below.has("tls").then(|| tls(&below, None, "rediss://"));
    let username = below.text("username").map(str::to_owned);
    let password = password(&below);
    let url = url?;
    let tls = own.or_else(|| url.tls.then(|| servers.clone()));
    url.tls |= at.has("tls");
    Some(Topology::Sentinel(Box::new(Sentinels { master: master?, username, password, tls })))
}

/// A name that a sentinel can know.
fn master(name: &str) -> Result<String, (String, String)> {
    if name.chars().any(|c| c.is_whitespace() || c.is_control()) || name.len() > 256 {
        let fix = "write the word after `sentinel monitor` in the sentinels' configuration";
        return Err(("is no name a sentinel can have".to_owned(), fix.to_owned()));
    }
    Ok(name.to_owned())
}
