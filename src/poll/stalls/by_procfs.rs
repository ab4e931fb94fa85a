//! A tick from `/proc`: every thread of a process is read, which costs tens of times what taskstats take, so that only
//! as many processes as the budget allows are sampled and the others wait for their turn.

use super::known::{Known, Taken};
use super::rotation::{self, Turn};
use super::sampler::Round;
use super::surroundings::Surroundings;
use super::threads::Look;
use crate::clock;
use crate::observe::Span;
use crate::observe::stall::{HostUnknown, SampleWay, Scheduling};

/// Samples as many processes as the budget allows.
pub fn sample(round: &mut Round<'_>) -> Vec<Taken> {
    let mut taken = Vec::new();
    let turns = round.known.iter().enumerate().filter(|(_, k)| !k.has_ended);
    let turns = turns.map(|(at, k)| Turn { at, last: k.sampled, urgent: k.is_urgent() }).collect();
    for at in rotation::order(turns) {
        if !round.purse.has(0.0) {
            break;
        }
        let Some(known) = round.known.get_mut(at) else { continue };
        let sent = clock::mono();
        let seen = one(known, round.around);
        (known.sampled, known.looked) = (round.tick, round.tick);
        taken.push(Taken { at, span: Span { sent, done: clock::mono() }, seen });
    }
    taken
}

fn one(known: &mut Known, around: &mut Surroundings) -> Result<Scheduling, HostUnknown> {
    let look = look(known, around)?;
    let (rise, each) = known.threads(&look)?;
    let now = known.risen(&rise);
    if now.slices == 0 && !look.threads.is_empty() {
        // Nothing exists that never ran: the kernel does not count.
        return Err(HostUnknown::Unsupported);
    }
    let has_moved = known.have_moved(&now);
    known.take(now, look.span.done);
    let mut scheduling = known.scheduling(SampleWay::Procfs);
    scheduling.each = each;
    if !has_moved {
        let (state, frozen) = known.state_of(&look.threads, around, look.span.done)?;
        (scheduling.state, scheduling.frozen) = (Some(state), frozen);
    }
    Ok(scheduling)
}

fn look(known: &mut Known, around: &Surroundings) -> Result<Look, HostUnknown> {
    let sent = clock::mono();
    let ids = known.tasks.ids().map_err(|e| known.unknown(around, &e))?;
    let mut threads = Vec::with_capacity(ids.listed.len());
    for tid in ids.listed {
        let read = known.tasks.seen(&around.pool, tid);
        threads.extend(read.map_err(|e| known.unknown(around, &e))?);
    }
    let span = Span { sent, done: clock::mono() };
    Ok(Look { span, threads, beyond_cap: ids.beyond_cap, all_waited: None })
}
