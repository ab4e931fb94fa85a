//! Evidence, on real directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::folder::Folder;
use super::incidents::{IN_MEMORY, LARGEST};
use super::rises::{Rises, SPACING};
use super::*;
use crate::clock;
use crate::config::Evidence;
use crate::expose::example::lock_named;
use crate::expose::{EvidenceFailure, SelfFacts};
use crate::observe::Token;
use crate::view::{Signal, View};

const AT: &str = "2026-11-30T11:15:00.123Z";

fn config(dir: &Path, keep: usize) -> Evidence {
    Evidence { dir: dir.into(), keep, max_bytes: 64 << 20, raw_tokens: false }
}

fn id(i: usize) -> Arc<str> {
    name::make(&AT.replace("123", &format!("{i:03}")), "main", "orders", "contested", "x").into()
}

fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn own() -> SelfFacts {
    SelfFacts::new(Duration::from_secs(2), 0.0)
}

/// A view in which this signal rose so often.
fn view(signal: Signal, rises: u64, generation: u64) -> View {
    let mut view = View { generation, ..View::example() };
    let lock = lock_named(&mut view, "orders");
    lock.rises = Signal::ALL.iter().map(|s| (*s, if *s == signal { rises } else { 0 })).collect();
    for store in &mut view.stores {
        for lock in store.locks.iter_mut().filter(|l| &*l.name != "orders") {
            lock.rises.iter_mut().for_each(|(_, n)| *n = 0);
        }
    }
    view
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let begun = clock::mono();
    while !condition() {
        assert!(clock::mono().since(begun) < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_directory_is_bounded_and_only_ours_is_touched() {
    let dir = TempDir::new().unwrap();
    let foreign = ["notes.txt", "x.json", "20261130T111500.123Z.json", "half.json.tmp"];
    for name in foreign {
        fs::write(dir.path().join(name), "mine").unwrap();
    }
    fs::write(dir.path().join(format!("{}.json.tmp", id(1))), "{").unwrap();
    let trap = format!("{}.json", id(0));
    std::os::unix::fs::symlink("/etc/hostname", dir.path().join(&trap)).unwrap();
    let (mut folder, known) = Folder::open(config(dir.path(), 3)).unwrap();
    assert!(known.is_empty(), "neither what is unfinished nor a link is a document");
    for i in 1..=5 {
        folder.write(&id(i), b"{}").unwrap();
        let deleted = folder.prune().unwrap();
        assert_eq!(deleted, if i > 3 { vec![id(i - 3)] } else { vec![] });
    }
    let mut expected: Vec<String> = foreign.iter().map(|n| (*n).to_owned()).collect();
    expected.extend((3..=5).map(|i| format!("{}.json", id(i))));
    expected.push(trap);
    expected.sort();
    assert_eq!(files(dir.path()), expected);

    // By bytes, and fewer than before are kept after a restart.
    let small = Evidence { max_bytes: 4, ..config(dir.path(), 3) };
    let (_, known) = Folder::open(small).unwrap();
    assert_eq!(known.iter().map(|i| i.id.clone()).collect::<Vec<_>>(), [id(4), id(5)]);
    assert!(known.iter().all(|i| i.lock.is_none() && i.summary.is_none()), "{{}} says nothing");
}

#[test]
fn what_was_recorded_is_there_after_a_restart() {
    let dir = TempDir::new().unwrap();
    let (mut recorder, incidents, finished) = Recorder::start().unwrap();
    recorder.configure(Some(config(dir.path(), 10)));
    let rising = Arc::new(view(Signal::HolderStale, 1, 8));
    recorder.record(&rising, &own(), |_| panic!("no token is asked for"));
    wait_for("a document", || recorder.counts().unwrap().writes == 1);
    drop(recorder);
    assert!(finished.wait(Duration::from_secs(30)));
    let listing = serde_json::to_value(incidents.list(&Wanted::default(), 0, 10).unwrap()).unwrap();
    let first = &listing["incidents"][0];
    assert_eq!((&first["lock"], &first["signal"]), (&"orders".into(), &"holder_stale".into()));
    assert_eq!(listing["kept_in"], "directory");

    let (_, again, _) = {
        let (recorder, incidents, finished) = Recorder::start().unwrap();
        recorder.configure(Some(config(dir.path(), 10)));
        (recorder, incidents, finished)
    };
    wait_for("the index", || {
        serde_json::to_value(again.list(&Wanted::default(), 0, 10)).unwrap() == listing
    });
    let id = first["id"].as_str().unwrap();
    let Found::Document(bytes) = again.read(id) else { panic!("{id} is not found") };
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.starts_with("{\n  \"summary\": \"holder_stale rose: lock orders of"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["lock"]["holders"][0]["fingerprint"], "0123456789ab");
    assert_eq!(document["rise"]["number"], 1);
    assert_eq!(document["workers"][0]["name"], "orders-1");
    assert_eq!(document["servers"][0]["run_id"].as_str().unwrap().len(), 40);
    assert!(document["raw_tokens"].is_null());
    for wrong in ["", "..", "../x", "/etc/passwd", &id.replace("orders", "order")] {
        assert!(matches!(again.read(wrong), Found::Unknown), "{wrong}");
    }
    fs::remove_file(dir.path().join(format!("{id}.json"))).unwrap();
    assert!(matches!(again.read(id), Found::Gone));
}

#[test]
fn a_signal_that_flaps_has_one_document_a_minute() {
    let mut rises = Rises::default();
    let mut at = |n: u64, rises_now: u64, seconds: u64| {
        let mut view = view(Signal::Contested, rises_now, n);
        view.taken = view.taken.plus(Duration::from_secs(seconds));
        rises.since_last(&view, 10).0
    };
    let spacing = SPACING.as_secs();
    assert_eq!(at(1, 0, 0), []);
    assert_eq!(at(2, 2, 1)[0].rise.without_document, 1, "two rises between two snapshots");
    assert_eq!(at(3, 2, 2), []);
    assert_eq!(at(4, 5, 30), []);
    assert_eq!(at(5, 6, 40), []);
    let later = at(6, 7, spacing + 1);
    assert_eq!((later[0].rise.number, later[0].rise.without_document), (7, 4));
    assert_eq!(at(7, 1, 2 * spacing + 2)[0].rise.number, 1, "a lock that is watched anew");
}

#[test]
fn the_most_dangerous_have_documents_when_many_rise_at_once() {
    let mut view = view(Signal::HeldTooLong, 1, 8);
    lock_named(&mut view, "orders").rises.iter_mut().for_each(|(_, n)| *n = 1);
    let (found, beyond) = Rises::default().since_last(&view, 2);
    let signals: Vec<Signal> = found.iter().map(|r| r.signal).collect();
    assert_eq!(signals, [Signal::Contested, Signal::RenewalAfterLostLiveness]);
    assert_eq!(beyond as usize, Signal::ALL.len() - 2);
}

#[test]
fn without_a_directory_the_last_are_in_memory() {
    let (mut recorder, incidents, _finished) = Recorder::start().unwrap();
    for i in 0..4 {
        let mut view = view(Signal::Contested, 0, i);
        let lock = lock_named(&mut view, "orders").clone();
        view.stores[0].locks = (0..20)
            .map(|n| crate::view::LockView { name: format!("l{i}-{n:02}").into(), ..lock.clone() })
            .collect();
        for lock in &mut view.stores[0].locks {
            lock.rises.iter_mut().for_each(|(s, n)| *n = u64::from(*s == Signal::Contested));
        }
        let view = Arc::new(view);
        recorder.record(&view, &own(), |_| Tokens::new());
        let newest = format!("l{i}-");
        wait_for("twenty more", || {
            let listing = serde_json::to_value(incidents.list(&Wanted::default(), 0, 100)).unwrap();
            let all = listing["incidents"].as_array().unwrap().clone();
            let of_these = |l: &serde_json::Value| l["lock"].as_str().unwrap().starts_with(&newest);
            all.len() == IN_MEMORY.min(20 * (i as usize + 1))
                && all.iter().filter(|l| of_these(l)).count() >= 10
        });
    }
    assert!(recorder.counts().is_none(), "nothing is written");
    let listing = serde_json::to_value(incidents.list(&Wanted::default(), 0, 1)).unwrap();
    assert_eq!(listing["kept_in"], "memory");
    let id = listing["incidents"][0]["id"].as_str().unwrap().to_owned();
    assert!(matches!(incidents.read(&id), Found::Document(_)));
}

#[test]
fn raw_tokens_are_there_only_where_they_are_wanted() {
    let at = |r: &Risen| (r.store.clone(), r.lock.clone());
    for raw_tokens in [true, false] {
        let dir = TempDir::new().unwrap();
        let (mut recorder, _, finished) = Recorder::start().unwrap();
        recorder.configure(Some(Evidence { raw_tokens, ..config(dir.path(), 10) }));
        let rising = Arc::new(view(Signal::HolderStale, 1, 8));
        recorder.record(&rising, &own(), |risen| {
            Tokens::from([(at(&risen[0]), vec![Token::new(b"s3cret"), Token::new(&[0xff, 1])])])
        });
        drop(recorder);
        assert!(finished.wait(Duration::from_secs(30)));
        let [name] = files(dir.path()).try_into().unwrap();
        let path = dir.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains("s3cret"), raw_tokens, "{text}");
        assert_eq!(text.contains("\"ff01\""), raw_tokens, "{text}");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & if raw_tokens { 0o077 } else { 0o007 }, 0, "{mode:o}");
    }
}

#[test]
fn a_directory_that_goes_costs_its_documents_and_works_again_when_it_is_back() {
    let dir = TempDir::new().unwrap();
    let inner = dir.path().join("kept");
    fs::create_dir(&inner).unwrap();
    let (mut recorder, incidents, _finished) = Recorder::start().unwrap();
    recorder.configure(Some(config(&inner, 10)));
    let mut rise = |generation, signal| {
        let rising = Arc::new(view(signal, 1, generation));
        recorder.record(&rising, &own(), |_| Tokens::new());
        recorder.counts().unwrap()
    };
    let failed = |counts: crate::expose::EvidenceCounts, reason: EvidenceFailure| {
        counts.failures[reason as usize]
    };
    rise(1, Signal::Contested);
    wait_for("one", || files(&inner).iter().any(|n| n.ends_with(".json")));
    fs::remove_dir_all(&inner).unwrap();
    rise(2, Signal::HolderStale);
    let begun = clock::mono();
    let counts = loop {
        let counts = rise(2, Signal::HolderStale);
        if failed(counts, EvidenceFailure::Missing) == 1 {
            break counts;
        }
        assert!(clock::mono().since(begun) < Duration::from_secs(30), "{counts:?}");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(counts.writes, 1);
    fs::create_dir(&inner).unwrap();
    rise(3, Signal::HeldTooLong);
    wait_for("another", || files(&inner).iter().any(|n| n.ends_with(".json")));
    wait_for("an index of what is there", || {
        let listing = serde_json::to_value(incidents.list(&Wanted::default(), 0, 10)).unwrap();
        listing["incidents"].as_array().unwrap().len() == 1
    });
}

#[test]
fn a_document_that_is_too_large_is_none() {
    let dir = TempDir::new().unwrap();
    let (mut recorder, _, finished) = Recorder::start().unwrap();
    recorder.configure(Some(config(dir.path(), 10)));
    let mut large = view(Signal::HolderStale, 1, 8);
    lock_named(&mut large, "orders").transitions[0].detail = "x".repeat(LARGEST as usize);
    recorder.record(&Arc::new(large), &own(), |_| Tokens::new());
    wait_for("a failure", || {
        recorder.counts().unwrap().failures[EvidenceFailure::TooLarge as usize] == 1
    });
    drop(recorder);
    assert!(finished.wait(Duration::from_secs(30)));
    assert!(files(dir.path()).is_empty());
}
