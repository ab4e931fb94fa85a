//! The status page as a whole.

use super::support::{Setup, get, links, only_our_tags};
use crate::expose::example::{HOSTILE, lock_named};
use crate::view::{LockView, Signal, ToldView};

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
    assert_eq!(text.matches("href=\"/locks/").count(), 100, "rows");
    assert!(text.contains("Page 1 of 13") && text.contains("No signal is up"), "{text}");
}

#[tokio::test]
async fn each_lock_is_on_one_part_of_the_page_and_can_be_looked_for() {
    let mut setup = Setup::example();
    let orders = lock_named(&mut setup.view, "orders").clone();
    let calm = LockView { signals: Vec::new(), told: ToldView::default(), ..orders.clone() };
    setup.view.stores[0].locks = (0..250)
        .map(|n| {
            let lock = if n % 2 == 0 { calm.clone() } else { orders.clone() };
            LockView { name: format!("job-{n}").into(), key: format!("lock:{n}").into(), ..lock }
        })
        .collect();
    setup.view.stores.truncate(1);
    let server = setup.start().await;
    let mut seen = std::collections::BTreeSet::new();
    for (page, rows) in [(1, 100), (2, 100), (3, 50)] {
        let text = server.ask(&get(&format!("/?page={page}"))).await.text();
        only_our_tags(&text);
        let found = links(&text, "/locks/");
        assert_eq!(found.len(), rows, "part {page}");
        seen.extend(found.into_iter().map(str::to_owned));
        assert!(text.contains(&format!("Page {page} of 3")), "{text}");
        assert_eq!(text.contains("<h2>Stores"), page == 1, "the rest is on the first part");
        assert_eq!(text.contains("Needs a look"), page < 3, "those come first");
    }
    assert_eq!(seen.len(), 250);
    let beyond = server.ask(&get("/?page=99")).await.text();
    assert!(beyond.contains("Page 3 of 3") && !beyond.contains(">next<"), "{beyond}");

    let text = server.ask(&get("/?q=JOB-24&refresh=off")).await.text();
    assert_eq!(links(&text, "/locks/").len(), 11, "job-24 and job-240 to job-249");
    assert!(text.contains("value=\"JOB-24\"") && text.contains("11 locks have it."), "{text}");
    assert!(links(&text, "/locks/main/").contains(&"job-24?refresh=off"), "it stays as it is");
    let none = server.ask(&get("/?q=%22%3E%3Cscript%3E")).await.text();
    only_our_tags(&none);
    assert!(none.contains("0 locks have it.") && links(&none, "/locks/").is_empty(), "{none}");
}

#[tokio::test]
async fn a_reader_can_stop_the_page_and_it_stays_stopped() {
    let server = Setup::example().start().await;
    for path in ["/", "/locks/main/orders", "/groups/main/job-%2A", "/locks/main/nothing"] {
        let page = server.ask(&get(path)).await;
        assert_eq!(page.header("refresh"), "10", "{path}");
        assert!(page.text().contains("<a href=\"?refresh=off\">Stop that</a>"), "{path}");
        let page = server.ask(&get(&format!("{path}?refresh=off"))).await;
        assert_eq!(page.header("refresh"), "", "{path}");
        let text = page.text();
        assert!(text.contains("This page stands still"), "{path}");
        let kept = ["/locks/", "/groups/"].iter().flat_map(|p| links(&text, p));
        assert!(kept.clone().all(|l| l.ends_with("?refresh=off")), "{path}");
        if path != "/" {
            assert!(text.contains("href=\"/?refresh=off\""), "{path}");
        }
    }
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
