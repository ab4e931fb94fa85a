//! Groups of locks: a row on the status page and in the document of the locks, and their locks page by page.

use super::support::{Setup, get, only_our_tags};
use crate::config::SeriesTier;
use crate::expose::example::{HOSTILE, lock_named};
use crate::view::{GroupView, LockView, Signal, StoreView};

const JOBS: &str = "main/job-%2A";

/// The example with so many locks in its group, of which the first two need a look and one of those has series.
fn with_members(n: usize) -> Setup {
    let mut setup = Setup::example();
    let orders = lock_named(&mut setup.view, "orders").clone();
    let member = |i: usize| LockView {
        name: format!("job-{i:04}").into(),
        group: Some("job-*".into()),
        // The worst has the last name.
        look: (i + 2 >= n).then(|| n - 1 - i),
        tier: (i + 1 == n).then_some(SeriesTier::Core),
        signals: vec![(Signal::HolderStale, Some(i + 2 >= n))],
        ..orders.clone()
    };
    let store = &mut setup.view.stores[0];
    store.locks = (0..n).map(member).collect();
    store.locks.push(LockView { signals: Vec::new(), ..orders.clone() });
    setup.view.stores.truncate(1);
    setup
}

fn store(setup: &mut Setup) -> &mut StoreView {
    &mut setup.view.stores[0]
}

#[tokio::test]
async fn the_documents_are_bounded_and_have_every_lock_of_a_group() {
    let server = with_members(1500).start().await;
    let all = server.ask(&get("/api/v1/locks")).await.json();
    let names: Vec<_> = all["locks"].as_array().unwrap().iter().map(|l| &l["lock"]).collect();
    assert_eq!(names, ["job-1499", "orders"]);
    assert_eq!(all["groups"][0]["group"], "job-*");

    let page = server.ask(&get(&format!("/api/v1/groups/{JOBS}"))).await.json();
    assert_eq!((&page["members"], page["locks"].as_array().unwrap().len()), (&1500.into(), 100));
    let first: Vec<_> =
        page["locks"].as_array().unwrap().iter().take(3).map(|l| &l["lock"]).collect();
    assert_eq!(first, ["job-1499", "job-1498", "job-0000"]);
    let mut seen = std::collections::BTreeSet::new();
    for offset in [0, 1000, 2000] {
        let path = format!("/api/v1/groups/{JOBS}?offset={offset}&limit=5000");
        let page = server.ask(&get(&path)).await.json();
        let locks = page["locks"].as_array().unwrap();
        assert!(locks.len() <= 1000, "{}", locks.len());
        seen.extend(locks.iter().map(|l| l["lock"].as_str().unwrap().to_owned()));
    }
    assert_eq!(seen.len(), 1500);
    let one = server.ask(&get("/api/v1/locks/main/job-0003")).await.json();
    assert_eq!(one["lock"]["group"], "job-*");
}

#[tokio::test]
async fn the_pages_show_a_group_and_lead_to_all_its_locks() {
    let server = with_members(250).start().await;
    let status = server.ask(&get("/")).await.text();
    only_our_tags(&status);
    assert_eq!(status.matches("href=\"/locks/").count(), 2, "one that needs a look, one other");
    assert!(status.contains(&format!("href=\"/groups/{JOBS}\"")), "{status}");
    let page = server.ask(&get(&format!("/groups/{JOBS}"))).await.text();
    only_our_tags(&page);
    assert_eq!(page.matches("href=\"/locks/main/job").count(), 100);
    assert!(page.contains("150 more") && page.contains("href=\"?offset=100\""), "{page}");
    assert!(page.find("job-<wbr>0249") < page.find("job-<wbr>0248"), "the worst first");
    let last = server.ask(&get(&format!("/groups/{JOBS}?offset=200&limit=100"))).await.text();
    assert!(last.contains("before") && !last.contains("more</a>"), "{last}");
    assert_eq!(last.matches("href=\"/locks/main/job").count(), 50);
    let lock = server.ask(&get("/locks/main/job-0249")).await.text();
    assert!(lock.contains(&format!("<a href=\"/groups/{JOBS}\">its group</a>")), "{lock}");
}

#[tokio::test]
async fn a_group_that_needs_a_look_is_not_called_calm_though_no_lock_of_it_is_listed() {
    let mut setup = with_members(10);
    for lock in &mut store(&mut setup).locks {
        lock.tier = lock.tier.filter(|_| lock.group.is_none());
    }
    let text = setup.start().await.ask(&get("/")).await.text();
    assert!(text.contains("Locks of a group need a look"), "{text}");
    assert!(!text.contains("No signal is up"), "{text}");
}

#[tokio::test]
async fn what_is_not_read_is_not_told_as_now() {
    let mut setup = with_members(3);
    store(&mut setup).fresh = false;
    let server = setup.start().await;
    let all = server.ask(&get("/api/v1/locks")).await.json();
    let group = &all["groups"][0];
    for part in ["held", "free", "flagged", "held_max_seconds", "lease_remaining_min_seconds"] {
        assert!(group[part].is_null(), "{part} of {group}");
    }
    assert_eq!(group["counts"]["acquisitions"], 90_000, "what was counted stays");
    let page = server.ask(&get(&format!("/groups/{JOBS}"))).await.text();
    assert!(page.contains("not known now"), "{page}");
}

#[tokio::test]
async fn names_and_numbers_of_the_client_are_checked() {
    let mut setup = with_members(3);
    let example = store(&mut setup).groups[0].clone();
    store(&mut setup).groups.push(GroupView { name: HOSTILE.into(), ..example });
    let server = setup.start().await;
    only_our_tags(&server.ask(&get("/")).await.text());
    for path in ["main/nothing", "nothing/job-%2A", "main/%3Cb%3E"] {
        let answer = server.ask(&get(&format!("/api/v1/groups/{path}"))).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.json()["error"].is_string());
        let page = server.ask(&get(&format!("/groups/{path}"))).await;
        assert_eq!(page.status, 404, "{path}");
        only_our_tags(&page.text());
    }
    for query in ["limit=x", "offset=-1", "offset=99999999999999999999"] {
        for path in ["/api/v1/groups/", "/groups/"] {
            let answer = server.ask(&get(&format!("{path}{JOBS}?{query}"))).await;
            assert_eq!(answer.status, 400, "{path} {query}");
        }
    }
    let beyond =
        server.ask(&get(&format!("/api/v1/groups/{JOBS}?offset=18446744073709551615"))).await;
    assert_eq!(beyond.json()["locks"], serde_json::json!([]));
}
