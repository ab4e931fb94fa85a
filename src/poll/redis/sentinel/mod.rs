//! Sentinels: each has a task of its own that asks it, once a poll, where the primary is, which replicas and which other
//! sentinels it knows. What they say together is the supervisor's to find; nothing here reads a lock.

pub(in crate::poll) mod answer;
mod ask;
mod task;
mod votes;

use tokio::sync::oneshot;

pub use answer::Answer;
pub use task::SentinelTask;
pub use votes::Votes;

use crate::observe::node::FailReason;

/// What the task of a sentinel tells its store.
pub enum Says {
    /// Connected; the answer says whether to go on, or that this sentinel is asked already under another address.
    Up(Option<String>, oneshot::Sender<bool>),
    /// It answered.
    Answer(Answer),
    /// It does not answer, or does not know the primary.
    Down(FailReason),
}
