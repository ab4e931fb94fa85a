use proptest::prelude::*;

use super::*;
use crate::observe::Token;
use crate::poll::redis::codec::Walk;
use crate::poll::redis::slowlog::entry::entries;
use crate::poll::redis::slowlog::entry::tests::{logged, reply};

const OWN: &str = "127.0.0.1:5000";

fn keys(names: &[&[u8]]) -> Vec<Arc<WatchedKey>> {
    let key = |(id, name): (usize, &&[u8])| WatchedKey::plain(KeyId(id as u64), name);
    names.iter().enumerate().map(key).map(Arc::new).collect()
}

fn tell(log: &[Vec<u8>], watched: &[Arc<WatchedKey>]) -> Entries {
    let bytes = reply(log);
    told(&entries(Walk::new(&bytes)).unwrap(), watched.iter().map(|k| &**k), Some(OWN))
}

fn touched_by(args: &[&[u8]], names: &[&[u8]]) -> Vec<(u64, Touch)> {
    let slow = tell(&[logged(0, 0, args, Some(("a:1", "")))], &keys(names)).slow;
    slow.iter().flat_map(|s| &s.keys).map(|(k, touch)| (k.0, *touch)).collect()
}

#[test]
fn a_command_touches_the_keys_among_its_arguments() {
    let names: [&[u8]; 2] = [b"lock:a", b"lock:b"];
    let yes = |id| (id, Touch::Key);
    assert_eq!(touched_by(&[b"SET", b"lock:a", b"t"], &names), [yes(0)]);
    assert_eq!(touched_by(&[b"DEL", b"lock:b", b"x", b"lock:a"], &names), [yes(0), yes(1)]);
    assert_eq!(touched_by(&[b"EVALSHA", b"sha", b"1", b"lock:b", b"t"], &names), [yes(1)]);
    assert_eq!(touched_by(&[b"EVAL", b"return 1", b"2", b"q", b"lock:b"], &names), [yes(1)]);
    assert_eq!(touched_by(&[b"FCALL", b"f", b"0", b"t", b"lock:a"], &names), [yes(0)]);
    assert_eq!(touched_by(&[b"MGET", b"lock:a", b"lock:a"], &names), [yes(0)], "once");
    assert_eq!(touched_by(&[b"SET", b"lock:ab", b"t"], &names), []);
    assert_eq!(touched_by(&[b"lock:a"], &names), [], "the command is no argument");
    assert_eq!(touched_by(&[b"CLIENT", b"TRACKING", b"ON", b"PREFIX", b"lock:a"], &names), []);
    assert_eq!(touched_by(&[b"publish", b"lock:a", b"lock:b"], &names), []);
}

#[test]
fn a_key_that_was_cut_is_only_maybe_touched() {
    let long = [&[b'k'; 128][..], b"orders"].concat();
    let other = [&[b'k'; 128][..], b"bills!!"].concat();
    let shown = [&[b'k'; 128][..], b"... (6 more bytes)"].concat();
    let args: [&[u8]; 3] = [b"SET", &shown, b"t"];
    assert_eq!(touched_by(&args, &[&long, &other, &[b'k'; 128]]), [(0, Touch::Maybe)]);
    // Arguments that are not shown at all touch nothing, and it is said that they are not shown.
    let log = logged(9, 0, &[b"MGET", b"x", b"... (3 more arguments)"], None);
    let told = tell(&[log], &keys(&[b"lock:a"]));
    assert_eq!((told.slow.len(), told.cut), (0, vec![9]));
    assert_eq!((told.newest, told.oldest), (Some(9), Some(9)));
}

#[test]
fn what_exporters_read_is_left_out_and_what_others_do_is_not() {
    let read: [&[u8]; 2] = [b"MGET", b"k"];
    let write: [&[u8]; 2] = [b"DEL", b"k"];
    let log = [
        logged(5, 0, &read, Some((OWN, ""))),
        logged(4, 0, &read, Some(("10.9.9.9:1", "dlock_exporter"))),
        logged(3, 0, &write, Some(("10.9.9.9:1", "dlock_exporter"))),
        logged(2, 0, &read, Some(("10.9.9.9:1", "worker"))),
        logged(1, 0, &write, Some(("?:0", ""))),
    ];
    let told = tell(&log, &keys(&[b"k"]));
    let ids: Vec<u64> = told.slow.iter().map(|s| s.id).collect();
    assert_eq!((ids, told.newest, told.oldest), (vec![1, 2, 3], Some(5), Some(1)));
    assert_eq!((&told.slow[0].client_addr, &told.slow[0].client_name), (&None, &None));
    assert_eq!(told.slow[1].client_name.as_deref(), Some("worker"));
    assert_eq!(told.slow[1].took, Duration::from_micros(1500));
}

#[test]
fn an_acquire_names_its_owner_by_fingerprint() {
    let owner = |args: &[&[u8]]| {
        let slow = tell(&[logged(0, 0, args, None)], &keys(&[b"k"])).slow;
        slow.first().and_then(|s| s.acquires.clone()).map(|(key, owner)| (key.0, owner.to_string()))
    };
    let token = b"f3a9c0de-0000-4000-8000-00000000beef";
    let wanted = Some((0, Token::new(token).fingerprint()));
    assert_eq!(owner(&[b"SET", b"k", token, b"NX", b"PX", b"30000"]), wanted);
    assert_eq!(owner(&[b"set", b"k", token, b"ex", b"30", b"nx"]), wanted);
    assert_eq!(owner(&[b"SETNX", b"k", token]), wanted);
    assert_eq!(owner(&[b"SET", b"k", token, b"PX", b"30000"]), None, "a renewal looks like that");
    assert_eq!(owner(&[b"SET", b"x", b"k", b"NX"]), None);
    let field = b"fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
    let redisson = b"149c5a8bf18676fd99e9e6e24923bd64d9b62f94";
    let wanted = Some((0, Token::new(field).fingerprint()));
    assert_eq!(owner(&[b"EVALSHA", redisson, b"1", b"k", b"30000", field]), wanted);
    assert_eq!(owner(&[b"EVALSHA", redisson, b"1", b"q", b"30000", field, b"k"]), None);
    assert_eq!(owner(&[b"EVALSHA", redisson, b"18446744073709551615", b"k", field]), None);
    assert_eq!(owner(&[b"EVALSHA", b"cac51482", b"1", b"k", b"30000", field]), None, "renews");
    let cut = [&[b't'; 128][..], b"... (9 more bytes)"].concat();
    assert_eq!(owner(&[b"SET", b"k", &cut, b"NX"]), None, "another owner's may begin alike");
}

proptest! {
    /// Nothing of an argument that is no key is kept.
    #[test]
    fn tokens_are_dropped(token in "[0-9a-f]{32}", name in "[a-z]{3,9}", nx in any::<bool>()) {
        let set: [&[u8]; 4] = [b"SET", b"lock:k", token.as_bytes(), if nx { b"NX" } else { b"XX" }];
        let eval: [&[u8]; 5] = [b"EVAL", token.as_bytes(), b"1", b"lock:k", token.as_bytes()];
        let log = [logged(1, 0, &set, Some(("a:1", &name))), logged(0, 0, &eval, Some(("b:1", &name)))];
        let told = tell(&log, &keys(&[b"lock:k"]));
        prop_assert_eq!(told.slow.len(), 2);
        let shown = format!("{told:?}");
        prop_assert!(!shown.contains(&token), "{}", shown);
    }
}
