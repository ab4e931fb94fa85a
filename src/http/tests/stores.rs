//! What the status page says of stores, of their nodes, and of its own snapshot.

use super::support::{Setup, get, only_our_tags, words_of};
use crate::expose::example::HOSTILE;
use crate::observe::feed::{Standing, Why};
use crate::observe::node::FailReason;
use crate::view::{GroupView, LeftOut};

async fn words(setup: Setup) -> String {
    words_of(&setup.start().await.ask(&get("/")).await.text())
}

#[tokio::test]
async fn a_node_that_is_down_says_for_how_long_and_why() {
    let text = words(Setup::example()).await;
    let line = "/run/redis.sock down for 12 s: auth - AUTH was answered by &#39;WRONGPASS &lt;b&gt;no&lt;/b&gt;";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("10.0.0.5:6379 up, master, redis 7.0.15"), "{text}");

    let mut setup = Setup::example();
    setup.view.stores[1].nodes[0].failure = None;
    let text = words(setup).await;
    assert!(text.contains("/run/redis.sock not read yet"), "{text}");
}

#[tokio::test]
async fn a_store_says_whether_its_locks_are_up_to_date() {
    let text = words(Setup::example()).await;
    assert!(text.contains("main up to date"), "{text}");
    assert!(text.contains("spare not read for 34 s: its locks are not known now"), "{text}");

    let mut setup = Setup::example();
    setup.view.stores[1].read_age_seconds = None;
    let text = words(setup).await;
    assert!(text.contains("spare not read yet"), "{text}");
}

#[tokio::test]
async fn lists_of_live_workers_are_told_with_their_members_or_what_is_wrong() {
    let text = words(Setup::example()).await;
    assert_eq!(text.matches("live workers fleet (rq) read, 12 members 3.5 s ago").count(), 2);
    let refused = "live workers jobs (sidekiq) cannot be read: permission - SSCAN of processes was answered by NOPERM";
    assert!(text.contains(refused), "{text}");
    let mut setup = Setup::example();
    setup.view.stores.truncate(1);
    let lists = &mut setup.view.stores[0].lists;
    lists[0].has_named = false;
    lists[0].read = Some((0, 1.0));
    lists[1].failure = None;
    let text = words(setup).await;
    let silent =
        "live workers fleet (rq) never named anybody, so it says nothing yet, 0 members 1.0 s ago";
    assert!(text.contains(silent), "{text}");
    assert!(text.contains("live workers jobs (sidekiq) not read yet"), "{text}");
}

#[tokio::test]
async fn an_unsafe_restart_is_told_in_words() {
    let mut setup = Setup::example();
    assert!(!words(Setup::example()).await.contains("restarted"));
    setup.view.stores[0].nodes[0].facts.as_mut().unwrap().restart_unsafe = Some(true);
    let text = words(setup).await;
    assert!(text.contains("restarted without durable data less than the longest lease"), "{text}");
}

fn left_out(count: u64, examples: &[&str]) -> LeftOut {
    LeftOut { count, examples: examples.iter().map(|e| (*e).into()).collect() }
}

#[tokio::test]
async fn keys_that_may_not_be_read_are_told_before_everything_else() {
    let mut setup = Setup::example();
    setup.view.stores.truncate(1);
    let store = &mut setup.view.stores[0];
    store.locks.clear();
    store.refused = left_out(11, &["amb:1", HOSTILE]);
    store.groups[0] = GroupView { held: 0, free: 0, refused: 2, ..store.groups[0].clone() };
    let server = setup.start().await;
    let page = server.ask(&get("/")).await.text();
    only_our_tags(&page);
    let text = words_of(&page);
    let line = "11 keys of main may not be read, so that nobody knows whether it is locked there";
    assert!(text.find(line) < text.find("No lock is known yet."), "{text}");
    assert!(text.contains("Some of them: amb:1 "), "{text}");
    assert!(
        text.contains("2 keys not to be read: permission refused") && !text.contains("1200"),
        "{text}"
    );
    let all = server.ask(&get("/api/v1/locks")).await.json();
    assert_eq!(
        (&all["stores"][0]["refused_keys"], &all["groups"][0]["refused_keys"]),
        (&11.into(), &2.into())
    );
    assert_eq!(all["stores"][0]["refused_examples"][0], "amb:1");
    assert!(all["groups"][0]["held"].is_null() && all["groups"][0]["free"].is_null());
    let metrics = server.ask(&get("/metrics")).await.text();
    assert!(!metrics.contains("dlock_group_locks{"), "{metrics}");
}

#[tokio::test]
async fn keys_and_locks_that_are_not_shown_are_counted() {
    let mut setup = Setup::example();
    setup.view.stores[1].ownerless = left_out(1, &[HOSTILE]);
    setup.view.stores[1].dropped = vec![("max_locks", 0)];
    let text = words(setup).await;
    for line in [
        "3 keys match a pattern and name no owner; they are not shown as locks. Some of them: lock:config lock:queue",
        "1 key matches a pattern and names no owner; it is not shown as a lock. Which:",
        "4 locks are not watched: max_locks.",
        "4 locks of main more than max_locks lets be watched: nothing here is about them.",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{line} in {text}");
    }
    let mut setup = Setup::example();
    setup.view.stores.iter_mut().for_each(|s| s.ownerless = LeftOut::default());
    assert!(!words(setup).await.contains("names no owner"));
}

#[tokio::test]
async fn the_snapshot_has_a_time_and_an_age() {
    let text = words(Setup::example()).await;
    assert!(text.contains("Snapshot of 2026-09-21 14:13:20 UTC, "), "{text}");
    let text = words(Setup::too_old()).await;
    assert!(text.contains("14:13:20 UTC, 21 s old."), "{text}");
}

#[tokio::test]
async fn a_feed_that_is_not_there_is_told_with_why() {
    for (standing, said) in [
        (Standing::Down(FailReason::Timeout), "its event feed is interrupted (timeout)"),
        (Standing::Off(Why::Costly), "no event feed (it would cost the server too much)"),
        (Standing::Off(Why::Permission), "no event feed (the server refuses it)"),
    ] {
        let mut setup = Setup::example();
        setup.view.stores[0].nodes[0].feed = Some(standing);
        let page = setup.start().await.ask(&get("/")).await.text();
        assert!(page.contains(said), "{said} in {page}");
    }
    let calm = Setup::example().start().await.ask(&get("/")).await.text();
    assert!(!calm.contains("event feed"), "{calm}");
}
