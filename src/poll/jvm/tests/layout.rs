//! Counters files built byte by byte, right and wrong ones.

use std::time::Duration;

use proptest::prelude::*;

use super::super::counters;
use super::super::hsperfdata::{Malformed, Value, parse};
use crate::observe::jvm::Jvm;

const AGE: Duration = Duration::from_secs(100);

/// What an entry of a file holds.
#[derive(Clone, Debug)]
pub enum Held {
    Long(i64),
    Text(String),
}

fn number(little: bool, n: i32) -> [u8; 4] {
    if little { n.to_le_bytes() } else { n.to_be_bytes() }
}

/// A file with these entries, as a JVM lays it out.
pub fn file(little: bool, entries: &[(String, Held)]) -> Vec<u8> {
    let size = |n: usize| number(little, i32::try_from(n).unwrap());
    let mut body = Vec::new();
    for (name, held) in entries {
        let data = match held {
            Held::Long(n) if little => n.to_le_bytes().to_vec(),
            Held::Long(n) => n.to_be_bytes().to_vec(),
            Held::Text(t) => [t.as_bytes(), &[0; 3]].concat(),
        };
        let start = (20 + name.len() + 1).next_multiple_of(8);
        let length = (start + data.len()).next_multiple_of(8);
        let (kind, vector) = match held {
            Held::Long(_) => (b'J', 0),
            Held::Text(_) => (b'B', data.len()),
        };
        let mut entry =
            [size(length), size(20), size(vector), [kind, 0, 1, 2], size(start)].concat();
        entry.extend(name.as_bytes());
        entry.resize(start, 0);
        entry.extend(data);
        entry.resize(length, 0);
        body.extend(entry);
    }
    let mut all = vec![0xca, 0xfe, 0xc0, 0xc0, u8::from(little), 2, 0, 1];
    all.extend(
        [size(32 + body.len()), size(0), size(7), size(0), size(32), size(entries.len())].concat(),
    );
    all.extend(body);
    all.resize(all.len() + 64, 0);
    all
}

/// The entries of a JVM with two collectors, among others that nobody asks for.
pub fn entries(version: &str) -> Vec<(String, Held)> {
    let mut all = vec![
        ("sun.rt.createVmBeginTime".to_owned(), Held::Long(1_795_977_410_260)),
        ("java.property.java.vm.specification.version".to_owned(), Held::Text(version.to_owned())),
        ("java.property.java.vm.version".to_owned(), Held::Text("17.0.15+6".to_owned())),
        ("sun.os.hrt.frequency".to_owned(), Held::Long(1_000_000_000)),
        ("sun.os.hrt.ticks".to_owned(), Held::Long(90_000_000_000)),
        ("sun.rt.safepoints".to_owned(), Held::Long(17)),
        ("sun.rt.safepointTime".to_owned(), Held::Long(2_000_000_000)),
        ("sun.rt.safepointSyncTime".to_owned(), Held::Long(30_000_000)),
    ];
    for (number, name) in [(0, "young\u{1b}[2J"), (1, "full")] {
        let of = |what: &str| format!("sun.gc.collector.{number}.{what}");
        all.extend([
            (of("name"), Held::Text(name.to_owned())),
            (of("invocations"), Held::Long(number + 3)),
            (of("time"), Held::Long(1_500_000_000)),
            (of("lastEntryTime"), Held::Long(80_000_000_000)),
            (of("lastExitTime"), Held::Long(70_000_000_000)),
        ]);
    }
    all
}

fn read(bytes: &[u8]) -> Result<Jvm, String> {
    counters::read(&parse(bytes).map_err(|e| e.to_string())?, AGE)
}

#[test]
fn both_byte_orders_say_the_same() {
    let little = read(&file(true, &entries("17"))).unwrap();
    assert_eq!(little, read(&file(false, &entries("17"))).unwrap());
    assert_eq!(little.ticks, Some(Duration::from_secs(90)));
    assert_eq!((little.safepoints, &*little.version), (Some(17), "17.0.15+6"));
    assert_eq!(
        (little.safepoint_time, little.sync_time),
        (Some(Duration::from_secs(2)), Some(Duration::from_millis(30)))
    );
    let [young, full] = &little.collectors[..] else { panic!("{little:?}") };
    assert_eq!((&*young.name, young.number, young.invocations), ("young\\x1b[2J", 0, 3));
    assert_eq!(
        (full.time, full.last_entry),
        (Duration::from_millis(1500), Duration::from_secs(80))
    );
}

#[test]
fn the_release_tells_what_is_included() {
    for (version, is) in
        [("1.8", true), ("11", true), ("17", false), ("25", false), ("", false), ("x", false)]
    {
        assert_eq!(read(&file(true, &entries(version))).unwrap().sync_is_included, is, "{version}");
    }
}

