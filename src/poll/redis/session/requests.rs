//! What a session is asked for while it polls: noted here, and served in its turn.

use tokio::sync::mpsc::error::TryRecvError;

use super::{MAX_PARTS, MAX_TIMED, Session};
use crate::clock;
use crate::observe::KeyId;
use crate::observe::node::FailReason;
use crate::poll::redis::messages::{End, Request};
use crate::poll::redis::parts::PartsFailed;

impl Session<'_> {
    /// Takes what was asked for meanwhile, as far as it fits; best effort.
    pub(super) fn take_requests(&mut self) -> Result<(), End> {
        loop {
            match self.task.requests.try_recv() {
                Ok(request) => self.accept(request),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(End::Stop),
            }
        }
    }

    pub(super) fn accept(&mut self, request: Request) {
        match request {
            Request::Read(keys, at) => {
                let room = MAX_TIMED.saturating_sub(self.timed_keys);
                let keys: Vec<KeyId> = keys.into_iter().take(room).collect();
                self.timed_keys += keys.len();
                if !keys.is_empty() {
                    self.timed.entry(at).or_default().extend(keys);
                }
            }
            Request::Changed(keys) => {
                let now = clock::mono();
                self.changed |= !keys.is_empty();
                self.accept(Request::Read(keys, now));
            }
            Request::Facts => self.facts_wanted = true,
            Request::RetryRefused => self.task.retry_refused(),
            Request::Learned(command, ability) => self.task.abilities.set(command, ability),
            Request::Parts(requests, reply) if self.parts.len() < MAX_PARTS => {
                self.parts.push_back((requests, reply));
            }
            Request::Parts(_, reply) => {
                let detail = "too many reads wait for this node already".to_owned();
                let _ = reply.send(Err(PartsFailed { reason: FailReason::Other, detail }));
            }
        }
    }
}
