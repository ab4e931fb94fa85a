//! What a configured source outside showed in one read: a claim, a fencing token, a count of side effects, a list of live
//! workers. It says what was read, not what follows.

use std::fmt;
use std::sync::Arc;

use super::node::FailReason;
use super::time::Span;

/// One read of one source.
#[derive(Clone, Debug)]
pub struct SourceRead {
    /// Which.
    pub source: SourceRef,
    /// When it was read.
    pub span: Span,
    /// What it showed; `None` if the source answered that there is nothing.
    pub value: Result<Option<SourceValue>, SourceFailed>,
}

/// Which source, by what the config calls it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceRef {
    /// What a worker says it holds.
    Claim {
        /// The worker.
        worker: Arc<str>,
    },
    /// The last fencing token issued for a lock.
    FencingIssued {
        /// The store.
        store: Arc<str>,
        /// The lock.
        lock: Arc<str>,
    },
    /// The largest fencing token that a resource accepted for a lock.
    FencingAccepted {
        /// The store.
        store: Arc<str>,
        /// The lock.
        lock: Arc<str>,
        /// The resource.
        resource: Arc<str>,
    },
    /// Writes that a resource refused for an old token, a counter of its own.
    FencingRejected {
        /// The store.
        store: Arc<str>,
        /// The lock.
        lock: Arc<str>,
        /// The resource.
        resource: Arc<str>,
    },
    /// Side effects on a resource, a counter of its own.
    EffectsTotal {
        /// The store.
        store: Arc<str>,
        /// The lock.
        lock: Arc<str>,
        /// The resource.
        resource: Arc<str>,
    },
    /// Logical requests among them, a counter of its own: what the total is beyond it are duplicates.
    EffectsDistinct {
        /// The store.
        store: Arc<str>,
        /// The lock.
        lock: Arc<str>,
        /// The resource.
        resource: Arc<str>,
    },
}

/// What a source showed.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceValue {
    /// A number that is not negative.
    Number(u64),
    /// What a worker claims to hold; the whole list each time, bounded.
    Claims(Vec<Claimed>),
}

/// One lock that a worker says it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The store's configured name.
    pub store: Arc<str>,
    /// The lock's name.
    pub lock: Arc<str>,
    /// The SHA-256 fingerprint of the token it says it has, if it says so.
    pub fingerprint: Option<String>,
}

/// Why a source could not be read; says nothing about what it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceFailed {
    /// Why.
    pub reason: FailReason,
    /// What exactly, for the log.
    pub detail: String,
}

/// One complete read of a list of live workers.
#[derive(Clone, Debug)]
pub struct ListRead {
    /// Its configured name.
    pub list: Arc<str>,
    /// When it was read.
    pub span: Span,
    /// Its members; an incomplete read is a failure.
    pub members: Result<Vec<ListMember>, SourceFailed>,
}

/// A member of a list of live workers.
#[derive(Clone, PartialEq)]
pub struct ListMember {
    /// What tokens and holders name: a worker, a job id, a host.
    pub name: Arc<str>,
    /// It is a job's id, which may be the token of a lock: no worker, and never shown.
    pub is_job: bool,
    /// Seconds since the epoch on that fleet's clock when it last beat, if the registry says so. For people.
    pub beat: Option<f64>,
}

impl fmt::Debug for ListMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.is_job { "job" } else { &*self.name };
        write!(f, "ListMember({name:?} beat {:?})", self.beat)
    }
}
