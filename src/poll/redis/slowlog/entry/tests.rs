use proptest::prelude::*;

use super::*;
use crate::poll::redis::codec::Scanner;

/// A bulk string.
pub fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// An entry as servers write it.
pub fn logged(id: u64, at_secs: i64, args: &[&[u8]], client: Option<(&str, &str)>) -> Vec<u8> {
    let fields = if client.is_some() { 6 } else { 4 };
    let mut out =
        format!("*{fields}\r\n:{id}\r\n:{at_secs}\r\n:1500\r\n*{}\r\n", args.len()).into_bytes();
    args.iter().for_each(|a| out.extend(bulk(a)));
    if let Some((addr, name)) = client {
        out.extend(bulk(addr.as_bytes()));
        out.extend(bulk(name.as_bytes()));
    }
    out
}

/// A reply of several.
pub fn reply(all: &[Vec<u8>]) -> Vec<u8> {
    [format!("*{}\r\n", all.len()).into_bytes(), all.concat()].concat()
}

#[test]
fn entries_of_old_and_new_servers_are_read() {
    let new = logged(7, 100, &[b"SET", b"k", b"v", b"NX"], Some(("10.0.0.7:1", "w")));
    let old = logged(6, 99, &[b"get", b"k"], None);
    let bytes = reply(&[new, old]);
    let all = entries(Walk::new(&bytes)).unwrap();
    assert_eq!((all[0].id, all[0].at_secs, all[0].micros), (7, 100, 1500));
    assert_eq!((all[0].command(), all[0].whole(3)), (&b"SET"[..], Some(&b"NX"[..])));
    assert_eq!((all[0].addr, all[0].name), (&b"10.0.0.7:1"[..], &b"w"[..]));
    assert_eq!((all[1].id, all[1].addr, all[1].is_cut()), (6, &b""[..], false));
    assert!(all[1].is_any_of(&["GET"]));
}

#[test]
fn what_a_server_cut_is_known_by_its_mark() {
    let long = [&[b'x'; 128][..], b"... (72 more bytes)"].concat();
    let bytes = reply(&[logged(1, 0, &[b"MGET", &long, b"... (69 more arguments)"], None)]);
    let all = entries(Walk::new(&bytes)).unwrap();
    assert_eq!(all[0].args[1], Arg { bytes: &[b'x'; 128], beyond: 72 });
    assert_eq!((all[0].args.len(), all[0].is_short, all[0].whole(1)), (2, true, None));
    assert!(all[0].may_hide_keys());
    // What is as short as an argument that is shown as a whole is one.
    let own: &[u8] = b"short... (72 more bytes)";
    let bytes = reply(&[logged(1, 0, &[b"SET", own, b"... (0 more things)"], None)]);
    let all = entries(Walk::new(&bytes)).unwrap();
    assert!(!all[0].is_cut());
    assert_eq!(all[0].whole(1), Some(own));
}

#[test]
fn of_a_script_with_many_arguments_the_keys_come_first() {
    let many: [&[u8]; 6] = [b"EVALSHA", b"sha", b"2", b"k1", b"k2", b"... (40 more arguments)"];
    let bytes = reply(&[logged(1, 0, &many, None)]);
    assert!(!entries(Walk::new(&bytes)).unwrap()[0].may_hide_keys());
    let many: [&[u8]; 6] = [b"FCALL", b"f", b"3", b"k1", b"k2", b"... (40 more arguments)"];
    let bytes = reply(&[logged(1, 0, &many, None)]);
    assert!(entries(Walk::new(&bytes)).unwrap()[0].may_hide_keys());
}

#[test]
fn what_is_no_slow_log_is_none() {
    for odd in [
        &b"+OK\r\n"[..],
        b":3\r\n",
        b"_\r\n",
        b"*1\r\n:3\r\n",
        b"*1\r\n*3\r\n:1\r\n:2\r\n:3\r\n",
        b"*1\r\n*4\r\n:-1\r\n:2\r\n:3\r\n*0\r\n",
        b"*1\r\n*4\r\n:1\r\n:2\r\n:3\r\n$3\r\nGET\r\n",
        b"*1\r\n*5\r\n:1\r\n:2\r\n:3\r\n*0\r\n:7\r\n",
        b"*2\r\n*4\r\n:1\r\n:2\r\n:3\r\n*0\r\n",
    ] {
        assert_eq!(entries(Walk::new(odd)), None, "{}", String::from_utf8_lossy(odd));
    }
    assert_eq!(entries(Walk::new(b"*0\r\n")), Some(Vec::new()));
}

proptest! {
    #[test]
    fn what_a_server_logs_comes_back(
        ids in proptest::collection::vec((any::<u64>(), any::<i64>()), 0..5),
        args in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..128), 1..32),
        beyond in 1_u64..,
    ) {
        let ids: Vec<(u64, i64)> = ids.into_iter().map(|(id, at)| (id >> 1, at)).collect();
        let cut = [&[b'y'; 128][..], format!("... ({beyond} more bytes)").as_bytes()].concat();
        let mut all: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        all.push(&cut);
        let log: Vec<_> = ids.iter().map(|(id, at)| logged(*id, *at, &all, Some(("a", "n")))).collect();
        let bytes = reply(&log);
        let read = entries(Walk::new(&bytes)).unwrap();
        prop_assert_eq!(read.len(), ids.len());
        for (entry, (id, at)) in read.iter().zip(&ids) {
            prop_assert_eq!((entry.id, entry.at_secs), (*id, *at));
            prop_assert_eq!(entry.args.len(), all.len());
            for (place, arg) in args.iter().enumerate() {
                prop_assert_eq!(entry.whole(place), Some(arg.as_slice()));
            }
            prop_assert_eq!(entry.args.last().unwrap().beyond, beyond);
        }
    }

    /// Whatever frame a server may send: nothing panics, and no more is told than was in it.
    #[test]
    fn any_frame_is_read_or_refused(
        parts in proptest::collection::vec(prop_oneof![
            (0_usize..8).prop_map(|n| format!("*{n}\r\n").into_bytes()),
            any::<i64>().prop_map(|n| format!(":{n}\r\n").into_bytes()),
            proptest::collection::vec(any::<u8>(), 0..200).prop_map(|b| bulk(&b)),
            Just(b"_\r\n".to_vec()),
            Just(b"-ERR x\r\n".to_vec()),
            Just(bulk(b"... (9 more arguments)")),
        ], 0..24),
    ) {
        let bytes = parts.concat();
        let end = Scanner::at(0).advance(&bytes).ok().flatten().unwrap_or(bytes.len());
        let frame = &bytes[..end];
        if let Some(all) = entries(Walk::new(frame)) {
            let shown: usize = all.iter().flat_map(|e| &e.args).map(|a| a.bytes.len()).sum();
            prop_assert!(shown <= frame.len());
            all.iter().for_each(|e| { e.may_hide_keys(); e.numkeys(); });
        }
    }
}
