//! A raw client that sends the requests of a sweep, its transactions and at last the `INFO`, prepared once, one in flight, and splits what comes back into
//! replies: the least that a sweep can cost. It must not look into a value.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use dlock_exporter::clock;

/// Keys of one transaction, as the exporter has them.
pub const BATCH: usize = 50;

/// What a sweep ends with, as the exporter has it.
const INFO: [&str; 9] = [
    "INFO",
    "server",
    "replication",
    "memory",
    "persistence",
    "stats",
    "clients",
    "commandstats",
    "keyspace",
];

/// One connection and its requests.
pub struct RawClient {
    stream: TcpStream,
    /// Each with the number of its replies.
    requests: Vec<(Vec<u8>, usize)>,
    buffer: Vec<u8>,
}

/// Appends a command.
pub fn command(out: &mut Vec<u8>, words: &[&str]) {
    write!(out, "*{}\r\n", words.len()).unwrap();
    for w in words {
        write!(out, "${}\r\n{w}\r\n", w.len()).unwrap();
    }
}

impl RawClient {
    /// Reads these keys.
    pub fn new(address: SocketAddr, keys: &[String]) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let batches = keys.chunks(BATCH).map(|chunk| {
            let mut out = Vec::new();
            command(&mut out, &["MULTI"]);
            command(&mut out, &["TIME"]);
            let mut words = vec!["MGET"];
            words.extend(chunk.iter().map(String::as_str));
            command(&mut out, &words);
            for k in chunk {
                command(&mut out, &["PEXPIRETIME", k]);
            }
            command(&mut out, &["ROLE"]);
            command(&mut out, &["EXEC"]);
            // MULTI's OK, one QUEUED for each of TIME, MGET, the expiries and ROLE, and EXEC's array.
            (out, chunk.len() + 5)
        });
        let mut requests: Vec<_> = batches.collect();
        let mut facts = Vec::new();
        command(&mut facts, &["TIME"]);
        command(&mut facts, &INFO);
        requests.push((facts, 2));
        Self { stream, requests, buffer: vec![0; 1 << 16] }
    }

    /// One sweep; gives how long it took.
    pub fn sweep(&mut self) -> Duration {
        let begun = clock::mono();
        for (request, count) in &self.requests {
            self.stream.write_all(request).unwrap();
            let (mut filled, mut at, mut replies) = (0, 0, 0);
            while replies < *count {
                let n = self.stream.read(&mut self.buffer[filled..]).unwrap();
                assert!(n > 0, "the server closed the connection");
                filled += n;
                while let Some(end) = end_of_reply(&self.buffer[..filled], at) {
                    (at, replies) = (end, replies + 1);
                }
            }
        }
        clock::mono().since(begun)
    }
}

fn end_of_reply(buffer: &[u8], at: usize) -> Option<usize> {
    let line = at + buffer.get(at..)?.iter().position(|b| *b == b'\n')? + 1;
    let number = || std::str::from_utf8(&buffer[at + 1..line - 2]).unwrap().parse::<i64>().unwrap();
    match buffer[at] {
        b'+' | b'-' | b':' => Some(line),
        b'$' => match usize::try_from(number()) {
            Ok(n) => (buffer.len() >= line + n + 2).then_some(line + n + 2),
            Err(_) => Some(line),
        },
        b'*' => (0..number().max(0)).try_fold(line, |at, _| end_of_reply(buffer, at)),
        other => panic!("unexpected reply {}", other as char),
    }
}
