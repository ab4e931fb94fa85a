//! The status page and the API.

use super::support::{Setup, get};
use crate::expose::example::{HOSTILE, lock_named};
use crate::view::{LockView, Signal};

#[tokio::test]
async fn the_page_cannot_be_broken_out_of() {
    let mut setup = Setup::example();
    setup.own.reload_error = Some("</pre><script>alert(1)</script>".into());
    let server = setup.start().await;
    let page = server.ask(&get("/")).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let text = page.text();
    assert!(!text.contains("<script") && text.contains("&lt;script&gt;alert(1)"), "{text}");
    assert!(text.contains("&lt;script&gt;alert(&#39;x&#39;)"), "the hostile lock is there as text");
    // All markup is ours: the tags of a page are a closed list.
    let known = [
        "!DOCTYPE", "html", "head", "meta", "title", "link", "body", "main", "header", "h1", "h2",
        "h3", "small", "nav", "a", "p", "section", "pre", "table", "thead", "tbody", "tr", "th",
        "td", "b", "ul", "li", "span",
    ];
    for tag in text.split('<').skip(1) {
        let name = tag.trim_start_matches('/').split([' ', '>']).next().unwrap();
        assert!(known.contains(&name), "<{tag}");
    }
}

#[tokio::test]
async fn what_needs_a_look_comes_first_by_danger() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "nightly");
    lock.signals = vec![(Signal::HeldTooLong, Some(true))];
    let server = setup.start().await;
    let text = server.ask(&get("/")).await.text();
    let (first, _) = text.split_once("All locks").unwrap();
    let at = |needle: &str| first.find(needle).unwrap_or_else(|| panic!("{needle} in {first}"));
    assert!(at("Needs a look") < at("<b>orders</b>"));
    assert!(at("<b>orders</b>") < at("alert(&#39;x") && at("alert(&#39;x") < at("<b>nightly</b>"));
    assert!(
        first.contains("still renewed although its holder lost liveness; its holder lost liveness")
    );
    assert!(!first.contains("<b>unread</b>"), "not judged, so not flagged");
    assert!(text.contains("not known now") && text.contains("renewals: not seen for long enough"));
}

#[tokio::test]
async fn the_page_is_bounded_and_says_what_it_left_out() {
    let mut setup = Setup::example();
    let calm = LockView { signals: Vec::new(), ..lock_named(&mut setup.view, "orders").clone() };
    setup.view.stores[0].locks =
        (0..1203).map(|n| LockView { name: format!("job-{n}").into(), ..calm.clone() }).collect();
    setup.view.stores.truncate(1);
    let text = setup.start().await.ask(&get("/")).await.text();
    assert_eq!(text.matches("<tr>").count(), 500 + 1, "rows and the heading");
    assert!(text.contains("703 more are not shown") && text.contains("No signal is up"));
}

#[tokio::test]
async fn what_is_not_known_is_not_called_calm() {
    let mut setup = Setup::example();
    setup.view.stores.remove(0);
    let text = setup.start().await.ask(&get("/")).await.text();
    assert!(text.contains("No signal is up, but 1 of 1 locks are not known now"), "{text}");
    assert!(text.contains("last seen: orders-1") && !text.contains("class=\"calm\""), "{text}");
}

#[tokio::test]
async fn an_old_snapshot_is_marked_as_such() {
    let text = Setup::too_old().start().await.ask(&get("/")).await.text();
    assert!(text.contains("21 s old"), "{text}");
}

#[tokio::test]
async fn the_style_sheet_is_the_one_thing_the_page_loads() {
    let server = Setup::example().start().await;
    let text = server.ask(&get("/")).await.text();
    assert_eq!(text.matches("src=").count(), 0);
    assert_eq!(text.matches("<link").count(), 1);
    let style = server.ask(&get("/style.css")).await;
    assert_eq!(
        (style.status, style.header("content-type").as_str()),
        (200, "text/css; charset=utf-8")
    );
    assert!(style.text().contains("prefers-color-scheme: dark"));
}

