//! The codec against bytes of a real kernel and against any bytes, and the real kernel where it lets us.

use proptest::prelude::*;

use super::*;

const FAMILY: u16 = 23;

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend((4 + value.len() as u16).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn message(kind: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend((16 + payload.len() as u32).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend([0, 0]);
    out.extend(sequence.to_ne_bytes());
    out.extend([0; 4]);
    out.extend(payload);
    out
}

/// A structure of this version and length with a number of its own at each place.
fn structure(version: u16, length: usize) -> Vec<u8> {
    let mut out: Vec<u8> = (0..length as u64 / 8).flat_map(|n| (n * 8).to_ne_bytes()).collect();
    out[..2].copy_from_slice(&version.to_ne_bytes());
    out
}

fn counters(sequence: u32, whom: Whom, structure: &[u8]) -> Vec<u8> {
    let (outer, inner, id) = match whom {
        Whom::Thread(id) => (4, 1, id),
        Whom::Process(id) => (5, 2, id),
    };
    // An empty attribute keeps the structure aligned.
    let inner = [attribute(inner, &id.to_ne_bytes()), attribute(6, b""), attribute(3, structure)];
    let payload = [vec![2, 1, 0, 0], attribute(outer | 0x8000, &inner.concat())].concat();
    message(FAMILY, sequence, &payload)
}

fn error(sequence: u32, errno: i32) -> Vec<u8> {
    let payload = [(-errno).to_ne_bytes().to_vec(), vec![0; 16]].concat();
    message(2, sequence, &payload)
}

#[test]
fn the_structure_is_read_by_its_version_and_length() {
    let v16 = Stats::parse(&structure(16, 560)).unwrap();
    assert_eq!((v16.slices, v16.waited, v16.on_cpu), (16, 24, 72));
    assert_eq!((v16.involuntary, v16.process, v16.longest_wait), (Some(280), Some(368), Some(432)));
    let v13 = Stats::parse(&structure(13, 560)).unwrap();
    assert_eq!((v13.process, v13.longest_wait), (Some(368), None));
    let cut = Stats::parse(&structure(16, 432)).unwrap();
    assert_eq!(cut.longest_wait, None);
    let v8 = Stats::parse(&structure(8, 328)).unwrap();
    assert_eq!((v8.on_cpu, v8.involuntary, v8.process), (72, Some(280), None));
    assert_eq!(Stats::parse(&structure(1, 80)).unwrap().involuntary, None);
    assert_eq!(Stats::parse(&structure(15, 560)), Err(stats::Unusable::Version(15)));
    assert_eq!(Stats::parse(&structure(16, 72)), Err(stats::Unusable::Short));
    assert_eq!(Stats::parse(b"\x10"), Err(stats::Unusable::Short));
}

#[test]
fn answers_find_their_questions_and_nothing_else_does() {
    let asked = [Whom::Process(7), Whom::Thread(8), Whom::Process(9), Whom::Process(10)];
    let mut replies = Replies::to(&asked, u32::MAX);
    let good = structure(16, 560);
    for datagram in [
        // Out of order, two in one datagram, across the sequence's end.
        [counters(0, asked[1], &good), error(1, 3)].concat(),
        // About somebody else, of another kind, of a stranger's number, of no errno, an acknowledgement.
        counters(u32::MAX, Whom::Process(8), &good),
        counters(u32::MAX, Whom::Thread(7), &good),
        counters(77, asked[0], &good),
        error(u32::MAX, i32::MAX),
        error(u32::MAX, 0),
        error(0, 1),
        counters(u32::MAX, asked[0], &structure(15, 560)),
    ] {
        replies.take(&datagram, FAMILY);
    }
    assert!(!replies.are_complete());
    assert_eq!(replies.answers[0], Err(Unanswered::Unusable(stats::Unusable::Version(15))));
    assert_eq!(replies.answers[1].unwrap().waited, 24);
    assert_eq!(replies.answers[2], Err(Unanswered::Refused(Errno::SRCH)));
    assert_eq!(replies.answers[3], LOST);
}

#[test]
fn requests_are_what_the_kernel_reads() {
    let mut out = Vec::new();
    wire::ask(&mut out, FAMILY, 5, Whom::Process(0x0102_0304));
    let payload = [vec![1, 1, 0, 0], attribute(2, &0x0102_0304u32.to_ne_bytes())].concat();
    let mut want = message(FAMILY, 5, &payload);
    want[6] = 1;
    if cfg!(target_endian = "big") {
        want[6..8].copy_from_slice(&[0, 1]);
    }
    assert_eq!(out, want);
}

proptest! {
    #[test]
    fn any_bytes_do_no_harm(bytes: Vec<u8>) {
        let _ = wire::replies(&bytes, FAMILY).count();
        let _ = Stats::parse(&bytes);
    }

    #[test]
    fn a_spoilt_answer_is_an_answer_to_nobody_or_has_its_name(
        at in 0usize..600, byte: u8, cut in 0usize..700,
    ) {
        let asked = [Whom::Process(7)];
        let mut datagram = counters(3, asked[0], &structure(16, 560));
        if let Some(place) = datagram.get_mut(at) {
            *place = byte;
        }
        datagram.truncate(cut);
        let mut replies = Replies::to(&asked, 3);
        replies.take(&datagram, FAMILY);
        let inside = wire::replies(&datagram, FAMILY).find(|r| r.sequence == 3);
        if let Ok(stats) = replies.answers[0] {
            assert_eq!(inside.map(|r| r.body), Some(Body::Stats(asked[0], Ok(stats))));
        }
    }
}

/// The kernel, or a word that it does not let us.
pub fn kernel() -> Option<Taskstats> {
    match Taskstats::open() {
        Ok(taskstats) => Some(taskstats),
        Err(
            e @ (Unavailable::Permission(_) | Unavailable::Absent(_) | Unavailable::NoNetlink(_)),
        ) => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn the_kernel_answers_many_questions_at_once() {
    let Some(mut taskstats) = kernel() else { return };
    let own = std::process::id();
    // More than one batch, and some that nobody has.
    let asked: Vec<Whom> = (0..3 * BATCH as u32)
        .map(|n| if n % 5 == 4 { Whom::Process(0x3fff_fff0) } else { Whom::Process(own) })
        .collect();
    let answers = taskstats.ask(&asked).unwrap();
    assert_eq!(answers.len(), asked.len());
    for (asked, answer) in asked.iter().zip(answers) {
        match asked {
            Whom::Process(pid) if *pid == own => assert!(answer.unwrap().slices > 0),
            _ => assert_eq!(answer, Err(Unanswered::Refused(Errno::SRCH))),
        }
    }
    let thread = std::fs::read_link("/proc/thread-self")
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    let stats = taskstats.ask(&[Whom::Thread(thread)]).unwrap()[0].unwrap();
    assert!(stats.process.is_none_or(|p| p == own), "{stats:?}");
}
