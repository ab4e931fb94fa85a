//! What a process has mapped: whether it is a JVM, and which counters file is its own. A JVM keeps that file mapped as
//! long as it lives, so a file that another one left behind, under the same pid and user, is not taken for it. Nothing
//! is opened by the names found here.

use std::io::{self, BufRead, Read};

/// A JVM has about a thousand mappings of a hundred bytes each.
const MAX_BYTES: u64 = 16 << 20;
const MAX_LINE: u64 = 16 << 10;

/// What the mappings of a process say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// It has `libjvm.so`.
    pub is_jvm: bool,
    /// Its counters file, if it has one.
    pub counters: Option<CountersFile>,
}

/// A counters file as `/proc/<pid>/maps` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountersFile {
    /// `hsperfdata_<user>`.
    pub directory: String,
    /// It is removed, though still mapped.
    pub is_removed: bool,
}

/// Reads mappings; `inner_pid` is the process's pid as it sees it itself.
pub fn read(maps: impl Read, inner_pid: i32) -> io::Result<Mapped> {
    let mut from = io::BufReader::with_capacity(64 << 10, maps.take(MAX_BYTES));
    let mut out = Mapped::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        // A longer line is read as two, the second of which is none of ours.
        if (&mut from).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(out);
        }
        let Ok(text) = std::str::from_utf8(&line) else { continue };
        let Some(path) = path_of(text) else { continue };
        out.is_jvm |= name(path) == "libjvm.so";
        if let Some(found) = counters_file(path, inner_pid) {
            out.counters = Some(found);
        }
    }
}

/// The path of a line: `7f..-7f.. rw-s 00000000 08:01 1234   /tmp/x`.
fn path_of(line: &str) -> Option<&str> {
    let mut rest = line.trim_end_matches('\n');
    for _ in 0..5 {
        rest = rest.split_once(' ')?.1;
    }
    Some(rest.trim_start_matches(' ')).filter(|path| path.starts_with('/'))
}

fn name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}

fn counters_file(path: &str, inner_pid: i32) -> Option<CountersFile> {
    let is_removed = path.ends_with(" (deleted)");
    let mut parts = path.strip_suffix(" (deleted)").unwrap_or(path).rsplit('/');
    let is_own = parts.next()?.parse() == Ok(inner_pid);
    let directory = parts.next()?;
    (is_own && directory.starts_with("hsperfdata_"))
        .then(|| CountersFile { directory: directory.to_owned(), is_removed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAPS: &str = "\
560000000000-560000001000 r--p 00000000 08:01 11                         /usr/bin/java
7f0000000000-7f0000008000 rw-s 00000000 08:01 4711                       /tmp/hsperfdata_a b/7
7f0000010000-7f0000018000 r-xp 00000000 08:01 12                         /usr/lib/jvm/lib/server/libjvm.so
7f0000020000-7f0000028000 rw-p 00000000 00:00 0
7ffc00000000-7ffc00020000 rw-p 00000000 00:00 0                          [stack]
";

    fn of(text: &str, pid: i32) -> Mapped {
        read(text.as_bytes(), pid).unwrap()
    }

    #[test]
    fn a_jvm_and_its_file_are_found() {
        let file = CountersFile { directory: "hsperfdata_a b".into(), is_removed: false };
        assert_eq!(of(MAPS, 7), Mapped { is_jvm: true, counters: Some(file.clone()) });
        assert_eq!(of(MAPS, 8), Mapped { is_jvm: true, counters: None });
        let removed = MAPS.replace("/7\n", "/7 (deleted)\n");
        let file = CountersFile { is_removed: true, ..file };
        assert_eq!(of(&removed, 7), Mapped { is_jvm: true, counters: Some(file) });
        assert!(!of(&MAPS.replace("libjvm", "libjvmx"), 7).is_jvm);
    }

    proptest! {
        #[test]
        fn any_text_does_no_harm(text: Vec<u8>, pid: i32) {
            let _ = read(&text[..], pid);
        }
    }
}
