//! What the page of a lock has beyond its values: proofs, slow commands, connections, and whether its key may be deleted.

use std::sync::Arc;

use super::support::{Setup, get, only_our_tags, words_of};
use crate::expose::example::lock_named;
use crate::view::{ClientView, ClientsView, ContentionKind, LockView, Signal};

async fn page_of(setup: Setup, lock: &str) -> String {
    let page = setup.start().await.ask(&get(&format!("/locks/main/{lock}"))).await.text();
    only_our_tags(&page);
    page
}

/// One section of a page.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<h2>{heading}</h2>")).expect(heading);
    rest.split("<h2>").next().unwrap()
}

#[tokio::test]
async fn proofs_and_hints_are_told_apart_the_newest_first() {
    let page = page_of(Setup::example(), "orders").await;
    let text = words_of(section(&page, "Two owners at once"));
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(at("only a hint") < at("a proof"), "{text}");
    assert!(at("orders-2 came back") < at("the server lost it (failover)"));
    assert!(text.contains("2026-09-21 14:03:20 UTC\n") && text.contains("10 min"), "{text}");
    assert!(
        text.contains(
            "acquired after offset 18800; the new primary has what was written up to 18752"
        )
    );
    assert!(
        text.contains("orders-2, token ba9876543210, until 2026-09-21 14:03:50 UTC as last seen")
    );
    // The signal is over: nothing needs a look for it, and a hint alone says that it is one.
    assert!(!section(&page, "Two owners at once").contains("flagged"));
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    lock.contention.retain(|c| c.kind == ContentionKind::Resumed);
    assert!(page_of(setup, "orders").await.contains("Nothing is proven"));
}

#[tokio::test]
async fn a_proof_is_marked_while_the_signal_is_up() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    lock.signals.retain(|(signal, _)| *signal != Signal::Contested);
    lock.signals.push((Signal::Contested, Some(true)));
    let page = page_of(setup, "orders").await;
    assert_eq!(section(&page, "Two owners at once").matches("flagged").count(), 1, "{page}");
}

#[tokio::test]
async fn slow_commands_say_whose_they_were() {
    let mut setup = Setup::example();
    let slow = &mut lock_named(&mut setup.view, "orders").slow_commands;
    let mut cut = slow[0].clone();
    (cut.touches, cut.owner_fingerprint) = ("maybe", None);
    slow.push(cut);
    let text = words_of(section(&page_of(setup, "orders").await, "Slow commands on its key"));
    for part in ["SET", "250 ms", "orders-1, 10.0.0.7:40312", "10.0.0.5:6379", "0123456789ab"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(text.matches("perhaps on another key").count(), 1, "{text}");
}

#[tokio::test]
async fn it_says_who_is_connected_and_who_renews() {
    let text = page_of(Setup::example(), "orders").await;
    let text = words_of(section(&text, "Who is connected, and who renews it"));
    for part in [
        "Another process of this host renews it than the one that works.",
        "The renewal 8.5 s ago: its worker&#39;s own connections cannot have made it; python3 (pid 4712) wrote at that time; \
         those of other hosts cannot have made it.",
        "2 connections to its server, and 2 more that are not shown, as it told 3.0 s ago.",
        "python3 (pid 4711)",
        "worker orders-1, alive",
        "orders, redis-py 5.0.1, user default",
        "pexpire, 4.0 s before",
    ] {
        assert!(
            text.replace("&#39;", "'").contains(&part.replace("&#39;", "'")),
            "{part} in {text}"
        );
    }
    for (separate, said) in [(Some(false), "renews it itself"), (None, "is not clear so far")] {
        let mut setup = Setup::example();
        lock_named(&mut setup.view, "orders").renewer_separate = separate;
        assert!(page_of(setup, "orders").await.contains(said));
    }
}

#[tokio::test]
async fn many_connections_are_folded_away() {
    let mut setup = Setup::example();
    let list = (0..20).map(|pid| ClientView::example(pid, "x", "y")).collect();
    let clients = ClientsView { age_seconds: 1.0, list, ..ClientsView::default() };
    lock_named(&mut setup.view, "orders").clients = Some(Arc::new(clients));
    let page = page_of(setup, "orders").await;
    let connected = section(&page, "Who is connected, and who renews it");
    let (shown, folded) = connected.split_once("<details>").unwrap();
    let rows = |part: &str| part.matches("(pid ").count() - part.matches("The renewal").count();
    assert_eq!((rows(shown), rows(folded)), (8, 12), "{connected}");
    assert!(folded.contains("12 more connections"), "{folded}");
}

#[tokio::test]
async fn sections_without_anything_to_say_are_left_out() {
    let mut setup = Setup::example();
    let lock: &mut LockView = lock_named(&mut setup.view, "orders");
    (lock.contention, lock.slow_commands, lock.renewals) = (vec![], vec![], vec![]);
    lock.clients = None;
    let page = page_of(setup, "orders").await;
    for heading in ["Two owners at once", "Slow commands", "Who is connected"] {
        assert!(!page.contains(heading), "{heading}");
    }
    // Who is connected is about now; what happened is not.
    let mut setup = Setup::example();
    lock_named(&mut setup.view, "orders").fresh = false;
    let page = page_of(setup, "orders").await;
    assert!(page.contains("Two owners at once") && !page.contains("Who is connected"), "{page}");
}

#[tokio::test]
async fn whether_it_may_be_released_is_as_the_api_says_it() {
    let server = Setup::example().start().await;
    let api = &server.ask(&get("/api/v1/locks/main/orders")).await.json()["lock"]["release_safe"];
    assert_eq!(api["safe"], false);
    let page = page_of(Setup::example(), "orders").await;
    let text = words_of(section(&page, "Releasing it by hand")).replace("&#39;", "'");
    assert!(text.contains("Not safe: do not delete its key now."), "{text}");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    for reason in api["reasons"].as_array().unwrap() {
        let found = at(reason["found"].as_str().unwrap());
        let kind = match reason["passed"].as_bool() {
            Some(false) => found < at("Not known"),
            None => at("Not known") < found && found < at("In order"),
            Some(true) => at("In order") < found,
        };
        assert!(kind, "{reason} in {text}");
    }
    at("ends by itself in 22 s");
    let free = page_of(Setup::example(), "nightly").await;
    let free = words_of(section(&free, "Releasing it by hand"));
    assert!(free.contains("It is free: nothing to release."), "{free}");
}

#[tokio::test]
async fn what_clients_and_servers_call_themselves_is_text() {
    let evil = "</td><script>x</script>\"'";
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    for seen in &mut lock.contention {
        seen.detail = evil.into();
        for owner in &mut seen.owners {
            owner.worker = Some(evil.into());
            owner.fingerprint = Some(evil.into());
            owner.node = Some(evil.into());
        }
    }
    for slow in &mut lock.slow_commands {
        (slow.addr, slow.command) = (evil.into(), evil.into());
        slow.client_address = Some(evil.into());
        slow.client_name = Some(evil.into());
        slow.owner_fingerprint = Some(evil.into());
    }
    lock.renewals[0].others[0].1 = Some(evil.into());
    let mut client = ClientView::example(1, evil, evil);
    (client.worker, client.addr, client.user) = (Some(evil.into()), evil.into(), evil.into());
    (client.library, client.command) = ((evil.into(), evil.into()), evil.into());
    lock.clients = Some(Arc::new(ClientsView { list: vec![client], ..ClientsView::default() }));
    let page = page_of(setup, "orders").await;
    assert!(page.matches("&lt;/<wbr>td&gt;&lt;script&gt;").count() > 15, "{page}");
}
