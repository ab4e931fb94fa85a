//! Of each signal a condition without which it must not be up, from its definition and from nothing but what was told. Most
//! are weaker than the definition: they have no learned habits in them, and no state. What `derive` keeps in states they look
//! for in the whole record.

use std::time::Duration;

use super::oracle::{Held, Oracle, Read};
use super::server::Kind;
use super::setting::Watched;
use crate::derive::Signal;
use crate::observe::worker::{ProcessSeen, ProcessState};
use crate::observe::{Mono, Span};

/// The longest lease that is taken without trouble, twice: how old a write may be that a read shows.
const LONG: Duration = Duration::from_secs(30);

/// Says what is missing of a signal that is up.
pub fn hold(signal: Signal, lock: &Watched, all: &Oracle) -> Result<(), &'static str> {
    let none = Vec::new();
    let reads = all.reads.get(&lock.id).unwrap_or(&none);
    let need = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    match signal {
        Signal::HolderStale => need(is_stale(reads, all), "nobody lost holds it after the loss"),
        Signal::RenewalAfterLostLiveness => need(
            is_stale(reads, all) && is_renewed(reads, all),
            "no renewal lies between two looks that show a loss",
        ),
        Signal::Contested => need(is_contested(lock, reads, all), "no two owners could be valid"),
        Signal::RenewalOverdue => {
            need(was_not_written(reads, lock), "it was written within half of its lease")
        }
        Signal::LeaseWithoutTtl => need(is_endless(reads), "no two reads without an expiry"),
        Signal::HeldTooLong => need(is_long(reads), "nobody has held it for ten seconds"),
        Signal::LeaseAbsurd => need(is_far(reads, lock), "no read has more left than the lease"),
        Signal::Unheld => need(lock.rules.always_held && is_free(reads), "it is held, or was just"),
        Signal::ShapeUnexpected => {
            need(reads.iter().any(|r| !r.is_plain), "it was never of another shape")
        }
        Signal::HolderUnexpected => {
            let known =
                |h: &Held| h.worker.as_ref().is_some_and(|w| lock.rules.workers.contains(w));
            let odd = reads.iter().rev().take(2).flat_map(|r| &r.held).any(|h| !known(h));
            need(!lock.rules.workers.is_empty() && odd, "its holders are all expected")
        }
        Signal::HoldCountCreep => {
            need(reads.iter().flat_map(|r| &r.held).any(|h| h.count > 2), "nobody holds it often")
        }
        Signal::ReplicaDiverged => need(differs(lock, all), "no replica showed anything else"),
        Signal::LeaseLapsesInUse => need(lapses(reads) >= 3, "it did not run out three times"),
        Signal::LeaseShorterThanStall => {
            need(was_still(reads, all), "no holder was seen to stand still")
        }
        Signal::QuorumDegraded => Err("there is one server"),
    }
}

/// The last read of each node that says it is a primary.
fn last(reads: &[Read]) -> Vec<(usize, &Read)> {
    let mut found: Vec<(usize, &Read)> = Vec::new();
    for (at, read) in reads.iter().enumerate().rev() {
        if found.iter().all(|(_, r)| r.addr != read.addr) {
            found.push((at, read));
        }
    }
    found
}

fn is_valid(held: &Held, read: &Read) -> bool {
    held.until.is_none_or(|until| read.time <= until)
}

/// The looks that end the record of a source of a worker and all show it lost: where they begin. For a process that has
/// gone there must be one before that shows it alive; one that is not much older than the tenure may have replaced the holder.
fn losses(held: &Held, reads: &[Read], all: &Oracle) -> Vec<(Span, Span)> {
    let Some(worker) = held.worker.as_deref() else { return Vec::new() };
    let holds = |r: &&Read| r.held.iter().any(|h| h.token == held.token);
    let taken = reads.iter().find(holds).map_or(Mono(0), |r| r.span.sent);
    let mut found = Vec::new();
    if let Some(looks) = all.processes.get(worker) {
        let was_alive = looks.iter().any(|(_, seen)| lives(seen));
        let is_lost = |seen: &ProcessSeen| match seen {
            ProcessSeen::Gone { .. } => was_alive,
            ProcessSeen::Unknown(_) => false,
            ProcessSeen::Processes(list) => list.iter().all(|p| {
                let is_young = p.started.plus(LONG) >= taken;
                let is_dead = p.state == ProcessState::Zombie && was_alive;
                is_dead || is_young || p.state.is_stopped() || p.frozen == Some(true)
            }),
        };
        let run = looks.iter().rev().take_while(|(_, seen)| is_lost(seen));
        let spans: Vec<Span> = run.map(|(span, _)| *span).collect();
        found.extend(spans.last().copied().zip(spans.first().copied()));
    }
    if let Some(beats) = all.beats.get(worker)
        && let Some((newest, mark)) = beats.last()
    {
        let same: Vec<Span> =
            beats.iter().rev().take_while(|(_, m)| m == mark).map(|(span, _)| *span).collect();
        if let Some(advance) = same.last() {
            let is_frozen = |s: &Span| s.sent.since(advance.done) > all.frozen_after;
            let first = same.iter().rev().find(|s| is_frozen(s));
            found.extend(first.copied().map(|first| (first, *newest)));
        }
    }
    found
}

