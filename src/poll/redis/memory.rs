//! A server that is out of memory: at its `maxmemory`, with nothing left that it may evict, it queues no command of a
//! transaction, not even a read, while it answers the same reads outside of one. Just then renewals begin to fail, so
//! reading goes on without transactions until they work again.
//!
//! What that costs: the commands of a batch are still sent in one piece, but another client's command can come between
//! two of them. Measured under 20 000 writes a second, less than one in a million pairs of value and expiry is torn that
//! way, and a server that refuses memory hardly takes writes. All reads of values come before those of expiries, so:
//! * A key that went in between is absent. `TIME` is read again at the end and that later one is reported, so that a lease
//!   that ran out within the batch never looks released before its end.
//! * A key that came in between has no value yet and is read again ([`Outcome::Retype`](super::slot::Outcome)).
//! * A key that another owner took in between shows the old owner with the new expiry, which looks like one more renewal
//!   until the next read. Nothing is made of a single one, and this alone is accepted.

use std::time::Duration;

use tracing::{info, warn};

use super::batch::{Dialect, Form, Packed};
use super::codec::Item;
use super::conn::Conn;
use super::failure::{Failure, first_word};
use super::groups::pack;
use super::pack;
use super::pipelined::ASKING;
use super::sweep::Sweeper;
use crate::clock;
use crate::observe::Span;

/// Between two attempts at a transaction; each failed one raises the server's error counters by two.
const RETRY: Duration = Duration::from_secs(5);

impl Sweeper {
    /// Sends a batch, packed for the present dialect; once more without a transaction if the server has no memory for
    /// one. Gives the number of replies there are now.
    pub(super) async fn ask_batch(
        &mut self,
        conn: &mut Conn,
        form: Form,
        members: &[u32],
        packed: &Packed,
    ) -> Result<(Span, usize), Failure> {
        let span = self.exchange(conn, form, members, packed).await?;
        if !self.groups.dialect().multi || !no_memory(conn, packed.replies) {
            return Ok((span, packed.replies));
        }
        self.ask_without(conn, form, members).await
    }

    /// Sends a batch without a transaction, for which there is no memory from now on.
    pub(super) async fn ask_without(
        &mut self,
        conn: &mut Conn,
        form: Form,
        members: &[u32],
    ) -> Result<(Span, usize), Failure> {
        if self.starved.replace(clock::mono()).is_none() {
            warn!(node = %self.node.addr,
                "the server is out of memory (maxmemory): clients cannot acquire locks, and renewals by SET or in a transaction fail; locks are read without transactions until that ends");
        }
        self.bracket(false);
        let plain = pack(form, self.groups.dialect(), members, &self.slots);
        let span = self.exchange(conn, form, members, &plain).await?;
        Ok((span, plain.replies))
    }

    /// While batches are read without transactions, tries now and then whether those work again.
    pub(super) async fn try_transaction(&mut self, conn: &mut Conn) -> Result<(), Failure> {
        let now = clock::mono();
        let due = self.starved.is_some_and(|tried| now.since(tried) >= RETRY);
        if self.groups.dialect().multi || !due {
            return Ok(());
        }
        // One command is enough: a batch would raise the error counters by one for each of its keys.
        let mut request = Vec::new();
        ["MULTI", "TIME", "EXEC"].iter().for_each(|name| pack::command(&mut request, &[name]));
        conn.exchange(&request, 3).await?;
        self.starved = Some(now);
        if matches!(conn.walk(2).next(), Some(Item::Many(_))) {
            self.bracket(true);
        }
        Ok(())
    }

    /// A sweep begins: if transactions went through for the whole of the last one, there is memory again. A server at the
    /// very edge would otherwise fill the log.
    pub(super) fn note_memory(&mut self) {
        if self.groups.dialect().multi && self.starved.take().is_some() {
            info!(node = %self.node.addr, "the server has memory again; locks are read in transactions");
        }
    }

    async fn exchange(
        &mut self,
        conn: &mut Conn,
        form: Form,
        members: &[u32],
        packed: &Packed,
    ) -> Result<Span, Failure> {
        let exchanged = match self.asks_first() {
            false => conn.exchange(&packed.bytes, packed.replies).await,
            true => {
                let request = [ASKING, &packed.bytes].concat();
                let exchanged = conn.exchange(&request, packed.replies + 1).await;
                conn.look_at(1, packed.replies);
                exchanged
            }
        };
        self.find_huge(conn, form, members, packed.replies, exchanged)
    }

    fn bracket(&mut self, multi: bool) {
        let dialect = self.groups.dialect();
        self.groups.speak(Dialect { multi, ..dialect });
    }

    /// Uses the commands of this dialect from now on, in transactions as long as those work.
    pub(super) fn speak(&mut self, dialect: Dialect) {
        let multi = self.groups.dialect().multi;
        self.groups.speak(Dialect { multi, ..dialect });
    }
}

/// Whether a transaction was aborted, and is over, because what it consists of could not be queued for want of memory.
/// Memory may run out, or be freed, between any two of its commands.
pub(super) fn no_memory(conn: &Conn, replies: usize) -> bool {
    let error = |index, word: &[u8]| matches!(conn.walk(index).next(), Some(Item::Error(e)) if first_word(e) == word);
    let last = replies.saturating_sub(1);
    error(last, b"EXECABORT") && (0..last).any(|index| error(index, b"OOM"))
}