#[test]
fn what_is_missing_is_not_zero() {
    let without = |name: &str| {
        let all: Vec<_> = entries("25").into_iter().filter(|(n, _)| !n.contains(name)).collect();
        read(&file(true, &all))
    };
    assert_eq!(without("hrt.ticks").unwrap().ticks, None);
    assert_eq!(without("safepoint").unwrap().safepoints, None);
    assert_eq!(without("safepointTime").unwrap().safepoint_time, None);
    let collectors = without("0.lastExitTime").unwrap().collectors;
    assert_eq!(collectors.iter().map(|c| c.number).collect::<Vec<_>>(), [1]);
    assert!(without("frequency").is_err());
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    for (name, value) in [
        ("sun.os.hrt.ticks", 200_000_000_000),
        ("sun.os.hrt.frequency", 0),
        ("sun.os.hrt.frequency", -5),
        ("sun.rt.safepoints", -1),
        ("sun.rt.safepoints", i64::MAX),
        ("sun.rt.safepointTime", i64::MAX),
        ("sun.gc.collector.1.time", -1),
        ("sun.gc.collector.0.lastEntryTime", 103_000_000_000),
    ] {
        let mut all = entries("17");
        all.iter_mut().filter(|(n, _)| n == name).for_each(|(_, h)| *h = Held::Long(value));
        let error = read(&file(true, &all)).unwrap_err();
        assert!(error.contains("sun."), "{error}");
    }
}

#[test]
fn what_is_wrong_with_them_is_said_in_the_same_words_as_time_goes_on() {
    let error = |safepoints, age: u64| {
        let mut all = entries("17");
        let number = all.iter_mut().find(|(n, _)| n == "sun.rt.safepoints").unwrap();
        number.1 = Held::Long(safepoints);
        let bytes = file(true, &all);
        counters::read(&parse(&bytes).unwrap(), Duration::from_secs(age)).unwrap_err()
    };
    assert_eq!(error(i64::MAX - 7, 101), error(i64::MAX, 100));
}

#[test]
fn heads_that_are_none() {
    let good = file(true, &entries("17"));
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        parse(&bytes).map(|c| c.entries.len())
    };
    assert_eq!(with(0, 0), Err(Malformed::NoPrologue));
    assert_eq!(with(4, 2), Err(Malformed::NoPrologue));
    assert_eq!(with(5, 1), Err(Malformed::Version(1)));
    assert_eq!(with(7, 0), Err(Malformed::NotYet));
    assert_eq!(with(24, 0), Err(Malformed::Entry(0)));
    // No entry has no length: that would never end.
    assert_eq!(with(32, 0), Err(Malformed::Entry(32)));
    assert_eq!(parse(&[]), Err(Malformed::NoPrologue));
    let counters = parse(&good).unwrap();
    assert_eq!(
        counters.entries[0],
        (&b"sun.rt.createVmBeginTime"[..], Value::Long(1_795_977_410_260))
    );
}

/// Whatever is read, no number of it is beyond the JVM's life.
fn is_plausible(jvm: &Jvm) -> bool {
    let limit = AGE + Duration::from_secs(2);
    let times = [jvm.ticks, jvm.safepoint_time, jvm.sync_time].into_iter().flatten();
    let of_collectors = jvm.collectors.iter().flat_map(|c| [c.time, c.last_entry, c.last_exit]);
    times.chain(of_collectors).all(|t| t <= limit)
        && jvm.safepoints.is_none_or(|n| n <= 102_000_000)
        && jvm.collectors.len() <= 8
        && jvm.collectors.iter().all(|c| !c.name.chars().any(char::is_control))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn spoilt_files_do_no_harm(
        little: bool,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = file(little, &entries("17"));
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(jvm) = read(&bytes) {
            prop_assert!(is_plausible(&jvm), "{jvm:?}");
        }
    }

    /// Offsets and lengths are what can lead astray.
    #[test]
    fn wild_offsets_do_no_harm(little: bool, at in 0usize..200, n: i32, entry: bool) {
        let mut bytes = file(little, &entries("17"));
        let at = if entry { 32 + at * 4 } else { 8 + at % 6 * 4 };
        if let Some(place) = bytes.get_mut(at..at + 4) {
            place.copy_from_slice(&number(little, n));
        }
        if let Ok(jvm) = read(&bytes) {
            prop_assert!(is_plausible(&jvm), "{jvm:?}");
        }
    }

    #[test]
    fn any_bytes_after_a_good_head_do_no_harm(rest: Vec<u8>) {
        let mut bytes = file(true, &entries("17"))[..32].to_vec();
        bytes.extend(rest);
        let _ = read(&bytes);
    }
}
