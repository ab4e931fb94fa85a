//! Classes by signals, and the runbooks' share of the text. `UPDATE=1 cargo test --lib advice` writes it into them.

use std::path::Path;

use super::*;
use crate::expose::example::lock_named;
use crate::view::{TransitionView, View};

/// Runbooks that have the steps of a class; `None`: the general ones.
const RUNBOOKS: [(&str, Option<Class>); 4] = [
    ("DlockContested", Some(Class::Contested)),
    ("DlockRenewalAfterLostLiveness", Some(Class::RenewalAfterLostLiveness)),
    ("DlockHolderStale", Some(Class::StaleHolder)),
    ("README", None),
];

fn found_in(change: impl FnOnce(&mut LockView)) -> (Option<Vec<Class>>, Option<&'static Steps>) {
    let mut view = View::example();
    change(lock_named(&mut view, "orders"));
    let store = &view.stores[0];
    let lock = store.locks.iter().find(|l| &*l.name == "orders").unwrap();
    let classes = found(store, lock).map(|all| all.iter().map(|f| f.class).collect());
    (classes, first_steps(store, lock))
}

#[test]
fn the_classes_are_those_of_the_signals_and_the_worst_leads() {
    let up = |signals: &'static [(Signal, Option<bool>)]| {
        found_in(move |lock| lock.signals = signals.to_vec())
    };
    let both = [Class::RenewalAfterLostLiveness, Class::StaleHolder];
    assert_eq!(
        found_in(|_| ()),
        (Some(both.to_vec()), Some(steps(Class::RenewalAfterLostLiveness)))
    );
    let all = up(&[(Signal::HolderStale, Some(true)), (Signal::Contested, Some(true))]);
    assert_eq!(all.0, Some(vec![Class::Contested, Class::StaleHolder]));
    assert_eq!(all.1, Some(steps(Class::Contested)));
    let other = up(&[(Signal::HolderStale, Some(false)), (Signal::LeaseAbsurd, Some(true))]);
    assert_eq!(other, (Some(vec![]), Some(&OTHER)));
    assert_eq!(up(&[(Signal::HolderStale, Some(false))]), (Some(vec![]), None));
    assert_eq!(up(&[(Signal::HolderStale, None)]), (None, None), "not judged is no class");
    assert_eq!(found_in(|lock| lock.fresh = false), (None, None), "nothing of now");
}

#[test]
fn what_decided_is_the_last_rise_as_long_as_it_is_remembered() {
    let mut view = View::example();
    let lock = lock_named(&mut view, "orders");
    let at = |age_seconds, detail: &str| TransitionView {
        age_seconds,
        what: "holder_stale",
        detail: detail.into(),
    };
    lock.transitions.extend([at(60.0, "before"), at(33.0, "its holder is frozen")]);
    let lock = lock.clone();
    let all = found(&view.stores[0], &lock).unwrap();
    assert_eq!(all[0].decided_by, None);
    assert_eq!(all[1].decided_by, Some("its holder is frozen"));
}

#[test]
fn every_class_forbids_what_makes_it_worse() {
    for steps in Class::ALL.map(steps).into_iter().chain([&OTHER]) {
        let forbidden = steps.do_not.join(" ");
        for word in ["delete the key on suspicion", "TTL", "restart"] {
            assert!(forbidden.contains(word), "{word}: {forbidden}");
        }
        assert!(steps.do_not.iter().all(|s| s.starts_with("Do not ")));
        for text in steps.record.iter().chain(steps.check).chain(steps.do_not) {
            assert!(
                text.ends_with(['.', '?']) && text.len() < 260 && !text.contains("  "),
                "{text}"
            );
        }
    }
}

/// A list of markdown, no line longer than the runbooks' own.
fn list(texts: &[&str]) -> String {
    let mut out = String::new();
    for text in texts {
        let mut line = String::from("-");
        for word in text.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > 120 {
                out.push_str(&line);
                out.push('\n');
                line = String::from(" ");
            }
            line.push(' ');
            line.push_str(word);
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// The text with what stands between the marks of this name replaced; `None` if the marks are not there.
fn replaced(text: &str, name: &str, with: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- {name}, end -->\n"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{with}{end}{after}"))
}

#[test]
fn the_runbooks_have_the_same_text() {
    let update = std::env::var_os("UPDATE").is_some();
    for (name, class) in RUNBOOKS {
        let steps = class.map_or(&OTHER, steps);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("alerts/runbooks/{name}.md"));
        let text = std::fs::read_to_string(&path).unwrap();
        let mut wanted = text.clone();
        for (part, texts) in [("check first", steps.check), ("do not", steps.do_not)] {
            wanted = replaced(&wanted, part, &list(texts))
                .unwrap_or_else(|| panic!("{name} has no marks for {part:?}"));
        }
        if update {
            std::fs::write(&path, &wanted).unwrap();
        }
        assert!(update || text == wanted, "{name}: run UPDATE=1 cargo test --lib advice");
    }
}
