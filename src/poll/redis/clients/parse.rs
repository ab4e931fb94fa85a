//! The lines of `CLIENT LIST`. Pure and tolerant: fields come in any order, older servers lack some, newer ones have more,
//! and a line without a number and an address is none. Values hold no spaces, as no server lets a client set such.

use std::sync::Arc;

use crate::observe::client::Client;
use crate::observe::label;
use crate::secret;

/// Longest value that is kept, in characters; names of clients may be as long as a request.
const MAX_WORD: usize = 128;
/// Lines that are read at most.
const MAX_LINES: usize = 8192;

/// The connections of a reply.
pub fn clients(text: &[u8]) -> Vec<Client> {
    text.split(|b| *b == b'\n').take(MAX_LINES).filter_map(client).collect()
}

fn client(line: &[u8]) -> Option<Client> {
    let mut client = Client::default();
    let mut id = None;
    for field in line.trim_ascii().split(|b| *b == b' ') {
        let Some(at) = field.iter().position(|b| *b == b'=') else { continue };
        let (key, value) = (field.get(..at)?, field.get(at + 1..)?);
        match key {
            b"id" => id = number(value),
            b"addr" => client.addr = word(value),
            b"laddr" => client.to = word(value),
            b"fd" => client.descriptor = number(value).and_then(|n| u32::try_from(n).ok()),
            b"name" => client.name = word(value),
            b"lib-name" => client.library = word(value),
            b"lib-ver" => client.library_version = word(value),
            b"user" => client.user = word(value),
            b"cmd" => client.command = word(value),
            b"flags" => client.flags = word(value),
            b"db" => client.db = number(value).and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
            b"resp" => client.protocol = number(value).and_then(|n| u8::try_from(n).ok()),
            b"age" => client.age = number(value)?,
            b"idle" => client.idle = number(value)?,
            b"sub" | b"psub" | b"ssub" => {
                let more = number(value).unwrap_or(0);
                client.subscriptions = client.subscriptions.saturating_add(more);
            }
            _ => {}
        }
    }
    client.id = id?;
    (!client.addr.is_empty()).then_some(client)
}

fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// A printable word. `NULL` is how servers write that there is no command yet.
fn word(value: &[u8]) -> Arc<str> {
    match value {
        b"" | b"NULL" => Arc::default(),
        value => {
            label::text(&secret::blot(value)).chars().take(MAX_WORD).collect::<String>().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: &[u8] = b"id=3 addr=127.0.0.1:51234 laddr=127.0.0.1:6379 fd=8 name=orders age=60 idle=2 flags=N db=1 \
        sub=0 psub=0 multi=-1 qbuf=26 qbuf-free=40928 argv-mem=10 obl=0 oll=0 omem=0 tot-mem=61466 events=r cmd=evalsha \
        user=default redir=-1\n";
    const NEW: &[u8] = b"id=9 addr=/run/redis.sock:0 laddr=/run/redis.sock:0 fd=11 name= age=4 idle=0 flags=P db=0 sub=2 \
        psub=1 ssub=4 multi=-1 watch=0 tot-mem=2 events=r cmd=client|list user=app redir=-1 resp=3 lib-name=redis-py \
        lib-ver=5.0.1 io-thread=0 tot-net-in=1\n";

    #[test]
    fn reads_old_and_new_servers() {
        let both = clients(&[OLD, NEW, b"\n"].concat());
        let [old, new] = &both[..] else { panic!("{both:?}") };
        assert_eq!((old.id, &*old.addr, &*old.to), (3, "127.0.0.1:51234", "127.0.0.1:6379"));
        assert_eq!((&*old.name, old.age, old.idle, old.db), ("orders", 60, 2, 1));
        assert_eq!((&*old.command, &*old.library, old.protocol), ("evalsha", "", None));
        assert_eq!((&*new.library, &*new.library_version), ("redis-py", "5.0.1"));
        assert_eq!((new.subscriptions, new.protocol, new.descriptor), (7, Some(3), Some(11)));
        assert!(new.is_unix() && !old.is_unix() && new.name.is_empty());
    }

    #[test]
    fn what_is_no_line_is_left_out() {
        for none in [
            &b"OK"[..],
            b"",
            b"id=1 age=3",
            b"addr=1:2",
            b"id=x addr=1:2 age=1",
            b"id=1 addr=a:1 age=-3",
        ] {
            assert!(clients(none).is_empty(), "{}", String::from_utf8_lossy(none));
        }
        let odd = clients(b"id=1 addr=a:1 name=\x00\xff==x cmd=NULL huge\r\n");
        assert_eq!((&*odd[0].name, &*odd[0].command), ("\\x00\\xff==x", ""));
        let long = [b"id=1 addr=a:1 name=".as_slice(), &[b'x'; 100_000]].concat();
        assert_eq!(clients(&long)[0].name.len(), MAX_WORD);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = clients(&bytes);
        }
    }
}
