//! A tick by taskstats: sums of all processes in a few system calls, then the states of those that did not move, then
//! single threads, each as far as the budget goes.

use std::io;

use rustix::io::Errno;

use super::known::{Known, Taken, Totals};
use super::rotation::{self, Turn};
use super::sampler::Round;
use super::surroundings::Surroundings;
use super::taskstats::wire::Whom;
use super::taskstats::{Answer, Stats, Taskstats, Unanswered, Unavailable};
use super::threads::{Counters, Look, Seen};
use crate::clock;
use crate::observe::Span;
use crate::observe::stall::{HostUnknown, SampleWay, Scheduling};

/// Processes whose sums are asked for at once: few, so that a budget is not overdrawn by much.
const CHUNK: usize = 16;
/// Part of a tick's budget that is left for looks at single threads.
const FOR_THREADS: f64 = 0.15;

/// Samples as many processes as the budget allows. An error means that taskstats can no longer be had.
pub fn sample(round: &mut Round<'_>, taskstats: &mut Taskstats) -> Result<Vec<Taken>, Unavailable> {
    let mut taken = Vec::new();
    let turns = round.known.iter().enumerate().filter(|(_, k)| !k.has_ended);
    let turns = turns.map(|(at, k)| Turn { at, last: k.sampled, urgent: false }).collect();
    for chunk in rotation::order(turns).chunks(CHUNK) {
        if !round.purse.has(if taken.is_empty() { 0.0 } else { FOR_THREADS }) {
            break;
        }
        let still = sums(round, taskstats, chunk, &mut taken)?;
        // Without their states these samples would say that they moved.
        taken.extend(still.into_iter().filter_map(|(at, sums)| state(round, at, sums)));
    }
    threads(round, taskstats, &mut taken)?;
    Ok(taken)
}

type Sums = (Totals, Span);

/// Makes counters the process's last and says them.
fn told(known: &mut Known, sums: Sums, add: impl FnOnce(&mut Scheduling), tick: u64) -> Scheduling {
    known.take(sums.0, sums.1.done);
    known.sampled = tick;
    let mut scheduling = known.scheduling(SampleWay::Taskstats);
    add(&mut scheduling);
    scheduling
}

/// Finishes the sample of a process that did not move.
fn state(round: &mut Round<'_>, at: usize, sums: Sums) -> Option<Taken> {
    let known = round.known.get_mut(at)?;
    let seen = known.state(round.around, sums.1.done).map(|(state, frozen)| {
        told(known, sums, |s| (s.state, s.frozen) = (Some(state), frozen), round.tick)
    });
    known.sampled = round.tick;
    Some(Taken { at, span: Span { done: clock::mono(), ..sums.1 }, seen })
}

/// Asks for the sums of some processes. Those that moved are done with; the others are handed back.
fn sums(
    round: &mut Round<'_>,
    taskstats: &mut Taskstats,
    chunk: &[usize],
    taken: &mut Vec<Taken>,
) -> Result<Vec<(usize, Sums)>, Unavailable> {
    let mut still = Vec::new();
    let sent = clock::mono();
    let mut places = Vec::with_capacity(chunk.len());
    let mut whom = Vec::with_capacity(chunk.len());
    for at in chunk {
        let Some(known) = round.known.get_mut(*at) else { continue };
        if !known.is_checked
            && let Err(why) = known.check(round.around)
        {
            known.sampled = round.tick;
            taken.push(Taken { at: *at, span: Span { sent, done: clock::mono() }, seen: Err(why) });
            continue;
        }
        places.push(*at);
        whom.push(Whom::Process(known.id.pid.cast_unsigned()));
    }
    let answers = taskstats.ask(&whom)?;
    let span = Span { sent, done: clock::mono() };
    for (at, answer) in places.into_iter().zip(answers) {
        let Some(known) = round.known.get_mut(at) else { continue };
        let totals = match answer {
            // Nobody knows; it is one of the first next time.
            Err(Unanswered::Lost) => continue,
            answer => totals(known, round.around, answer),
        };
        match totals {
            Ok(now) if known.have_moved(&now) => {
                let seen = Ok(told(known, (now, span), |_| {}, round.tick));
                taken.push(Taken { at, span, seen });
            }
            Ok(now) => still.push((at, (now, span))),
            Err(why) => {
                known.sampled = round.tick;
                taken.push(Taken { at, span, seen: Err(why) });
            }
        }
    }
    Ok(still)
}

