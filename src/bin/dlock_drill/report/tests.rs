//! What a report looks like: its lines, its names in JSON, its picture.

use dlock_exporter::view::Act;
use serde_json::Value;

use super::picture::{Held, Lost, Write};
use super::*;

fn report() -> Report {
    let finding = |what: &str, verdict, seconds: Option<f64>| Finding {
        what: what.into(),
        verdict,
        needed: true,
        at: None,
        seconds,
        since: None,
        polls: seconds.map(|s| s / 2.0),
        within_seconds: None,
        slack_seconds: None,
        detail: Some(
            "a detail of <some> \u{1b}[31m words that are told to people & pipelines".into(),
        ),
    };
    let write = |seconds, act, left| Write { seconds, act, left };
    Report {
        kind: Kind::Criterion,
        name: "pause".into(),
        about: "after a pause longer than the lease a second worker acquires only after the lease is over".into(),
        verdict: Came::NotJudged,
        store: Some("main".into()),
        lock: Some("orders & <co>".into()),
        poll_seconds: 2.0,
        run: None,
        seed: None,
        fault_seconds: Some(4.5),
        not_run: Some("the time is up".into()),
        expectations: vec![
            finding("the first", Verdict::Pass, Some(3.0)),
            finding("the second", Verdict::Fail, Some(3.1)),
            finding("the third", Verdict::NotJudged, None),
        ],
        missing: vec!["a source".into()],
        events: vec![Event { seconds: 4.5, what: "orders-1 is stopped".into() }],
        recorded: vec![Recorded { id: "20260921T141320Z-x".into(), summary: "it rose".into() }],
        picture: Picture {
            seconds: 12.0,
            writes: vec![
                write(-3.0, Act::Held, Some(6.0)),
                write(2.0, Act::Renewed, Some(6.0)),
                write(8.0, Act::Ended, None),
            ],
            held: vec![Held { who: "orders-1 <b>".into(), from: 0.0, until: Some(8.0) }],
            lost: vec![Lost { from: 4.5, until: 8.0 }],
            beats: vec![("orders-1".into(), vec![1.0, 2.0, 3.0])],
            happened: vec![(4.5, "holder_stale".into(), true), (8.0, "ended".into(), false)],
        },
    }
}

#[test]
fn lines_fit_and_say_what_holds() {
    for width in [10, 40, 57, 80, 400] {
        let text = text::render(&report(), width);
        let longest = text.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(longest <= width.clamp(40, 100), "{width}: {longest}\n{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "NOT JUDGED: pause of main/orders & <co>",
            "the time is up",
            "PASS the first, after 3.00 s = 1.5 polls",
            "NOT JUDGED the third a detail",
            "4.50 orders-1 is stopped",
            "20260921T141320Z-x it rose",
            "What is missing: - a source",
        ] {
            assert!(words.contains(part), "{part:?} is not in {text}");
        }
        assert!(!text.contains('\u{1b}'), "a terminal would obey it");
    }
}

/// The names in the documentation are those of the document.
#[test]
fn the_documented_names_are_those_of_the_document() {
    let bytes = json::render(&[report()], "http://x:1", 1.5).unwrap();
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    let documented: String = include_str!("json.rs")
        .lines()
        .skip_while(|l| *l != "//! ```json")
        .skip(1)
        .take_while(|l| *l != "//! ```")
        .map(|l| l.trim_start_matches("//!").split(" //").next().unwrap())
        .collect();
    let documented: Value = serde_json::from_str(&documented).unwrap();
    fn names(of: &Value, path: &str, found: &mut Vec<String>) {
        match of {
            Value::Object(all) => all.iter().for_each(|(name, value)| {
                found.push(format!("{path}.{name}"));
                names(value, &format!("{path}.{name}"), found);
            }),
            Value::Array(all) => all.iter().take(1).for_each(|one| names(one, path, found)),
            _ => {}
        }
    }
    let (mut is, mut told) = (Vec::new(), Vec::new());
    names(&document, "", &mut is);
    names(&documented, "", &mut told);
    is.sort();
    told.sort();
    assert_eq!(is, told);
    assert_eq!(document["results"][0]["verdict"], "not_judged");
    assert_eq!(document["results"][0]["expectations"][2]["seconds"], Value::Null);
}

#[test]
fn the_picture_is_well_formed_and_nothing_in_it_is_markup_of_others() {
    let picture = svg::render(&report());
    let plain = picture.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "");
    assert!(!plain.contains('&') && !picture.contains("<co>") && !picture.contains("<b>"));
    let mut open = Vec::new();
    for tag in picture.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("it is closed");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{picture}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for part in
        ["class=\"lost\"", "class=\"fault\"", "class=\"PASS\"", "class=\"FAIL\"", "orders-1"]
    {
        assert!(picture.contains(part), "{part}");
    }
    for number in picture.split(['"', ' ', 'H', 'V', 'M', 'L']) {
        assert!(number != "NaN" && number != "inf", "{picture}");
    }
}

#[test]
fn a_report_of_nothing_can_be_drawn_and_told() {
    let empty = Report { picture: Picture::default(), expectations: Vec::new(), ..report() };
    assert!(svg::render(&empty).ends_with("</svg>\n"));
    assert!(text::render(&empty, 80).contains("NOT JUDGED"));
}

#[test]
fn a_time_says_what_it_counts_from_and_what_slack_there_was() {
    let mut report = report();
    let first = &mut report.expectations[0];
    first.since = Some("the old holder goes on".into());
    (first.within_seconds, first.slack_seconds, first.at) = (Some(2.0), Some(3.0), Some(9.0));
    let words = text::render(&report, 80).split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "after 3.00 s = 1.5 polls (worst 2.0 s and 3 s of slack), counted from: the old holder goes on";
    assert!(words.contains(told), "{words}");
    let picture = svg::render(&report);
    assert!(picture.contains("after 3.00 s, counted from: the old holder goes on"), "{picture}");
    // 9 of 12 seconds along the lanes, and not the fault's 4.5 and 3.
    assert!(picture.contains("cx=\"560.0\""), "{picture}");
}

/// A scenario in servers of its own has one lane only.
#[test]
fn numbers_stay_above_the_words() {
    let mut report = report();
    let many = std::iter::repeat_n(&report.expectations[0], 12).cloned();
    report.expectations = many.collect();
    report.picture = Picture { seconds: 12.0, ..Picture::default() };
    let picture = svg::render(&report);
    let of = |text: &str, name: &str| -> f64 {
        text.split_once(name).unwrap().1.split_once('"').unwrap().0.parse().unwrap()
    };
    let lines: Vec<&str> = picture.lines().collect();
    let bottom = of(picture.split("class=\"seen\"").nth(1).unwrap(), "y2=\"");
    let circles = lines.iter().filter(|l| l.contains("<circle"));
    let places: Vec<(f64, f64)> = circles.map(|l| (of(l, "cx=\""), of(l, "cy=\""))).collect();
    assert_eq!(places.len(), 24, "in the picture and in the words");
    assert!(places[..12].iter().all(|(_, y)| *y <= bottom), "{places:?} {bottom}");
    let twice = |n: usize| places[..n].contains(&places[n]);
    assert!(!(0..12).any(twice), "{places:?}");
}
