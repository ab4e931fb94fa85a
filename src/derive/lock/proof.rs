//! What a proof of two owners at once rests on, or a hint at it: kept for whoever has to understand it later. Judges nothing.
//! What is shown of a token is its fingerprint.

use std::sync::Arc;

use crate::derive::tenure::Tenure;
use crate::derive::words::{ContentionKind, Evidence, Liveness};
use crate::observe::{Expiry, Mono, Token};

/// One of the owners.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Party {
    /// The worker that something named as this owner.
    pub worker: Option<Arc<str>>,
    /// Its token; `None` where only a worker is known.
    pub token: Option<Token>,
    /// The fingerprint of its token, where no more is known of that.
    pub known_by: Option<Arc<str>>,
    /// The last E that it was seen with.
    pub expiry: Option<Expiry>,
    /// The node that shows it, where two do.
    pub node: Option<Arc<str>>,
}

impl Party {
    /// The owner of a tenure.
    pub fn of(tenure: &Tenure) -> Self {
        Self {
            worker: tenure.seat.named.clone(),
            token: tenure.owner.as_ref().map(|o| o.token.clone()),
            known_by: None,
            expiry: Some(tenure.expiry),
            node: None,
        }
    }

    /// The fingerprint of its token.
    pub fn fingerprint(&self) -> Option<String> {
        let known = || self.known_by.as_deref().map(str::to_owned);
        self.token.as_ref().map(Token::fingerprint).or_else(known)
    }

    /// For a person.
    fn in_words(&self) -> String {
        match (&self.worker, self.fingerprint()) {
            (Some(worker), _) => worker.to_string(),
            (None, Some(fingerprint)) => format!("the owner {fingerprint}"),
            (None, None) => "an owner".to_owned(),
        }
    }
}

/// What else it rests on.
#[derive(Clone, Debug, PartialEq)]
pub enum Basis {
    /// Reads of the key alone.
    Reads,
    /// How the first one's tenure ended.
    End {
        /// The evidence of that.
        evidence: Evidence,
        /// The primary's offset in the last read without its acquire.
        acquired_after: Option<u64>,
        /// Up to there the new primary has what was written.
        kept: Option<u64>,
    },
    /// The worker wrote its claim again, so many beats after the other one was first seen.
    Beats(u64),
    /// A token that a resource accepted fell.
    Token {
        /// The resource.
        resource: Arc<str>,
        /// From this.
        from: u64,
        /// To this.
        to: u64,
    },
    /// What the first one was when its lease ran out.
    Stood(Liveness),
}

/// A proof, or a hint.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// Of what kind.
    pub kind: ContentionKind,
    /// When it was complete.
    pub at: Mono,
    /// Who may believe in the lock, the first owner first. Of a fallen token only who holds it, if anybody.
    pub owners: Vec<Party>,
    /// What else it rests on.
    pub basis: Basis,
}

impl Proof {
    /// For a person; no secrets.
    pub fn in_words(&self) -> String {
        let who =
            |i: usize| self.owners.get(i).map_or_else(|| "another owner".into(), Party::in_words);
        let (a, b) = (who(0), who(1));
        match (self.kind, &self.basis) {
            (ContentionKind::Primaries, _) => {
                let at = |i: usize| {
                    let node = self.owners.get(i).and_then(|p| p.node.as_deref());
                    node.unwrap_or("another node").to_owned()
                };
                format!("{} says master too and grants it to {b}, {} to {a}", at(1), at(0))
            }
            (ContentionKind::Overwrite, _) => {
                format!("{b} wrote over {a} before the first one's lease was over")
            }
            (ContentionKind::Quorum, _) => {
                format!(
                    "servers lost votes of {a}, and {b} got enough before the first one's lease was over"
                )
            }
            (ContentionKind::Lost, Basis::End { evidence, .. }) => {
                let how = evidence.as_str();
                format!(
                    "the server lost it ({how}) from {a}, and {b} got it before the first one's lease was over"
                )
            }
            (ContentionKind::TokenReturned, _) => {
                format!("the token of {a}, new with each acquire, came back after {b} had the lock")
            }
            (ContentionKind::Claim, _) => {
                format!("{a} goes on writing that it holds it while {b} does")
            }
            (ContentionKind::Fencing, Basis::Token { resource, from, to }) => {
                format!("{resource} accepted token {to} after {from}")
            }
            (ContentionKind::Resumed, Basis::Stood(liveness)) => {
                let was = liveness.as_str();
                format!("{a} came back, whose lease ran out while it was {was}, and {b} holds it")
            }
            (ContentionKind::Slowlog, _) => {
                format!("slow acquires of {a} and {b} within one lease, which proves nothing")
            }
            _ => format!("{a} and {b} had it at once"),
        }
    }
}