#[tokio::test]
async fn every_lock_of_the_page_can_be_followed_to_the_api() {
    let server = Setup::example().start().await;
    let page = server.ask(&get("/")).await.text();
    let links: Vec<&str> = page
        .split("href=\"/api/v1/locks/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(links.len() >= 6, "{links:?}");
    let mut names = Vec::new();
    for link in links {
        let answer = server.ask(&get(&format!("/api/v1/locks/{link}"))).await;
        assert_eq!(answer.status, 200, "{link}");
        names.push(answer.json()["lock"]["lock"].as_str().unwrap().to_owned());
    }
    assert!(names.iter().any(|n| n == HOSTILE), "{names:?}");
}

#[tokio::test]
async fn the_api_has_what_is_known_and_null_for_the_rest() {
    let server = Setup::example().start().await;
    let answer = server.ask(&get("/api/v1/locks")).await;
    assert_eq!(answer.header("content-type"), "application/json");
    let all = answer.json();
    assert_eq!(all["generation"], 7);
    assert_eq!(all["locks"].as_array().unwrap().len(), 6);
    assert_eq!(all["stores"][0]["nodes"][1]["role"], "replica");
    assert_eq!(all["stores"][1]["nodes"][0]["role"], serde_json::Value::Null);
    assert_eq!(all["workers"][0]["sources"]["heartbeat"]["alive"], false);

    let one = server.ask(&get("/api/v1/locks/main/orders")).await.json();
    let lock = &one["lock"];
    assert_eq!(lock["state"], "held");
    assert_eq!(lock["class"], serde_json::json!(["renewal_after_lost_liveness", "holder_stale"]));
    assert_eq!(lock["signals"]["renewal_overdue"], serde_json::Value::Null);
    assert_eq!(lock["signals"]["lease_without_ttl"], false);
    assert_eq!(lock["lease"]["remaining_seconds"], 21.5);
    assert_eq!(lock["holders"][0]["worker"], "orders-1");
    assert_eq!(
        lock["coverage_lost"][0],
        serde_json::json!({"aspect": "renewals", "reason": "no_history"})
    );
}

#[tokio::test]
async fn the_api_says_nothing_of_now_about_what_was_not_read_lately() {
    let server = Setup::example().start().await;
    for path in ["/api/v1/locks/main/unread", "/api/v1/locks/spare/left"] {
        let lock = &server.ask(&get(path)).await.json()["lock"];
        assert_eq!((&lock["fresh"], &lock["state"]), (&false.into(), &"unknown".into()), "{path}");
        assert!(
            lock["signals"].as_object().unwrap().values().all(serde_json::Value::is_null),
            "{path}"
        );
        assert!(
            lock["lease"]["remaining_seconds"].is_null() && lock["held_seconds"].is_null(),
            "{path}"
        );
        assert_eq!(lock["holders"][0]["worker"], "orders-1", "the last known holder stays: {path}");
    }
}

#[tokio::test]
async fn the_example_of_the_api_document_is_what_is_answered() {
    let documented = include_str!("../../expose/api.md");
    let example =
        documented.split("```json\n").nth(1).and_then(|t| t.split("\n```").next()).unwrap();
    let example: serde_json::Value = serde_json::from_str(example).unwrap();
    let mut setup = Setup::example();
    setup.view.stores.truncate(1);
    setup.view.stores[0].locks.retain(|l| &*l.name == "orders");
    setup.view.workers.truncate(1);
    let answer = setup.start().await.ask(&get("/api/v1/locks")).await.json();
    assert_eq!(answer, example, "{}", serde_json::to_string_pretty(&answer).unwrap());
}

#[tokio::test]
async fn a_lock_that_is_not_there_is_404_in_json() {
    let server = Setup::example().start().await;
    for path in ["/api/v1/locks/main/nothing", "/api/v1/locks/nothing/orders"] {
        let answer = server.ask(&get(path)).await;
        assert_eq!(
            (answer.status, answer.header("content-type").as_str()),
            (404, "application/json")
        );
        assert!(answer.json()["error"].is_string());
    }
}

#[tokio::test]
async fn an_empty_exporter_has_a_page() {
    let mut setup = Setup::example();
    let taken = setup.view.taken;
    setup.view = crate::view::View { taken, ..Default::default() };
    let server = setup.start().await;
    let text = server.ask(&get("/")).await.text();
    assert!(
        text.contains("No lock is known yet") && text.contains("No store is known yet"),
        "{text}"
    );
}
