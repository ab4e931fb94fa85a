//! `/proc/<pid>/stat` and `/proc/<pid>/task/<tid>/stat` from bytes. Own parser: the name in it may hold blanks, brackets
//! and bytes that are no UTF-8, and the start time must keep all its digits.

use crate::observe::worker::ProcessState;

/// `PF_KTHREAD`: a kernel thread, which can be nobody's worker.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The fields that are used; times in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// State of this thread, the leader's in a process's own file.
    pub state: ProcessState,
    /// Whether it is a kernel thread.
    pub kernel_thread: bool,
    /// CPU time of the process (of the thread in a thread's file).
    pub cpu_ticks: u64,
    /// Threads of the process.
    pub threads: u64,
    /// Start, since boot.
    pub start_ticks: u64,
    /// Resident pages; 0 once the thread has exited.
    pub resident_pages: u64,
}

/// Reads it; `None` if it is not what proc_pid_stat(5) says.
pub fn parse(text: &[u8]) -> Option<Stat> {
    let name_end = text.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(text.get(name_end + 1..)?).ok()?;
    // The first of these is field 3 of the manual.
    let fields: Vec<&str> = rest.split_ascii_whitespace().take(24).collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        state: state(fields.first()?)?,
        kernel_thread: number(9)? & KERNEL_THREAD != 0,
        cpu_ticks: number(14)?.saturating_add(number(15)?),
        threads: number(20)?,
        start_ticks: number(22)?,
        resident_pages: number(24)?,
    })
}

fn state(letter: &str) -> Option<ProcessState> {
    Some(match letter {
        "R" | "W" => ProcessState::Running,
        "S" | "I" | "P" | "K" => ProcessState::Sleeping,
        "D" => ProcessState::DiskSleep,
        "T" => ProcessState::Stopped,
        "t" => ProcessState::Traced,
        "Z" | "X" | "x" => ProcessState::Zombie,
        _ => return None,
    })
}

/// How much a thread in this state says that the process lives; the threads' best speaks for them.
pub fn rank(state: ProcessState) -> u8 {
    match state {
        ProcessState::Running => 5,
        ProcessState::Sleeping => 4,
        ProcessState::DiskSleep => 3,
        ProcessState::Traced => 2,
        ProcessState::Stopped => 1,
        ProcessState::Zombie => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(name: &[u8], rest: &str) -> Vec<u8> {
        [b"4711 (", name, b") ", rest.as_bytes()].concat()
    }

    const REST: &str =
        "S 1 4711 4711 0 -1 4194560 123 0 0 0 7 5 0 0 20 0 3 0 18446744073709 999 250 1844 1 1\n";

    #[test]
    fn names_cannot_fool_it() {
        let plain = parse(&line(b"sleep", REST)).unwrap();
        assert_eq!(plain.start_ticks, 18_446_744_073_709);
        assert_eq!((plain.cpu_ticks, plain.threads, plain.resident_pages), (12, 3, 250));
        assert!(!plain.kernel_thread);
        for name in [&b"(a) R (x y)"[..], b"a\xe8) Z 1", b"", b")", b"\n", b"a b\tc"] {
            assert_eq!(parse(&line(name, REST)), Some(plain), "{name:?}");
        }
    }

    #[test]
    fn what_is_not_a_stat_is_nothing() {
        for text in [&b""[..], b"4711", b"4711 (x)", b"4711 (x) Q 1", b"4711 (x) S 1 2 3"] {
            assert_eq!(parse(text), None);
        }
    }

    #[test]
    fn kernel_threads_are_told() {
        let rest = REST.replacen("4194560", "2129984", 1);
        assert!(parse(&line(b"kthreadd", &rest)).unwrap().kernel_thread);
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes: Vec<u8>) {
            let _ = parse(&bytes);
            let _ = parse(&line(&bytes, REST)).unwrap();
        }
    }
}
