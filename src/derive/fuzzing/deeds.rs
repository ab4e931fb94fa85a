//! What happens in the invented world. A healthy one has everything that befalls good locks: hand-overs, an exporter that
//! sleeps, starts anew or does not reach a server, slow reads, workers that are restarted after they let go.

use super::choice::Choices;
use super::server::{Holder, Key, Kind};
use super::setting::Watched;
use super::worker::Fate;
use super::world::World;

/// Milliseconds that may pass.
const WAITS: [u64; 8] = [200, 700, 1_500, 3_000, 5_000, 9_000, 14_000, 31_000];
/// Steps of a server's clock.
const STEPS: [i64; 6] = [-40_000, -7_000, -900, 1_500, 12_000, 90_000];

/// Lets one thing happen.
pub fn deed(w: &mut World, choices: &mut Choices<'_>) {
    w.live();
    let what = choices.byte();
    // A healthy world knows the first half only.
    match what % if w.setting.is_healthy { 16 } else { 32 } {
        0..=4 => w.advance(choices.one_of(&WAITS)),
        5..=7 => acquire(w, choices),
        8 | 9 => {
            let lock = lock(w, choices);
            release(w, &lock, choices.below(2));
        }
        10 => {
            w.asleep_until = w.ms + choices.one_of(&WAITS);
        }
        11 => w.restart_exporter(),
        12 => {
            let at = choices.below(w.servers.len());
            w.servers[at].is_away ^= true;
            w.servers[at].connection += 1;
        }
        13 => w.slow_ms = choices.one_of(&[1, 1, 15, 80]),
        14 => restart_worker(w, choices),
        15 => {
            let at = choices.below(w.workers.len());
            w.workers[at].is_hidden ^= true;
        }
        odd => trouble(w, odd, choices),
    }
}

fn lock(w: &World, choices: &mut Choices<'_>) -> Watched {
    let at = choices.below(w.locks.len());
    w.locks[at].clone()
}

fn acquire(w: &mut World, choices: &mut Choices<'_>) {
    let lock = lock(w, choices);
    // In a healthy world nobody takes what is not his, and who takes one is there to renew it.
    let most = if w.setting.is_healthy && !lock.rules.workers.is_empty() { 2 } else { 3 };
    let worker = choices.below(most);
    w.acquire(&lock, worker);
}

/// Whoever is there first or last lets go.
fn release(w: &mut World, lock: &Watched, which: usize) {
    w.write(lock.id, |key, _| {
        let Some(k) = key else { return };
        let at = which.min(k.holders.len().saturating_sub(1));
        if at < k.holders.len() {
            k.holders.remove(at);
        }
        if k.holders.is_empty() {
            *key = None;
        }
    });
}

/// A worker lets go of all that it holds, ends and starts anew; a while later it may take locks again.
fn restart_worker(w: &mut World, choices: &mut Choices<'_>) {
    let at = choices.below(w.workers.len());
    let name = w.workers[at].name.clone();
    for lock in w.locks.clone() {
        w.write(lock.id, |key, _| {
            let Some(k) = key else { return };
            k.holders.retain(|h| h.token.split(':').next() != Some(&*name));
            if k.holders.is_empty() && !k.odd {
                *key = None;
            }
        });
    }
    w.workers[at].fate = Fate::Gone;
    w.advance(choices.one_of(&WAITS));
    let ms = w.ms;
    w.workers[at].restart(ms);
    w.advance(300);
}

/// What a healthy world does not have.
fn trouble(w: &mut World, what: u8, choices: &mut Choices<'_>) {
    match what {
        16..=18 => befall(w, choices),
        19 => {
            let at = choices.below(w.workers.len());
            w.workers[at].renews ^= true;
        }
        20 => {
            let at = choices.below(w.workers.len());
            w.workers[at].is_mute ^= true;
        }
        21 => overwrite(w, choices),
        22 => lease(w, choices),
        23 => {
            let step = choices.one_of(&STEPS);
            w.primary().offset_ms += step;
        }
        24 => lose(w, choices),
        25 => fail_over(w),
        26 => w.is_lagging ^= true,
        27 => odd(w, choices),
        28 => count(w, choices),
        29 => disagree(w, choices),
        30 => again(w, choices),
        _ => acquire(w, choices),
    }
}

fn befall(w: &mut World, choices: &mut Choices<'_>) {
    let at = choices.below(w.workers.len());
    let ms = w.ms;
    let worker = &mut w.workers[at];
    match choices.below(6) {
        0 => worker.fate = Fate::Stopped,
        1 => worker.fate = Fate::Frozen,
        2 => worker.fate = Fate::Zombie,
        3 => worker.fate = Fate::Gone,
        4 => worker.restart(ms),
        _ if worker.fate != Fate::Gone => worker.fate = Fate::Runs,
        _ => {}
    }
}

