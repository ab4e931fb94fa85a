//! The steps of a sweep: what it still has to type, the batches one after the other, each sent as soon as the replies to the
//! one before have come and nothing is more urgent, and what else is let in between.

use std::time::Duration;

use super::Session;
use crate::clock;
use crate::observe::{BatchRead, Mono};
use crate::poll::redis::ahead::Ahead;
use crate::poll::redis::batch::{BATCH, Form};
use crate::poll::redis::messages::End;
use crate::poll::redis::pace::{BURST, Sweep};
use crate::poll::redis::task::NodeTask;

impl Session<'_> {
    pub(super) fn begin_sweep(&mut self, now: Mono) {
        let interval = self.task.context.settings.poll_interval;
        let window = if self.first { Duration::ZERO } else { interval / 2 };
        self.first = false;
        self.sweep = Some(Sweep::new(now, window));
        self.next_sweep = self.task.context.next_tick(now);
        self.note_feed();
    }

    pub(super) async fn type_keys(&mut self) -> Result<(), End> {
        let begun = clock::mono();
        // A sweep that has not planned its batches yet will read them anyway.
        let planning = self.sweep.as_ref().is_some_and(|s| s.plan.is_none() && s.sparse.is_none());
        let NodeTask { sweeper, abilities, .. } = &mut *self.task;
        let reads = sweeper.type_some(&mut self.conn, abilities, !planning).await?;
        if let Some(sweep) = &mut self.sweep {
            sweep.busy += clock::mono().since(begun);
        }
        let is_news = !planning && !reads.is_empty();
        self.tell(reads).await?;
        if is_news {
            self.news().await?;
        }
        Ok(())
    }

    pub(super) async fn sweep_step(&mut self) -> Result<(), End> {
        if !self.settle_what_to_read().await? {
            return Ok(());
        }
        let Some(sweep) = &mut self.sweep else { return Ok(()) };
        let begun = clock::mono();
        let sweeper = &mut self.task.sweeper;
        let plan = match &mut sweep.plan {
            Some(plan) => plan,
            None => {
                let mut plan = sweeper.plan();
                if sweep.sparse.is_some() {
                    plan.retain(|(form, _)| *form == Form::Denied);
                }
                sweep.plan.insert(plan)
            }
        };
        if sweeper.has_untyped() {
            // What was refused long ago is tried again, and may be of another type by now.
            sweep.plan = None;
            return Ok(());
        }
        let abilities = &mut self.task.abilities;
        let Some(batch) = plan.get(sweep.next).copied() else {
            let step = match &mut sweep.sparse {
                Some(sparse) => sweeper.read_due(&mut self.conn, abilities, sparse).await?,
                None => None,
            };
            let Some(reads) = step else {
                self.owes = true;
                return self.end_sweep().await;
            };
            sweep.next += 1;
            sweep.busy += clock::mono().since(begun);
            self.owes |= sweep.next.is_multiple_of(BURST);
            return self.tell(reads).await;
        };
        if sweeper.may_send_ahead() {
            sweep.next += 1;
            self.ahead = sweeper.send(&mut self.conn, batch).await?;
            sweep.busy += clock::mono().since(begun);
            return Ok(());
        }
        let reads = match sweeper.membership {
            None => {
                sweep.next += 1;
                sweeper.run(&mut self.conn, abilities, batch).await?
            }
            Some(_) => {
                let some = plan.iter().skip(sweep.next).take(BATCH).copied().collect::<Vec<_>>();
                sweep.next += some.len();
                sweeper.run_some(&mut self.conn, abilities, &some).await?
            }
        };
        self.owes |= sweep.next.is_multiple_of(BURST);
        sweep.busy += clock::mono().since(begun);
        self.tell(reads).await
    }

    /// Waits for the replies to the batch that was sent, sends the next one if that is what would be done next anyway, and
    /// takes in what came.
    pub(super) async fn finish(&mut self, ahead: Ahead) -> Result<(), End> {
        let begun = clock::mono();
        let span = self.task.sweeper.receive(&mut self.conn, &ahead).await?;
        self.take_requests()?;
        let next = match self.task.sweeper.is_done(&self.conn, &ahead) {
            true => self.next_at_once(span.done),
            false => None,
        };
        if let (Some(batch), Some(sweep)) = (next, &mut self.sweep) {
            sweep.next += 1;
            self.ahead = self.task.sweeper.send(&mut self.conn, batch).await?;
        }
        let mut reads: Vec<BatchRead> = std::mem::take(&mut self.reads);
        let NodeTask { sweeper, abilities, .. } = &mut *self.task;
        sweeper.take_in(&mut self.conn, abilities, (ahead, span), &mut reads).await?;
        if let Some(sweep) = &mut self.sweep {
            sweep.busy += clock::mono().since(begun);
            self.owes |= self.ahead.is_none() && sweep.next.is_multiple_of(BURST);
        }
        self.tell_all(&mut reads).await?;
        self.reads = reads;
        Ok(())
    }

    /// The batch that [`Session::turn`] would send next if it had nothing else to do.
    fn next_at_once(&self, now: Mono) -> Option<(Form, usize)> {
        let sweep = self.sweep.as_ref()?;
        let task = &*self.task;
        let is_free = self.timed.first_key_value().is_none_or(|(at, _)| *at > now)
            && self.parts.is_empty()
            && !self.facts_wanted
            && !task.keys.has_changed().unwrap_or(true)
            && !task.patterns.has_changed().unwrap_or(true)
            && !task.sweeper.has_untyped()
            && !sweep.next.is_multiple_of(BURST);
        sweep.plan.as_ref().filter(|_| is_free && sweep.due() <= now)?.get(sweep.next).copied()
    }

    /// Serves what waits while a sweep goes on, each kind once: sweeps that take longer than the interval follow each other
    /// without a pause, and new keys have to be found all the same.
    pub(super) async fn serve_others(&mut self, now: Mono) -> Result<(), End> {
        self.owes = false;
        if self.task.beside.is_due() {
            self.read_beside().await?;
        }
        if self.scan_due().is_some_and(|due| due <= now) {
            self.scan().await?;
        }
        if self.rare_due().is_some_and(|due| due <= now) {
            self.read_rare(now).await?;
        }
        Ok(())
    }
}
