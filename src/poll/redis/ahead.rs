//! Batches of a sweep that are sent before what came of the batch before is looked at: the server works on one while we
//! take in the other. One is in flight at a time all the same, and a server that refused a batch, or is out of memory, is
//! sent nothing ahead, because that batch has to be settled first. Nodes of a cluster are asked in another way, see
//! [`pipelined`](super::pipelined).

use super::ability::Abilities;
use super::batch::Form;
use super::blame::is_refused;
use super::conn::Conn;
use super::failure::Failure;
use super::memory::no_memory;
use super::sweep::Sweeper;
use crate::observe::{BatchRead, Mono, Span};

/// A batch that was sent and whose replies were not taken in.
pub struct Ahead {
    form: Form,
    /// Its keys when it was sent; what is taken in of another batch may move keys between batches.
    members: Vec<u32>,
    replies: usize,
    sent: Mono,
}

impl Sweeper {
    /// Whether batches may be sent ahead.
    pub fn may_send_ahead(&self) -> bool {
        self.groups.dialect().multi && self.membership.is_none()
    }

    /// Sends a batch of the plan; `None` if it has no keys any more.
    pub async fn send(
        &mut self,
        conn: &mut Conn,
        (form, index): (Form, usize),
    ) -> Result<Option<Ahead>, Failure> {
        let Some(batch) = self.groups.packed(form, index, &self.slots) else { return Ok(None) };
        if batch.members.is_empty() {
            return Ok(None);
        }
        let mut members = self.spare.pop().unwrap_or_default();
        members.clear();
        members.extend_from_slice(&batch.members);
        let sent = conn.send(&batch.packed.bytes).await?;
        Ok(Some(Ahead { form, members, replies: batch.packed.replies, sent }))
    }

    /// Waits for its replies; they have to be taken in before those to the next one are received.
    pub async fn receive(&mut self, conn: &mut Conn, ahead: &Ahead) -> Result<Span, Failure> {
        let received = conn.receive(ahead.sent, ahead.replies).await;
        self.find_huge(conn, ahead.form, &ahead.members, ahead.replies, received)
    }

    /// Whether the server did what a batch asked for, so that nothing has to be asked again before the next one.
    pub fn is_done(&self, conn: &Conn, ahead: &Ahead) -> bool {
        !is_refused(conn, self.groups.dialect(), ahead.replies)
    }

    /// Takes in what came. Asks again, for what the server refused, only if the batch is not done.
    pub async fn take_in(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        (ahead, span): (Ahead, Span),
        reads: &mut Vec<BatchRead>,
    ) -> Result<(), Failure> {
        let Ahead { form, members, replies, .. } = ahead;
        let came = match no_memory(conn, replies) {
            true => self.ask_without(conn, form, &members).await?,
            false => (span, replies),
        };
        match self.take_replies(conn, form, &members, came, reads)? {
            None => {
                self.after(Some(form), abilities);
                self.spare.push(members);
                Ok(())
            }
            Some(blame) => self.bisect(conn, abilities, form, members, blame, reads).await,
        }
    }
}
