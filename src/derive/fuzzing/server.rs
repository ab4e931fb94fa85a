//! The servers of the invented world: keys with owners and expiries, and what each node says of itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::config::TokenKind;
use crate::observe::lock::{Decoded, Endless, Holding, Mode, Shape, Sharing};
use crate::observe::node::{Flushes, NodeRef};
use crate::observe::{
    Expiry, Found, KeyId, Mono, NodeFacts, Owner, Role, ServerTime, Span, StoreId, Token,
};

/// The one store.
pub const STORE: StoreId = StoreId(1);

/// One who holds a lock.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Its token, which begins with its worker's name.
    pub token: String,
    /// When its share ends, in milliseconds of the server's clock; for permits.
    pub until: Option<i64>,
    /// How often it holds.
    pub count: u64,
}

/// A key.
#[derive(Clone, Debug)]
pub struct Key {
    /// Who holds it.
    pub holders: Vec<Holder>,
    /// When it ends.
    pub expiry: Option<i64>,
    /// Its value is of another shape than a lock's.
    pub odd: bool,
}

/// What a node says of itself and has.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its address.
    pub addr: Arc<str>,
    /// Its keys.
    pub keys: BTreeMap<KeyId, Key>,
    /// It is a replica.
    pub is_replica: bool,
    /// Its clock less ours.
    pub offset_ms: i64,
    /// The number of our connection to it.
    pub connection: u64,
    /// Counts its starts.
    pub run: u64,
    /// Counts the histories it had.
    pub lineage: u64,
    /// The history before, and where it ended.
    pub before: Option<(u64, u64)>,
    /// Bytes of its history.
    pub written: u64,
    /// `FLUSHALL`s.
    pub flushes: u64,
    /// Keys that were evicted.
    pub evicted: u64,
    /// It does not answer us.
    pub is_away: bool,
}

impl Server {
    /// A server that has nothing.
    pub fn new(addr: &str, is_replica: bool) -> Self {
        Self {
            addr: addr.into(),
            keys: BTreeMap::new(),
            is_replica,
            offset_ms: 1_700_000_000_000,
            connection: 1,
            run: 1,
            lineage: 1,
            before: None,
            written: 0,
            flushes: 0,
            evicted: 0,
            is_away: false,
        }
    }

    /// Its clock.
    pub fn now(&self, ms: u64) -> i64 {
        self.offset_ms.saturating_add_unsigned(ms)
    }

    /// Its reference.
    pub fn node(&self) -> NodeRef {
        NodeRef { store: STORE, line: Default::default(), addr: self.addr.clone() }
    }

    /// Its role.
    pub fn role(&self) -> Role {
        if self.is_replica { Role::Replica { linked: true } } else { Role::Master }
    }

    /// Lets go of what is over.
    pub fn expire(&mut self, ms: u64) {
        let now = self.now(ms);
        for key in self.keys.values_mut() {
            key.holders.retain(|h| h.until.is_none_or(|until| now <= until));
        }
        self.keys.retain(|_, k| {
            k.expiry.is_none_or(|end| now <= end) && (k.odd || !k.holders.is_empty())
        });
    }

    /// What a read of a key shows.
    pub fn found(&self, id: KeyId, kind: Kind) -> Found {
        let Some(key) = self.keys.get(&id) else { return Found::Absent };
        let expiry = key.expiry.map_or(Expiry::Never, |ms| Expiry::At(ServerTime::from_ms(ms)));
        Found::Present { value: Arc::new(kind.decode(key)), expiry }
    }

    /// Its `INFO`, after a read of this span.
    pub fn facts(&self, ms: u64, span: Span, primary: &str) -> NodeFacts {
        let id = |n: u64| format!("{n:040x}");
        NodeFacts {
            node: self.node(),
            connection: self.connection,
            span,
            time: Some(ServerTime::from_ms(self.now(ms) + 1)),
            version: "7.0.15".into(),
            flavor: "redis".into(),
            mode: "standalone".into(),
            run_id: Some(format!("{}-{}", self.addr, self.run)),
            role: self.role(),
            replid: Some(id(self.lineage)),
            replid2: self.before.map(|(lineage, _)| id(lineage)),
            second_offset: self.before.map(|(_, end)| end),
            offset: Some(self.written),
            primary: self.is_replica.then(|| primary.to_owned()),
            replicas: vec![],
            connected_replicas: Some(u64::from(!self.is_replica)),
            min_replicas_to_write: None,
            aof: Some(false),
            loaded_keys: Some(0),
            maxmemory: Some(u64::from(self.evicted > 0)),
            maxmemory_policy: Some("allkeys-lru".into()),
            evicted_keys: Some(self.evicted),
            expired_keys: Some(0),
            connected_clients: Some(3),
            connections_received: Some(1),
            rejected_connections: Some(0),
            flushes: Some(Flushes { all: self.flushes, one: 0, swaps: 0 }),
            has_other_databases: Some(false),
            permissions: vec![],
        }
    }
}

/// The kinds of locks that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One holder, a token for each acquire.
    Exclusive,
    /// One holder, whose token is always the same, and who may take it several times.
    Reentrant,
    /// Two permits.
    Permits,
}

impl Kind {
    fn decode(self, key: &Key) -> Decoded {
        if key.odd {
            return Decoded::nobody("string", Shape::Json);
        }
        let (shape, mode) = match self {
            Kind::Exclusive => (Shape::Text, Mode::Exclusive),
            Kind::Reentrant => (Shape::OwnerHash, Mode::Exclusive),
            Kind::Permits => (Shape::Zset, Mode::Permit),
        };
        let mut holders: Vec<Holding> = key
            .holders
            .iter()
            .map(|h| Holding {
                owner: Arc::new(Owner {
                    token: Token::new(h.token.as_bytes()),
                    worker: h.token.split(':').next().map(Arc::from),
                    host: None,
                    pid: None,
                    thread: None,
                }),
                count: h.count,
                mode,
                until: h.until.map(ServerTime::from_ms),
                refreshed_ms: None,
                taken_at: None,
            })
            .collect();
        holders.sort_by(|a, b| a.owner.token.bytes().cmp(b.owner.token.bytes()));
        let reusable = self == Kind::Reentrant;
        Decoded {
            tokens: if reusable { TokenKind::Reusable } else { TokenKind::PerAcquire },
            reuses_tokens: reusable,
            holders,
            sharing: match self {
                Kind::Permits => Sharing::Permits(Some(2)),
                _ => Sharing::Exclusive,
            },
            endless: if self == Kind::Permits { Endless::Carried } else { Endless::Abnormal },
            ..Decoded::nobody("string", shape)
        }
    }
}

/// A read that began at this millisecond and took so many.
pub fn span(ms: u64, took: u64) -> Span {
    let sent = Mono(ms * 1_000_000);
    Span { sent, done: sent.plus(Duration::from_millis(took)) }
}
