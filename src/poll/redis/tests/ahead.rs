//! Sweeps that follow each other without a pause, each batch sent before the one before is taken in.

use std::collections::BTreeMap;
use std::time::Duration;

use super::support::*;
use crate::observe::{Found, KeyId, Mono, Observation};

const HOUR: Duration = Duration::from_secs(3600);
/// Shorter than any sweep here.
const NO_PAUSE: Duration = Duration::from_millis(1);

fn set_all(server: &Server, keys: usize, value: &str) {
    let mut pipe = redis::pipe();
    for n in 0..keys {
        pipe.cmd("DEL").arg(format!("lock:{n}")).ignore();
        pipe.cmd("SET").arg(format!("lock:{n}")).arg(value).ignore();
    }
    pipe.query::<()>(&mut server.client()).unwrap();
}

#[tokio::test]
async fn sweeps_without_a_pause_leave_room_for_all_else() {
    const KEYS: usize = 5000;
    let server = Server::start(&[]);
    set_all(&server, KEYS, "owner");
    let mut w = Watch::with(store(server.port, vec![many("lock:*", KEYS)]), NO_PAUSE, HOUR);
    // Each page of SCAN brings some hundreds, and the sweeps over those go on for longer than the interval.
    w.until("all keys", |w, _| (w.keys.len() == KEYS).then_some(())).await;
    w.sweep().await;
    let key = w.key("lock:17").unwrap();
    w.handle.read_keys(vec![key], Watch::now());
    w.until("a read that was asked for", |_, o| match o {
        Observation::Batch(b) => (b.reads.len() == 1 && b.reads[0].key == key).then_some(()),
        _ => None,
    })
    .await;
    w.handle.stop().await;
}

#[tokio::test]
async fn keys_that_change_their_type_under_way_stay_in_the_sweep() {
    const KEYS: usize = 400;
    let server = Server::start(&[]);
    set_all(&server, KEYS, "before");
    let names: Vec<String> = (0..KEYS).map(|n| format!("lock:{n}")).collect();
    let mut w = Watch::with(store(server.port, names.iter().map(one).collect()), NO_PAUSE, HOUR);
    let mut last: BTreeMap<KeyId, Option<Vec<u8>>> = BTreeMap::new();
    let mut over = Mono(0);
    let mut read = |o: &Observation| -> Option<usize> {
        let Observation::Batch(batch) = o else { return None };
        assert!(over <= batch.span.sent, "one batch is in flight at a time");
        over = batch.span.done;
        for r in &batch.reads {
            assert!(!matches!(r.found, Found::Unreadable(_)), "{:?}", r.found);
            last.insert(r.key, token(&r.found));
        }
        Some(last.values().filter(|t| t.as_deref() == Some(b"after")).count())
    };
    let mut random = 1_u32;
    for _ in 0..60 {
        let mut pipe = redis::pipe();
        for _ in 0..40 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = format!("lock:{}", (random >> 8) as usize % KEYS);
            pipe.cmd("DEL").arg(&key).ignore();
            match (random >> 4) % 4 {
                0 => pipe.cmd("SET").arg(&key).arg("x".repeat(600)).ignore(),
                1 => pipe.cmd("HSET").arg(&key).arg("owner").arg("1").ignore(),
                2 => pipe.cmd("ZADD").arg(&key).arg("1").arg("owner").ignore(),
                _ => pipe.cmd("SET").arg(&key).arg("between").ignore(),
            };
        }
        pipe.query::<()>(&mut server.client()).unwrap();
        // Meanwhile one sweep or two go by.
        w.until("a sweep", |_, o| {
            read(o);
            matches!(o, Observation::SweepDone(_)).then_some(())
        })
        .await;
    }
    set_all(&server, KEYS, "after");
    w.until("all as they are in the end", |_, o| (read(o) == Some(KEYS)).then_some(())).await;
    w.handle.stop().await;
}
