//! When liveness was lost, and by which read that was shown.

use crate::observe::Mono;

/// A loss of liveness by one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// T_lost: for a process the read that first showed it, for a heartbeat two usual beats after its last advance.
    pub since: Mono,
    /// End of the read that showed it. Only a read of the lock that began later can prove a stale holder.
    pub shown: Mono,
}

impl Loss {
    /// The same loss for a tenure, by the first look that can have shown it for this tenure.
    pub fn seen_again(self, looked: Option<Mono>) -> Option<Loss> {
        Some(Loss { shown: self.shown.max(looked?), ..self })
    }
}
