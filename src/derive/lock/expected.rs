//! Whether a lock is held by one of those whom the config expects to hold it.

use super::{Lock, ReadContext};
use crate::derive::wanted::Effects;
use crate::derive::words::Signal;

impl Lock {
    /// Not judged where nobody in particular is expected, or nothing names the holder.
    pub(super) fn judge_expected(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let name = self.tenure().map(|t| t.seat.named.clone());
        let value = match &name {
            _ if self.rules.workers.is_empty() => None,
            None => Some(false),
            Some(None) => None,
            Some(Some(name)) => Some(!self.rules.workers.contains(name)),
        };
        let detail = || match name.flatten() {
            Some(name) => format!("held by {name}, who is none of its configured `workers`"),
            None => String::new(),
        };
        self.signal(Signal::HolderUnexpected, value, c.seen.span.done, detail, fx);
    }
}