fn lives(seen: &ProcessSeen) -> bool {
    match seen {
        ProcessSeen::Processes(list) => list.iter().any(|p| p.state != ProcessState::Zombie),
        _ => false,
    }
}

/// A read that began after the first look that shows the loss finds the holder, and no later one finds it gone.
fn is_stale(reads: &[Read], all: &Oracle) -> bool {
    last(reads).into_iter().any(|(at, newest)| {
        let of_node = || reads.iter().take(at + 1).rev().filter(|r| r.addr == newest.addr);
        newest.held.iter().any(|h| {
            losses(h, reads, all).iter().any(|(first, _)| {
                of_node()
                    .take_while(|r| r.held.iter().any(|o| o.token == h.token))
                    .filter(|r| r.span.sent >= first.done)
                    .any(|r| r.held.iter().any(|o| o.token == h.token && is_valid(o, r)))
            })
        })
    })
}

/// The expiry of a holder rose between two reads, and the last look, begun after the later one, still shows the loss; of a
/// process a look before the earlier one did, of a heartbeat the last advance was before it.
fn is_renewed(reads: &[Read], all: &Oracle) -> bool {
    let of = |r: &Read, token: &[u8]| r.held.iter().find(|h| h.token == token).cloned();
    reads.iter().enumerate().any(|(at, earlier)| {
        let after = reads.get(at + 1..).unwrap_or_default();
        let Some(later) = after.iter().find(|l| l.addr == earlier.addr) else { return false };
        earlier.held.iter().any(|h| {
            let rises =
                of(later, &h.token).is_some_and(|l| l.until > h.until || later.time < earlier.time);
            rises
                && losses(h, reads, all).iter().any(|(first, newest)| {
                    let patience = all.frozen_after + Duration::from_secs(4);
                    first.sent.minus(patience) <= earlier.span.done
                        && newest.sent >= later.span.done
                })
        })
    })
}

/// Two owners, and a server that was disturbed, two primaries, or a token that came back; of permits more than there are.
fn is_contested(lock: &Watched, reads: &[Read], all: &Oracle) -> bool {
    if lock.kind == Kind::Permits {
        return reads.iter().any(|r| r.held.iter().filter(|h| is_valid(h, r)).count() > 2);
    }
    let mut owners: Vec<&[u8]> = Vec::new();
    for held in reads.iter().flat_map(|r| &r.held) {
        if owners.last() != Some(&held.token.as_slice()) {
            owners.push(&held.token);
        }
    }
    let mut unique = owners.clone();
    unique.sort_unstable();
    unique.dedup();
    let comes_back = unique.len() < owners.len();
    unique.len() > 1 && (comes_back || !all.disturbed.is_empty())
}

/// Some stretch of reads in which no expiry rose is half as long as a lease, and a second; it begins with the read before.
fn was_not_written(reads: &[Read], lock: &Watched) -> bool {
    let half = Duration::from_millis(lock.lease_ms.unsigned_abs() / 2);
    let stands = |from: &Read, to: &Read| {
        let ends = |h: &Held| to.held.iter().any(|l| l.token == h.token && !rises(h, l));
        from.held.iter().any(ends)
    };
    let is_long = |reads: &[&Read]| {
        let (mut begun, mut before): (Option<&Read>, Option<&Read>) = (None, None);
        reads.iter().any(|read| {
            if !before.is_some_and(|b| stands(b, read)) {
                begun = before.or(Some(read));
            }
            before = Some(read);
            let slack = Duration::from_secs(1);
            begun.is_some_and(|b| read.span.done.since(b.span.sent) + slack >= half)
        })
    };
    let of = |addr: &str| reads.iter().filter(|r| &*r.addr == addr).collect::<Vec<_>>();
    is_long(&reads.iter().collect::<Vec<_>>()) || reads.iter().any(|r| is_long(&of(&r.addr)))
}