/// Somebody writes over whoever holds it, with a new token or the one that was there last.
fn overwrite(w: &mut World, choices: &mut Choices<'_>) {
    let lock = lock(w, choices);
    let name = choices.one_of(&["ant", "bee", "cat"]);
    w.acquires += 1;
    let number = if choices.below(2) == 0 { w.acquires } else { w.acquires.saturating_sub(2) };
    let token = format!("{name}:{number}");
    w.write(lock.id, |key, now| {
        let end = now + lock.lease_ms;
        let until = (lock.kind == Kind::Permits).then_some(end);
        let holder = Holder { token: token.clone(), until, count: 1 };
        *key = Some(Key { holders: vec![holder], expiry: Some(end), odd: false });
    });
    w.will_renew(&lock, &token);
}

/// The lease of a lock becomes another: none, one far too long, or one that is nearly over.
fn lease(w: &mut World, choices: &mut Choices<'_>) {
    let lock = lock(w, choices);
    let to = choices.one_of(&[None, Some(300), Some(25_000), Some(3_000_000), Some(i64::MAX / 4)]);
    w.write(lock.id, |key, now| {
        let Some(k) = key else { return };
        k.expiry = to.map(|ms: i64| now.saturating_add(ms));
        k.holders.iter_mut().for_each(|h| h.until = h.until.and(k.expiry));
    });
}

/// The primary starts anew without its data or with it, is emptied, or evicts a key.
fn lose(w: &mut World, choices: &mut Choices<'_>) {
    let (how, id) = (choices.below(4), lock(w, choices).id);
    let primary = w.primary();
    match how {
        0 | 1 => {
            primary.run += 1;
            primary.connection += 1;
            primary.lineage += 10;
            if how == 0 {
                primary.keys.clear();
            }
        }
        2 => {
            primary.flushes += 1;
            primary.keys.clear();
        }
        _ => {
            primary.evicted += 1;
            primary.keys.remove(&id);
        }
    }
}

/// The replica, if there is one, becomes the primary with what it has, and the other its replica.
fn fail_over(w: &mut World) {
    let Some(at) = w.servers.iter().position(|s| s.is_replica) else { return };
    let (before, end) = (w.primary().lineage, w.servers[at].written);
    for (i, server) in w.servers.iter_mut().enumerate() {
        server.is_replica = i != at;
        if i == at {
            server.before = Some((before, end + 1));
            server.lineage = before + 1;
        }
    }
    let (lineage, keys) = (before + 1, w.servers[at].keys.clone());
    for server in w.servers.iter_mut().filter(|s| s.is_replica) {
        (server.lineage, server.keys, server.written) = (lineage, keys.clone(), end);
    }
}

/// A key becomes something that is no lock.
fn odd(w: &mut World, choices: &mut Choices<'_>) {
    let lock = lock(w, choices);
    w.write(lock.id, |key, now| {
        let end = Some(now + 20_000);
        let k = key.get_or_insert_with(|| Key { holders: vec![], expiry: end, odd: true });
        k.odd ^= true;
        if k.holders.is_empty() && !k.odd {
            *key = None;
        }
    });
}

/// Whoever holds it takes it again, or lets go once.
fn count(w: &mut World, choices: &mut Choices<'_>) {
    let lock = lock(w, choices);
    let is_up = choices.below(3) > 0;
    w.write(lock.id, |key, _| {
        let Some(holder) = key.as_mut().and_then(|k| k.holders.first_mut()) else { return };
        holder.count = if is_up { holder.count + 1 } else { holder.count.saturating_sub(1).max(1) };
    });
}

/// The replica says that it is a primary, too, or has another owner; or both agree again.
fn disagree(w: &mut World, choices: &mut Choices<'_>) {
    let (how, lock) = (choices.below(3), lock(w, choices));
    let ms = w.ms;
    let Some((first, rest)) = w.servers.split_first_mut() else { return };
    let Some(second) = rest.first_mut() else { return };
    match how {
        0 => (first.is_replica, second.is_replica) = (false, false),
        1 => {
            let token = "cat:apart".to_owned();
            let end = second.now(ms) + lock.lease_ms;
            let holder = Holder { token, until: None, count: 1 };
            let key = Key { holders: vec![holder], expiry: Some(end), odd: false };
            second.keys.insert(lock.id, key);
        }
        _ => {
            (first.is_replica, second.is_replica) = (false, true);
            (second.keys, second.written) = (first.keys.clone(), first.written);
            (second.lineage, second.before) = (first.lineage, first.before);
        }
    }
}

/// What was told last is told again, once or several times.
fn again(w: &mut World, choices: &mut Choices<'_>) {
    for _ in 0..=choices.below(3) {
        w.repeat_last();
    }
}
