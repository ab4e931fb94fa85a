//! The fuzz targets without a fuzzer: over their corpus, and over what becomes of it by chance, the same in every run.

use std::path::{Path, PathBuf};

use super::TARGETS;

/// Changed inputs of a target; a second or less in a debug build. A configuration takes far longer to read than anything
/// else.
fn rounds(target: &str) -> usize {
    if target == "config" { 200 } else { 10_000 }
}

/// Numbers that lie at an edge somewhere, as bytes of either order.
const EDGES: [u32; 10] =
    [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0, 0xffff_ffff];

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", dir.display());
    files.into_iter().map(|f| (f.clone(), std::fs::read(f).unwrap())).collect()
}

/// A generator of its own: what fails must fail again.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    /// Changes bytes in one of the ways that break parsers.
    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.next(bytes.len());
        match self.next(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << self.next(8),
            1 if !bytes.is_empty() => bytes[at] = self.next(256) as u8,
            2 => bytes.truncate(at),
            3 => {
                let edge = EDGES[self.next(EDGES.len())];
                let edge = if self.next(2) == 0 { edge.to_be_bytes() } else { edge.to_le_bytes() };
                for (to, from) in bytes.iter_mut().skip(at).zip(edge) {
                    *to = from;
                }
            }
            4 => {
                let piece: Vec<u8> = bytes.iter().skip(at).take(self.next(64)).copied().collect();
                let to = self.next(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            5 => {
                let from = self.next(other.len());
                bytes.truncate(at);
                bytes.extend(other.iter().skip(from));
            }
            _ => {
                let word =
                    [&b"9223372036854775807"[..], b"-1", b"max", b"\r\n", b" ", b"\0", b".."];
                let word = word[self.next(word.len())];
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }
}

/// Runs a target; a panic is told with the input that made it.
fn run(target: fn(&[u8]), input: &[u8], from: &Path) {
    if let Err(cause) = std::panic::catch_unwind(|| target(input)) {
        eprintln!("from {}, {} bytes: {}", from.display(), input.len(), input.escape_ascii());
        std::panic::resume_unwind(cause);
    }
}

#[test]
fn every_target_holds_over_its_corpus_and_what_chance_makes_of_it() {
    for (name, target) in TARGETS {
        let corpus = corpus(name);
        for (path, bytes) in &corpus {
            run(target, bytes, path);
            // Every beginning of it, or of a long one some.
            let most = rounds(name).min(5_000) / 10;
            for end in (0..bytes.len()).step_by((bytes.len() / most).max(1)) {
                run(target, &bytes[..end], path);
            }
        }
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
        for _ in 0..rounds(name) {
            let (path, seed) = &corpus[chance.next(corpus.len())];
            let other = &corpus[chance.next(corpus.len())].1;
            let mut input = seed.clone();
            for _ in 0..=chance.next(4) {
                chance.change(&mut input, other);
            }
            run(target, &input, path);
        }
    }
}

/// A corpus that no parser accepts would prove nothing.
#[test]
fn the_corpus_is_what_the_parsers_accept() {
    use crate::poll::chrony::codec;
    use crate::poll::jvm::{counters, hsperfdata};
    use crate::poll::stalls::taskstats::wire::{self, Body};
    use std::time::Duration;

    let accepted = |name: &str, accepts: &dyn Fn(&[u8]) -> bool| {
        corpus(name).iter().filter(|(_, bytes)| accepts(bytes)).count()
    };
    let tracking = |b: &[u8]| {
        let sequence = b.get(16..20).map_or(0, |s| u32::from_be_bytes(s.try_into().unwrap()));
        matches!(codec::reply(b, sequence), Some(Ok(_)))
    };
    assert!(accepted("chrony", &tracking) >= 3, "synchronised, local, unsynchronised");
    let jvm = |b: &[u8]| {
        let age = Duration::from_secs(3600);
        hsperfdata::parse(b)
            .is_ok_and(|c| counters::read(&c, age).is_ok_and(|jvm| jvm.collectors.len() > 1))
    };
    assert!(accepted("hsperfdata", &jvm) >= 1);
    let stats = |b: &[u8]| {
        wire::replies(b, 30).any(|r| matches!(r.body, Body::Stats(_, Ok(s)) if s.slices > 0))
    };
    assert!(accepted("taskstats", &stats) >= 2, "of a thread and of a process");
    let pressure = |b: &[u8]| crate::poll::cgroup::parse::pressure(b).is_ok();
    assert!(accepted("cgroup", &pressure) >= 1);
    let frame =
        |b: &[u8]| matches!(crate::poll::redis::codec::Scanner::at(0).advance(b), Ok(Some(_)));
    assert!(accepted("resp", &frame) >= 3);
    assert!(accepted("server", &frame) >= 6);
    let is_config = |b: &[u8]| crate::config::fuzzing::is_accepted(b);
    assert!(accepted("config", &is_config) >= 2, "the example and a small one");
}
