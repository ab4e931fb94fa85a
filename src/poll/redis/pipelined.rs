//! Reads on a node of a cluster: a transaction for each key, because keys of two slots cannot be in one, and as many of them
//! in one exchange as a batch has keys elsewhere. What a node says of a key that is not its own to tell of is noted here.

use super::ability::Abilities;
use super::batch::{Form, Packed};
use super::blame::Blame;
use super::cluster::redirect::Redirect;
use super::conn::Conn;
use super::failure::Failure;
use super::groups::Batch;
use super::memory::no_memory;
use super::sweep::Sweeper;
use crate::observe::{BatchRead, KeyId};

/// Before a transaction or a command: it may be about a key of a slot that is on its way to this node.
pub const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

impl Sweeper {
    /// Whether reads begin with [`ASKING`].
    pub(super) fn asks_first(&self) -> bool {
        self.groups.dialect().multi && self.membership.is_some_and(|m| m.asking)
    }

    /// The node's host, as we reach it.
    pub(super) fn host(&self) -> &str {
        self.node.addr.rsplit_once(':').map_or("", |(host, _)| host)
    }

    /// Keeps in mind that another node is to be asked for a key.
    pub(super) fn stray(&mut self, place: u32, to: Redirect) {
        if let Some(slot) = self.slots.get(place) {
            self.strays.push((slot.watched.id, to));
        }
    }

    /// Keys that another node is to be asked for, once each time they were asked for here.
    pub fn take_strays(&mut self) -> Vec<(KeyId, Redirect)> {
        std::mem::take(&mut self.strays)
    }

    /// Runs some batches of the plan in one exchange.
    pub async fn run_some(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        plan: &[(Form, usize)],
    ) -> Result<Vec<BatchRead>, Failure> {
        if !self.groups.dialect().multi {
            let mut reads = Vec::new();
            for batch in plan {
                reads.extend(self.run(conn, abilities, *batch).await?);
            }
            return Ok(reads);
        }
        let mut taken: Vec<((Form, usize), Batch)> = Vec::with_capacity(plan.len());
        for (form, index) in plan {
            taken.push(((*form, *index), self.groups.take(*form, *index, &self.slots)));
        }
        let parts: Vec<(Form, &[u32], &Packed)> = taken
            .iter()
            .filter(|(_, b)| !b.members.is_empty())
            .map(|((form, _), b)| (*form, b.members.as_slice(), &b.packed))
            .collect();
        let mut reads = Vec::with_capacity(parts.len());
        let done = self.transact_some(conn, &parts, &mut reads).await;
        for ((form, index), batch) in taken {
            self.groups.restore(form, index, batch);
        }
        let refused = done?;
        for form in Form::ALL {
            let asked = plan.iter().filter(|(f, _)| *f == form).count();
            let refused = refused.iter().filter(|(f, _, _)| *f == form).count();
            self.after((asked > refused).then_some(form), abilities);
        }
        self.settle_some(conn, abilities, refused, &mut reads).await?;
        Ok(reads)
    }

    /// What is left to do after several batches: those that the server refused.
    pub(super) async fn settle_some(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        refused: Vec<(Form, Vec<u32>, Option<Blame>)>,
        reads: &mut Vec<BatchRead>,
    ) -> Result<(), Failure> {
        for (form, members, blame) in refused {
            match blame {
                Some(blame) => self.bisect(conn, abilities, form, members, blame, reads).await?,
                // There was no memory for the transaction: once more, by what is left then.
                None => {
                    let packed =
                        super::groups::pack(form, self.groups.dialect(), &members, &self.slots);
                    let blame = self.transact(conn, form, &members, &packed, reads).await?;
                    self.after(blame.is_none().then_some(form), abilities);
                    if let Some(blame) = blame {
                        self.bisect(conn, abilities, form, members, blame, reads).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Several batches in one exchange. Gives those that the server refused, with the blame if there is one.
    pub(super) async fn transact_some(
        &mut self,
        conn: &mut Conn,
        parts: &[(Form, &[u32], &Packed)],
        reads: &mut Vec<BatchRead>,
    ) -> Result<Vec<(Form, Vec<u32>, Option<Blame>)>, Failure> {
        let lead = usize::from(self.asks_first());
        let mut request = Vec::new();
        let mut replies = 0;
        for (_, _, packed) in parts {
            if lead > 0 {
                request.extend_from_slice(ASKING);
            }
            request.extend_from_slice(&packed.bytes);
            replies += lead + packed.replies;
        }
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        let exchanged = conn.exchange(&request, replies).await;
        let mut first = 0;
        let mut refused = Vec::new();
        for (form, members, packed) in parts {
            let end = first + lead + packed.replies;
            conn.look_at(first + lead, packed.replies);
            first = end;
            match &exchanged {
                Ok(_) if no_memory(conn, packed.replies) => {
                    refused.push((*form, members.to_vec(), None));
                }
                Ok(span) => {
                    let came = (*span, packed.replies);
                    let blame = self.take_replies(conn, *form, members, came, reads)?;
                    refused.extend(blame.map(|b| (*form, members.to_vec(), Some(b))));
                }
                // The one whose reply was under way.
                Err(_) if conn.came() < end => {
                    let failed = exchanged.clone();
                    return self
                        .find_huge(conn, *form, members, packed.replies, failed)
                        .map(|_| Vec::new());
                }
                Err(_) => {}
            }
        }
        exchanged.map(|_| refused)
    }
}
