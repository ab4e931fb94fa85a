//! What the status page says of the locks that need a look, and that it says it once.

use super::support::{Setup, get, words_of};
use crate::expose::example::lock_named;
use crate::view::{Aspect, Ballot, BlindReason, Evidence, LeaseSource, Signal, TransitionView};

async fn page(setup: Setup) -> String {
    setup.start().await.ask(&get("/")).await.text()
}

/// The row of a lock, from the page's text.
fn row(page: &str, lock: &str) -> String {
    let name = format!("<b>{lock}</b>");
    let rows: Vec<&str> = page.split("<tr").filter(|r| r.contains(&name)).collect();
    assert_eq!(rows.len(), 1, "{lock} has one row");
    words_of(rows[0])
}

#[tokio::test]
async fn it_says_what_since_when_and_who() {
    let row = row(&page(Setup::example()).await, "orders");
    for text in [
        "still renewed although its holder lost liveness 33 s ago",
        "dlock_renewal_after_lost_liveness",
        "dlock_holder_stale",
        "orders-1",
        "frozen",
        "pid 4711 thread 7 on host-a",
        "held for 93 s",
        "43 s ago",
        "8.5 s ago",
        "22 s / 30 s",
        "orders-2: released it",
    ] {
        assert!(row.contains(text), "{text} in {row}");
    }
    assert_eq!(row.matches("lost liveness").count(), 1, "said once: {row}");
}

#[tokio::test]
async fn a_stale_holder_alone_is_spelled_out() {
    let mut setup = Setup::example();
    lock_named(&mut setup.view, "orders").signals = vec![(Signal::HolderStale, Some(true))];
    let row = row(&page(setup).await, "orders");
    assert!(row.contains("its holder lost liveness 33 s ago and still owns it"), "{row}");
    assert!(!row.contains("dlock_renewal_after_lost_liveness"), "{row}");
}

#[tokio::test]
async fn other_signals_say_since_when_they_rose_last() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "nightly");
    lock.signals = vec![(Signal::Unheld, Some(true))];
    let rise = |age_seconds| TransitionView { age_seconds, what: "unheld", detail: String::new() };
    lock.transitions = vec![rise(500.0), rise(57.0)];
    let row = row(&page(setup).await, "nightly");
    assert!(row.contains("nobody holds it although somebody should, up for 57 s"), "{row}");
    assert!(row.contains("free"), "{row}");
}

#[tokio::test]
async fn a_flagged_lock_is_not_repeated_and_the_count_says_so() {
    let page = page(Setup::example()).await;
    let (_, others) = page.split_once("All locks").unwrap();
    assert!(!others.contains("<b>orders</b>") && others.contains("<b>nightly</b>"));
    assert!(others.starts_with(" outside of groups <small>6, 3 of them above"), "{others}");
}

#[tokio::test]
async fn a_tenure_without_renewal_and_a_learned_lease_are_told_as_such() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    lock.renewal_age_seconds = lock.held_seconds;
    lock.lease_source = Some(LeaseSource::Learned);
    lock.previous = Some(("".into(), Evidence::Lapsed));
    let row = row(&page(setup).await, "orders");
    for text in ["not yet", "22 s / ≥ 30 s", "unnamed: its lease ran out"] {
        assert!(row.contains(text), "{text} in {row}");
    }
}

#[tokio::test]
async fn a_holder_without_a_name_is_its_tokens_fingerprint() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    lock.signals.clear();
    lock.holders[0].worker = "".into();
    let page = page(setup).await;
    assert!(page.contains("token <code>0123456789ab</code>"), "{page}");
    let row = row(&page, "orders");
    assert!(row.contains("token 0123456789ab") && row.contains("8.5 s ago"), "{row}");
}

#[tokio::test]
async fn what_nobody_configured_is_dimmed_and_says_what_to_set() {
    let mut setup = Setup::example();
    lock_named(&mut setup.view, "orders").blind = vec![
        (Aspect::Holder, BlindReason::NotConfigured),
        (Aspect::Process, BlindReason::OpaqueToken),
    ];
    let page = page(setup).await;
    let dimmed = "<div class=\"dim\">holder: not configured (set <code>holder</code>)</div>";
    assert!(page.contains(dimmed), "{page}");
    assert!(page.contains("<div>process: its token names no pid</div>"), "{page}");
}

#[tokio::test]
async fn the_lists_name_the_format_and_say_when_it_is_a_guess() {
    let mut setup = Setup::example();
    lock_named(&mut setup.view, "nightly").also_fits.clear();
    let page = page(setup).await;
    assert!(row(&page, "orders").contains("\nstring, a guess\n"), "{page}");
    let certain = row(&page, "nightly");
    assert!(certain.contains("\nstring\n") && !certain.contains("a guess"), "{certain}");
}

#[tokio::test]
async fn a_server_that_lost_its_vote_is_named() {
    let mut setup = Setup::example();
    let servers = [("a:1", Ballot::Owner), ("b:1", Ballot::Nobody), ("<c>:1", Ballot::Silent)];
    let lock = lock_named(&mut setup.view, "orders");
    lock.ballots = servers.map(|(addr, ballot)| (addr.into(), ballot)).to_vec();
    let server = setup.start().await;
    let text = words_of(&server.ask(&get("/locks/main/orders")).await.text());
    for said in ["Server a:1\n\nhas its owner", "b:1: has no owner", "&lt;c&gt;:1: does not answer"]
    {
        assert!(text.contains(said), "{said} in {text}");
    }
    let status = words_of(&server.ask(&get("/")).await.text());
    assert!(status.contains("b:1: has no owner") && !status.contains("has its owner"), "{status}");
    let one = server.ask(&get("/api/v1/locks/main/orders")).await.json();
    assert_eq!(one["lock"]["servers"][2]["vote"], "silent");
}
