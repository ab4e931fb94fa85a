//! The page of one lock.

use super::support::{Setup, get, links, only_our_tags, words_of};
use crate::derive::lock::Shown;
use crate::expose::example::{HOSTILE, lock_named};
use crate::observe::lock::Shape;
use crate::view::{Aspect, BlindReason, Hint, Namer, Reuse, Signal, TransitionView, Votes};

#[tokio::test]
async fn it_has_everything_that_is_known() {
    let server = Setup::example().start().await;
    let answer = server.ask(&get("/locks/main/orders")).await;
    assert_eq!(answer.status, 200);
    let status = server.ask(&get("/")).await;
    for header in ["content-security-policy", "content-type", "cache-control", "referrer-policy"] {
        assert_eq!(answer.header(header), status.header(header));
        assert!(!answer.header(header).is_empty());
    }
    let page = answer.text();
    only_our_tags(&page);
    assert_eq!(answer.header("refresh"), "10");
    assert!(!page.contains("src="));
    let text = words_of(&page);
    for part in [
        "main/orders",
        "lock:orders",
        "orders-1, token 0123456789ab, frozen",
        "pid 4711 thread 7 on host-a",
        "string; redlock would fit as well",
        "Waiting for it",
        "2026-09-21 14:11:46 UTC",
        "\n33 s\n",
        "\n43 s ago\n",
        "\n8.5 s ago\n",
        "\n22 s / 30 s\n",
        "\nconfig\n",
        "2026-09-21 14:13:41 UTC",
        "64 % of the lease",
        "10.0.0.6:6379: expired by clock",
        "orders-2: released it",
        "renewals: too few seen to know their habit",
        "stopped 1",
        "holder stale 1",
        "acquired",
        "by orders-1",
        "2026-09-21 14:11:47 UTC",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let documents = ["main/orders", "main/orders/evidence", "main/orders/evidence"];
    assert_eq!(links(&page, "/api/v1/locks/"), documents, "above, and to be saved");
    let incidents = links(&page, "/api/v1/incidents?");
    assert_eq!(incidents, ["store=main&amp;lock=orders"; 2]);
}

#[tokio::test]
async fn every_signal_is_there_with_what_it_means() {
    let server = Setup::example().start().await;
    let page = server.ask(&get("/locks/main/orders")).await.text();
    let rows: Vec<String> = page.split("</tr>").map(words_of).collect();
    for signal in Signal::ALL {
        let name = format!("dlock_{}\n", signal.as_str());
        let row = rows.iter().find(|r| r.contains(&name)).unwrap_or_else(|| panic!("{name}"));
        let now = match signal {
            Signal::HolderStale | Signal::RenewalAfterLostLiveness => "\nup\n",
            Signal::RenewalOverdue => "\nnot judged\n",
            _ => "\nnot up\n",
        };
        assert!(row.contains(now), "{row}");
        assert!(row.trim_end().ends_with('.'), "a sentence says what it means: {row}");
    }
}

#[tokio::test]
async fn transitions_are_there_newest_first() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    let at = |age_seconds, what| TransitionView { age_seconds, what, detail: "<i>".into() };
    lock.transitions = vec![at(93.0, "acquired"), at(33.0, "holder_stale"), at(1.0, "cleared")];
    let page = setup.start().await.ask(&get("/locks/main/orders")).await.text();
    only_our_tags(&page);
    let (_, table) = page.split_once("What happened last").unwrap();
    let text = words_of(table);
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} in {text}"));
    assert!(place("cleared") < place("holder_stale") && place("holder_stale") < place("acquired"));
    // A signal that is up says since when, as far as its rise is remembered.
    assert!(words_of(&page).contains("\nup for 33 s\n"), "{page}");
}

#[tokio::test]
async fn hostile_names_are_text_there_too() {
    let mut setup = Setup::example();
    for holder in &mut lock_named(&mut setup.view, HOSTILE).holders {
        holder.host = Some("</dd><script>".into());
        holder.thread = Some("</dd><script>".into());
    }
    let server = setup.start().await;
    let status = server.ask(&get("/")).await.text();
    let link = links(&status, "/locks/").into_iter().find(|l| l.contains("script")).unwrap();
    let page = server.ask(&get(&format!("/locks/{link}"))).await;
    assert_eq!(page.status, 200);
    only_our_tags(&page.text());
    assert!(page.text().contains("&lt;script&gt;alert(&#39;x&#39;)"), "{}", page.text());
}

#[tokio::test]
async fn an_unknown_lock_has_a_page_that_says_so() {
    let server = Setup::example().start().await;
    let long = "a".repeat(4000);
    for (store, lock) in [
        ("main", "nothing"),
        ("nothing", "orders"),
        ("main", "%3Cscript%3Ex"),
        ("main", "%E2%80%AEabc"),
        ("main", &long),
    ] {
        let answer = server.ask(&get(&format!("/locks/{store}/{lock}"))).await;
        assert_eq!(answer.status, 404, "{lock}");
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'"));
        let page = answer.text();
        only_our_tags(&page);
        assert!(page.contains("No such lock") && page.contains("href=\"/\""), "{page}");
        assert!(page.len() < 3000 && !page.contains('\u{202e}'), "{page}");
    }
}

