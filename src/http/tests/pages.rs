//! The status page as a whole.

use super::support::{Setup, get, links, only_our_tags};
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
    only_our_tags(&text);
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
    assert!(!first.contains("<b>unread</b>"), "not judged, so not flagged");
    assert!(text.contains("not known now") && text.contains("renewals: too few seen"));
}

#[tokio::test]
async fn the_page_is_bounded_and_says_what_it_left_out() {
    let mut setup = Setup::example();
    let calm = LockView { signals: Vec::new(), ..lock_named(&mut setup.view, "orders").clone() };
    setup.view.stores[0].locks =
        (0..1203).map(|n| LockView { name: format!("job-{n}").into(), ..calm.clone() }).collect();
    setup.view.stores.truncate(1);
    let text = setup.start().await.ask(&get("/")).await.text();
    assert_eq!(text.matches("href=\"/locks/").count(), 500, "rows");
    assert!(text.contains("703 more are not shown") && text.contains("No signal is up"));
}

#[tokio::test]
async fn what_is_not_known_is_not_called_calm() {
    let mut setup = Setup::example();
    setup.view.stores.remove(0);
    let text = setup.start().await.ask(&get("/")).await.text();
    assert!(text.contains("No signal is up, but 1 lock of 1 is not known now"), "{text}");
    assert!(
        text.contains("last seen: orders-<wbr>1") && !text.contains("class=\"calm\""),
        "{text}"
    );
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
async fn every_lock_of_the_page_can_be_followed_to_its_own_page_and_to_the_api() {
    let server = Setup::example().start().await;
    let page = server.ask(&get("/")).await.text();
    let links = links(&page, "/locks/");
    assert_eq!(links.len(), 6, "each lock once: {links:?}");
    let mut names = Vec::new();
    for link in links {
        let page = server.ask(&get(&format!("/locks/{link}"))).await;
        assert_eq!(page.status, 200, "{link}");
        let json = format!("/api/v1/locks/{link}");
        assert!(page.text().contains(&format!("href=\"{json}\"")), "{link}");
        let answer = server.ask(&get(&json)).await;
        assert_eq!(answer.status, 200, "{link}");
        names.push(answer.json()["lock"]["lock"].as_str().unwrap().to_owned());
    }
    assert!(names.iter().any(|n| n == HOSTILE), "{names:?}");
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