/// Whether an end became a later one; none is the latest.
fn rises(from: &Held, to: &Held) -> bool {
    from.until.is_some_and(|from| to.until.is_none_or(|to| to > from))
}

/// The last two reads of somebody lie a second apart and show no end.
fn is_endless(reads: &[Read]) -> bool {
    last(reads).into_iter().any(|(at, newest)| {
        newest.held.iter().filter(|h| h.until.is_none()).any(|h| {
            let earlier = reads.iter().take(at).rev().filter(|r| r.addr == newest.addr);
            earlier
                .take_while(|r| r.held.iter().any(|o| o.token == h.token && o.until.is_none()))
                .any(|r| newest.span.done.since(r.span.sent) >= Duration::from_millis(1000))
        })
    })
}

/// The reads of each node that says it is a primary.
fn by_node(reads: &[Read]) -> Vec<Vec<&Read>> {
    let mut all: Vec<Vec<&Read>> = Vec::new();
    for read in reads {
        match all.iter_mut().find(|of| of.first().is_some_and(|r| r.addr == read.addr)) {
            Some(of) => of.push(read),
            None => all.push(vec![read]),
        }
    }
    all
}

/// Somebody is seen to hold it for ten seconds; he may have taken it right after the read before.
fn is_long(reads: &[Read]) -> bool {
    by_node(reads).iter().any(|reads| {
        let Some(newest) = reads.last() else { return false };
        newest.held.iter().any(|h| {
            let holds = |r: &&&Read| r.held.iter().any(|o| o.token == h.token);
            let run = reads.iter().rev().take_while(holds).count();
            let from = reads.get((reads.len() - run).saturating_sub(1));
            from.is_some_and(|r| newest.span.done.since(r.span.sent) >= Duration::from_secs(10))
        })
    })
}

/// More is left in some read than one lease.
fn is_far(reads: &[Read], lock: &Watched) -> bool {
    let lease = lock.rules.lease.map_or(1_000_000, |l| l.as_micros() as i64);
    let mut all = reads.iter().flat_map(|r| r.held.iter().filter_map(|h| Some((r.time, h.until?))));
    all.any(|(time, until)| until.micros_since(time) > lease)
}

/// The last read finds nobody, and neither did those of the last lease.
fn is_free(reads: &[Read]) -> bool {
    by_node(reads).iter().any(|reads| {
        let is_free = |r: &&&Read| !r.held.iter().any(|h| is_valid(h, r));
        let run: Vec<_> = reads.iter().rev().take_while(is_free).collect();
        let (Some(newest), Some(first)) = (run.first(), run.last()) else { return false };
        newest.span.done.since(first.span.sent) >= Duration::from_secs(4)
    })
}

/// Some read of a replica shows another owner or another end than some read of a primary.
fn differs(lock: &Watched, all: &Oracle) -> bool {
    let (Some(replica), Some(own)) = (all.replicas.get(&lock.id), all.reads.get(&lock.id)) else {
        return false;
    };
    let of = |r: &Read| -> Vec<_> { r.held.iter().map(|h| (h.token.clone(), h.until)).collect() };
    replica.iter().any(|r| own.iter().any(|o| of(o) != of(r)))
}

/// How often an owner was gone when its lease was over.
fn lapses(reads: &[Read]) -> usize {
    let gone = |(earlier, later): (&Read, &Read)| {
        earlier.held.iter().any(|h| {
            let is_over = h.until.is_some_and(|until| later.time.plus_micros(1_000_000) >= until);
            is_over && !later.held.iter().any(|l| l.token == h.token && is_valid(l, later))
        })
    };
    reads.iter().zip(reads.iter().skip(1)).filter(|pair| gone(*pair)).count()
}

/// Some holder's process was stopped, or its heartbeat did not advance from one read to the next.
fn was_still(reads: &[Read], all: &Oracle) -> bool {
    reads.iter().flat_map(|r| &r.held).filter_map(|h| h.worker.as_ref()).any(|w| {
        let stops = all.processes.get(w).is_some_and(|looks| {
            looks.iter().any(|(_, seen)| match seen {
                ProcessSeen::Processes(l) => {
                    l.iter().any(|p| p.state.is_stopped() || p.frozen == Some(true))
                }
                ProcessSeen::Gone { .. } => true,
                ProcessSeen::Unknown(_) => false,
            })
        });
        let pauses = all.beats.get(w).is_some_and(|beats| {
            beats.iter().zip(beats.iter().skip(1)).any(|((_, a), (_, b))| a == b)
        });
        stops || pauses
    })
}
