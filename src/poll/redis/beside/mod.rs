//! What is read after a sweep, on the primary only: the keys that belong to locks (`companions`) and the owner index
//! (`owners`). Plain pipelined commands, a hundred or so in each step, so that a read at an instant waits for one step at
//! most. None of it is part of the sweep: what is refused or missing here costs no lock its series.

mod ask;
mod companions;
mod owners;
mod refusals;

use super::ability::Abilities;
use super::conn::Conn;
use super::context::Context;
use super::failure::Failure;
use super::sweep::Sweeper;
use crate::clock;
use crate::observe::{Mono, Observation, ServerTime};
use companions::Companions;
use owners::Owners;
pub use refusals::Refused;

/// Places that one step looks through at most: most locks have nothing beside them.
const LOOKED_AT: usize = 16_384;

/// Rounds over what lies beside the locks of one node. A round that the next sweep overtakes goes on where it was.
#[derive(Default)]
pub struct Beside {
    companions: Companions,
    owners: Owners,
    /// The server's time and when it was asked for, to tell what is ahead of it now.
    server: Option<(ServerTime, Mono)>,
}

impl Beside {
    /// A sweep ended: what it showed has something beside it.
    pub fn begin(&mut self, sweeper: &Sweeper, context: &Context, server: (ServerTime, Mono)) {
        self.server = Some(server);
        self.companions.begin(sweeper);
        // In a cluster it is one shard's, and the tokens are those of all.
        if context.store.owner_index.is_some() && sweeper.membership.is_none() {
            self.owners.begin(sweeper);
        }
    }

    /// Reads nothing until the next sweep has ended: another connection, or not the primary any more.
    pub fn rest(&mut self) {
        self.server = None;
    }

    /// Whether there is something left to read.
    pub fn is_due(&self) -> bool {
        self.server.is_some() && !(self.companions.is_done() && self.owners.is_done())
    }

    /// Rights may have been granted.
    pub fn retry_refused(&mut self, sweeper: &mut Sweeper) {
        self.companions.retry_refused(sweeper);
        self.owners.retry_refused();
    }

    /// Reads some of it.
    pub async fn step(
        &mut self,
        conn: &mut Conn,
        sweeper: &mut Sweeper,
        abilities: &mut Abilities,
        context: &Context,
    ) -> Result<Vec<Observation>, Failure> {
        let Some((time, asked)) = self.server else { return Ok(Vec::new()) };
        if !self.companions.is_done() {
            let elapsed = i64::try_from(clock::mono().since(asked).as_millis()).unwrap_or(i64::MAX);
            let now_ms = time.0.div_euclid(1000).saturating_add(elapsed);
            let reads =
                self.companions.step(conn, sweeper, abilities, (context.id, now_ms)).await?;
            return Ok(reads.into_iter().map(|r| Observation::Companions(Box::new(r))).collect());
        }
        let Some(index) = &context.store.owner_index else { return Ok(Vec::new()) };
        let named = self.owners.step(conn, sweeper, abilities, (context, index.as_bytes())).await?;
        Ok(named.into_iter().map(|n| Observation::Owners(Box::new(n))).collect())
    }
}
