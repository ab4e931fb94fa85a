//! The owner index: a hash that names the worker of each opaque token. Looked up for the tokens that hold locks now and
//! name no worker themselves. Tokens are credentials: nothing here logs what was asked or answered.

use std::collections::HashSet;
use std::sync::Arc;

use tracing::warn;

use super::LOOKED_AT;
use super::ask::{self, Answer};
use super::companions::tell_unable;
use crate::clock;
use crate::observe::lock::OwnersNamed;
use crate::observe::{Mono, Token, label};
use crate::poll::redis::ability::{Abilities, RETRY_REFUSED};
use crate::poll::redis::codec::Item;
use crate::poll::redis::conn::Conn;
use crate::poll::redis::context::Context;
use crate::poll::redis::failure::Failure;
use crate::poll::redis::pack;
use crate::poll::redis::sweep::Sweeper;

/// Tokens of one round.
pub const PER_ROUND: usize = 1000;
/// Tokens of one step: one pipeline for their sizes, one for those that are names.
const PER_STEP: usize = 200;
/// Tokens of one `HMGET`.
const PIECE: usize = 50;

/// The round over all tokens.
#[derive(Default)]
pub struct Owners {
    at: usize,
    ahead: usize,
    /// What this round asked for already: one owner may hold many locks.
    asked: HashSet<Token>,
    /// Since when the index cannot be read.
    refused: Option<Mono>,
}

impl Owners {
    /// A round begins.
    pub fn begin(&mut self, sweeper: &Sweeper) {
        self.ahead = sweeper.slots.width();
        self.asked.clear();
    }

    /// Whether the round is over.
    pub fn is_done(&self) -> bool {
        self.ahead == 0 || self.asked.len() >= PER_ROUND
    }

    /// Rights may have been granted.
    pub fn retry_refused(&mut self) {
        self.refused = None;
    }

    /// Looks up the next tokens in the hash at `index`.
    pub async fn step(
        &mut self,
        conn: &mut Conn,
        sweeper: &Sweeper,
        abilities: &mut Abilities,
        (context, index): (&Context, &[u8]),
    ) -> Result<Option<OwnersNamed>, Failure> {
        let left_alone = self.refused.is_some_and(|s| clock::mono().since(s) < RETRY_REFUSED);
        let able = abilities.worth_trying("hstrlen") && abilities.worth_trying("hmget");
        if left_alone || !able {
            self.ahead = 0;
            return Ok(None);
        }
        let tokens = self.gather(sweeper);
        if tokens.is_empty() {
            return Ok(None);
        }
        let mut request = Vec::new();
        for token in &tokens {
            pack::command(&mut request, &[b"HSTRLEN".as_slice(), index, token.bytes()]);
        }
        let mut span = conn.exchange(&request, tokens.len()).await?;
        let mut sized = Vec::new();
        for i in 0..tokens.len() {
            match conn.walk(i).next() {
                Some(Item::Int(n)) => sized.push(n > 0 && ask::is_short(n)),
                Some(Item::Error(e)) => return self.refuse("hstrlen", e, abilities, context),
                _ => return Err(Failure::unexpected("HSTRLEN")),
            }
        }
        abilities.serves("hstrlen");
        let (there, nameless): (Vec<_>, Vec<_>) =
            tokens.into_iter().zip(sized).partition(|(_, is_there)| *is_there);
        let mut names: Vec<(Token, Option<Arc<str>>)> =
            nameless.into_iter().map(|(token, _)| (token, None)).collect();
        let mut request = Vec::new();
        for piece in there.chunks(PIECE) {
            let keys = std::iter::once(index).chain(piece.iter().map(|(token, _)| token.bytes()));
            pack::command_over(&mut request, "HMGET", piece.len() + 1, keys);
        }
        if !there.is_empty() {
            span.done = conn.exchange(&request, there.len().div_ceil(PIECE)).await?.done;
        }
        for (i, piece) in there.chunks(PIECE).enumerate() {
            let mut walk = conn.walk(i);
            match walk.next() {
                Some(Item::Many(n)) if n == piece.len() => {}
                Some(Item::Error(e)) => return self.refuse("hmget", e, abilities, context),
                _ => return Err(Failure::unexpected("HMGET")),
            }
            for (token, _) in piece {
                names.push((token.clone(), name(walk.next())));
            }
            abilities.serves("hmget");
        }
        self.refused = None;
        Ok(Some(OwnersNamed { store: context.id, span, names }))
    }

    /// Tokens to ask for in this step; moves on.
    fn gather(&mut self, sweeper: &Sweeper) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut looked_at = 0;
        while !self.is_done() && tokens.len() < PER_STEP && looked_at < LOOKED_AT {
            let place = self.at % sweeper.slots.width().max(1);
            self.at = place + 1;
            self.ahead -= 1;
            looked_at += 1;
            let slot = u32::try_from(place).ok().and_then(|p| sweeper.slots.get(p));
            let Some((decoded, true)) = slot.and_then(|s| s.last()) else { continue };
            for holding in decoded.holders.iter().filter(|h| h.owner.worker.is_none()) {
                let token = &holding.owner.token;
                if self.asked.insert(token.clone()) {
                    tokens.push(token.clone());
                }
            }
        }
        tokens
    }

    /// Leaves the index alone for a while.
    fn refuse(
        &mut self,
        command: &'static str,
        error: &[u8],
        abilities: &mut Abilities,
        context: &Context,
    ) -> Result<Option<OwnersNamed>, Failure> {
        match ask::lack(error)? {
            Answer::Unable => tell_unable(abilities, command),
            _ => {
                if self.refused.is_none() {
                    warn!(store = %context.store.name,
                        "owner_index cannot be read, so opaque tokens name no workers; is it a hash, and may the ACL user read it? tried again in 5 minutes or at a reload");
                }
                self.refused = Some(clock::mono());
            }
        }
        self.ahead = 0;
        Ok(None)
    }
}

/// A worker's name, printable; what is none is none.
fn name(item: Option<Item<'_>>) -> Option<Arc<str>> {
    match item {
        Some(Item::Bulk(bytes)) if !bytes.is_empty() && bytes.len() <= ask::MAX_TEXT => {
            Some(label::text(bytes).into())
        }
        _ => None,
    }
}