#[tokio::test]
async fn nothing_of_now_is_said_about_a_lock_that_was_not_read_lately() {
    let server = Setup::example().start().await;
    for path in ["/locks/main/unread", "/locks/spare/left"] {
        let text = words_of(&server.ask(&get(path)).await.text());
        for part in ["was not read lately", "not known now", "Last seen holder", "orders-1"] {
            assert!(text.contains(part), "{path}: {part} in {text}");
        }
        for part in ["\n43 s ago\n", "\n8.5 s ago\n", "\nup", "\nnot up\n", "frozen\n"] {
            assert!(!text.contains(part), "{path}: {part:?} in {text}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_judged_is_there_with_what_to_configure() {
    let mut setup = Setup::example();
    lock_named(&mut setup.view, "orders").blind = vec![
        (Aspect::Heartbeat, BlindReason::NotConfigured),
        (Aspect::Heartbeat, BlindReason::NoHistory),
    ];
    let server = setup.start().await;
    let text = words_of(&server.ask(&get("/locks/main/orders")).await.text());
    assert!(text.contains("heartbeat: not configured (see workers)"), "{text}");
    assert!(text.contains("heartbeat: no beat seen yet"), "{text}");
}

#[tokio::test]
async fn one_key_of_a_lock_over_several_says_so() {
    for (format, votes, is_told) in [
        ("rueidislock", None, true),
        ("rueidislock", Some(Votes { most: 2, needed: 2, of: 3 }), false),
        ("string", None, false),
    ] {
        let mut setup = Setup::example();
        let lock = lock_named(&mut setup.view, "orders");
        (lock.format, lock.votes) = (format, votes);
        let text = words_of(&setup.start().await.ask(&get("/locks/main/orders")).await.text());
        assert_eq!(text.contains("name all in keys"), is_told, "{format}: {text}");
    }
}

#[tokio::test]
async fn a_pointer_that_finds_nothing_is_shown_as_it_was_written() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    lock.blind = vec![(Aspect::Holder, BlindReason::Unsupported)];
    lock.missed_pointer = Some("/a<b>`c".into());
    let server = setup.start().await;
    let page = server.ask(&get("/locks/main/orders")).await.text();
    only_our_tags(&page);
    let text = words_of(&page);
    assert!(text.contains("holder: /a&lt;b&gt;&#39;c finds nothing in the value"), "{text}");
    let json = server.ask(&get("/api/v1/locks/main/orders")).await.text();
    assert!(json.contains("\"detail\": \"`/a<b>`c` finds nothing in the value\""), "{json}");
}

#[tokio::test]
async fn an_old_snapshot_is_marked_there_too() {
    let server = Setup::too_old().start().await;
    let text = server.ask(&get("/locks/main/orders")).await.text();
    assert!(text.contains("This snapshot is 21 s old"), "{text}");
}

#[tokio::test]
async fn a_lock_over_several_keys_says_how_many_are_held() {
    let mut setup = Setup::example();
    let votes = |most| Some(crate::view::Votes { most, needed: 2, of: 3 });
    lock_named(&mut setup.view, "orders").votes = votes(2);
    let split = lock_named(&mut setup.view, "nightly");
    split.votes = votes(1);
    lock_named(&mut setup.view, "unread").votes = votes(1);
    let server = setup.start().await;
    for (lock, said) in [
        ("orders", "\n2 of 3 keys, 2 needed\n"),
        ("nightly", "\n1 of 3 keys, 2 needed\n"),
        ("without-series", "\n3 of 3 keys, 2 needed\n"),
    ] {
        let page = server.ask(&get(&format!("/locks/main/{lock}"))).await.text();
        only_our_tags(&page);
        assert!(words_of(&page).contains(said), "{said:?} in {page}");
    }
    let old = server.ask(&get("/locks/main/unread")).await.text();
    assert!(!old.contains("keys, 2 needed"), "not known now: {old}");
    let status = words_of(&server.ask(&get("/")).await.text());
    assert!(status.contains("free\n1 of 3 keys, 2 needed"), "{status}");
    let split = server.ask(&get("/api/v1/locks/main/nightly")).await.json();
    assert_eq!(split["lock"]["votes"], serde_json::json!({"most": 1, "needed": 2, "of": 3}));
    let old = server.ask(&get("/api/v1/locks/main/unread")).await.json();
    assert!(old["lock"]["votes"].is_null());
}

#[tokio::test]
async fn an_address_in_a_token_is_no_host() {
    let mut setup = Setup::example();
    let holder = &mut lock_named(&mut setup.view, "orders").holders[0];
    (holder.host, holder.pid, holder.thread) = (Some("02:fc:00:00:00:01".into()), None, None);
    let server = setup.start().await;
    for path in ["/", "/locks/main/orders"] {
        let text = words_of(&server.ask(&get(path)).await.text());
        assert!(text.contains("\nnode 02:fc:00:00:00:01\n"), "{text}");
        assert!(!text.contains("on 02:fc"), "{text}");
    }
}

#[tokio::test]
async fn what_cannot_be_judged_is_said_once_and_points_to_what_would_help() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    lock.blind = vec![
        (Aspect::Holder, BlindReason::OpaqueToken),
        (Aspect::Lease, BlindReason::Unsupported),
        (Aspect::Fencing, BlindReason::NotConfigured),
        (Aspect::Hold, BlindReason::ReusableToken),
        (Aspect::Token, BlindReason::ReusableToken),
    ];
    let shown = Shown { shape: Shape::Text, looks_like: Some("redlock") };
    lock.hints = vec![
        (Aspect::Holder, Hint::Unnamed(vec![Namer::Pattern, Namer::Index])),
        (Aspect::Lease, Hint::Shows(shown, Some("redisson".into()))),
        (Aspect::Fencing, Hint::NoResource),
        (Aspect::Token, Hint::Reuse(Reuse::Possible)),
    ];
    let page = setup.start().await.ask(&get("/locks/main/orders")).await.text();
    only_our_tags(&page);
    let text = words_of(&page);
    for said in [
        "holder: its token does not match holder and is not in the store&#39;s owner_index",
        "lease: the key is a string that looks like redlock, nothing that redisson writes (see format)",
        "fencing: no resource is known to check its tokens (set accepted in fencing)",
        "token: may be the same (set token: per_acquire if each acquire has a new one)",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    assert!(!text.contains("hold: "), "{text}");
    assert!(page.contains("<div class=\"dim\">token: may be"), "no fault: {page}");
}

#[tokio::test]
async fn it_begins_with_what_is_wrong_and_the_first_steps_which_are_those_of_the_api() {
    let server = Setup::example().start().await;
    let page = server.ask(&get("/locks/main/orders")).await.text();
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} in {page}"));
    assert!(
        at("class=\"glance\"") < at("What to do first")
            && at("What to do first") < at("<h2>Signals")
    );
    let one = server.ask(&get("/api/v1/locks/main/orders")).await.json();
    assert_eq!(one["lock"]["diagnosis"][0]["class"], "renewal_after_lost_liveness");
    assert_eq!(one["lock"]["diagnosis"][1]["class"], "stale_holder");
    let text = words_of(&page);
    for part in ["record", "check", "do_not"] {
        let steps = one["first_steps"][part].as_array().unwrap();
        assert!(!steps.is_empty());
        for step in steps {
            assert!(
                text.contains(&step.as_str().unwrap().replace('\'', "&#39;")),
                "{step} in {text}"
            );
        }
    }
    // Where nothing is up there is nothing to do.
    let calm = server.ask(&get("/locks/main/nightly")).await.text();
    assert!(calm.contains("no signal is up") && !calm.contains("What to do first"), "{calm}");
    let one = server.ask(&get("/api/v1/locks/main/nightly")).await.json();
    assert!(
        one["first_steps"].is_null() && one["lock"]["diagnosis"] == serde_json::json!([]),
        "{one}"
    );
    let unread = server.ask(&get("/api/v1/locks/main/unread")).await.json();
    assert!(unread["lock"]["diagnosis"].is_null() && unread["first_steps"].is_null(), "{unread}");
}

#[tokio::test]
async fn the_last_minutes_are_drawn_and_said() {
    let server = Setup::example().start().await;
    let page = server.ask(&get("/locks/main/orders")).await.text();
    let lane = |id: &str| {
        let (_, rest) = page.split_once(&format!("<title id=\"{id}-t\">")).unwrap();
        rest.split_once("</svg>").unwrap().0.to_owned()
    };
    // Ten bands: one owner, the next, and its eight renewals; the first lease is let go before its end.
    let lease = lane("lease");
    assert_eq!(lease.matches("class=\"lease\"").count(), 10, "{lease}");
    assert!(lease.contains("d=\"M0.0 72L0.0 0.0L135.0 64.8L135.0 72Z\""), "{lease}");
    assert!(lease.contains("class=\"lost\" x=\"435.0\""), "33 of 120 s: {lease}");
    let writes = lane("writes");
    assert_eq!(
        (writes.matches("tick").count(), writes.matches("turn").count()),
        (8, 3),
        "{writes}"
    );
    assert!(writes.contains("8 renewals seen, the last 8.5 s ago"), "{writes}");
    let beats = lane("beats0");
    assert_eq!(beats.matches("class=\"tick\"").count(), 40, "{beats}");
    assert!(beats.contains("40 beats seen, the last 44 s ago"), "{beats}");
    let table = page.split_once("<details>").unwrap().1.split_once("</details>").unwrap().0;
    assert_eq!(table.matches("<tr").count(), 12, "as many rows as marks, and the head");
    // Of a lock that was not read lately nothing is drawn up to now, and no holder's loss.
    let unread = server.ask(&get("/locks/main/unread")).await.text();
    assert_eq!(unread.matches("class=\"lease\"").count(), 9, "{unread}");
    assert!(!unread.contains("class=\"lost\"") && !unread.contains("beats0"), "{unread}");
}