fn totals(
    known: &mut Known,
    around: &mut Surroundings,
    answer: Answer,
) -> Result<Totals, HostUnknown> {
    let stats = match answer {
        Ok(stats) => stats,
        Err(Unanswered::Refused(Errno::SRCH)) => {
            known.has_ended = true;
            return Err(HostUnknown::Gone);
        }
        Err(Unanswered::Refused(Errno::PERM | Errno::ACCESS)) => {
            return Err(HostUnknown::Permission);
        }
        Err(Unanswered::Unusable(_)) => return Err(HostUnknown::Malformed),
        Err(_) => return Err(HostUnknown::Failed),
    };
    if stats.slices == 0 {
        // Nothing that lives has never run: it is dead, or the kernel does not count.
        known.state(around, clock::mono())?;
        return Err(HostUnknown::Unsupported);
    }
    let now = Totals {
        on_cpu: stats.on_cpu,
        waited: stats.waited,
        slices: stats.slices,
        involuntary: stats.involuntary,
    };
    if known.have_fallen(&now) {
        known.check(around)?;
    }
    Ok(now)
}

/// Looks at the threads of processes that have a sample: those that look stalled and, in turn, all others.
fn threads(
    round: &mut Round<'_>,
    taskstats: &mut Taskstats,
    taken: &mut [Taken],
) -> Result<(), Unavailable> {
    let mut turns = Vec::with_capacity(taken.len());
    for (at, taken) in taken.iter().enumerate().filter(|(_, t)| t.seen.is_ok()) {
        if let Some(known) = round.known.get(taken.at) {
            turns.push(Turn { at, last: known.looked, urgent: known.is_urgent() });
        }
    }
    for at in rotation::order(turns) {
        if !round.purse.has(0.0) {
            break;
        }
        let Some(taken) = taken.get_mut(at) else { continue };
        let Some(known) = round.known.get_mut(taken.at) else { continue };
        known.looked = round.tick;
        let each = match look(known, round.around, taskstats)? {
            Ok(look) => known.threads(&look).map(|(_, each)| each),
            Err(e) => Err(known.unknown(round.around, &e)),
        };
        taken.span.done = clock::mono();
        match (each, &mut taken.seen) {
            (Ok(each), Ok(scheduling)) => {
                (scheduling.each, scheduling.threads) = (each, known.threads);
            }
            // Sums of a number that may have been somebody else's already.
            (Err(HostUnknown::Gone), seen) => *seen = Err(HostUnknown::Gone),
            // The sums are right all the same.
            _ => {}
        }
    }
    Ok(())
}

/// One look at the threads of a process.
fn look(
    known: &mut Known,
    around: &Surroundings,
    taskstats: &mut Taskstats,
) -> Result<io::Result<Look>, Unavailable> {
    let sent = clock::mono();
    let ids = match known.tasks.ids() {
        Ok(ids) => ids,
        Err(e) => return Ok(Err(e)),
    };
    let pid = known.id.pid.cast_unsigned();
    let mut whom: Vec<Whom> = ids.listed.iter().map(|tid| Whom::Thread(*tid)).collect();
    whom.push(Whom::Process(pid));
    let mut answers = taskstats.ask(&whom)?;
    let all_waited = answers.pop().and_then(Result::ok).map(|sums| sums.waited);
    let mut seen = Vec::with_capacity(answers.len());
    for (tid, answer) in ids.listed.into_iter().zip(answers) {
        // One that has ended, or whose number is another process's by now.
        let Ok(stats) = answer else { continue };
        if stats.process.is_some_and(|p| p != pid) {
            continue;
        }
        match known.tasks.stat(&around.pool, tid) {
            Ok(Some(stat)) => seen.push(Seen {
                tid,
                start_ticks: stat.start_ticks,
                state: stat.state,
                counters: counters(&stats),
            }),
            Ok(None) => {}
            Err(e) => return Ok(Err(e)),
        }
    }
    let span = Span { sent, done: clock::mono() };
    Ok(Ok(Look { span, threads: seen, beyond_cap: ids.beyond_cap, all_waited }))
}

fn counters(stats: &Stats) -> Counters {
    Counters {
        on_cpu: stats.on_cpu,
        waited: stats.waited,
        slices: stats.slices,
        longest_wait: stats.longest_wait,
    }
}
