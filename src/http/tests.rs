//! The routes behind a real listener, asked by a client that speaks plain bytes.

mod api;
mod groups;
mod host_page;
mod incidents;
mod lock_page;
mod lock_sections;
mod needs_a_look;
mod pages;
mod scrape;
mod serving;
mod stores;
pub(super) mod support;
mod told;

use support::{Setup, get};

#[tokio::test]
async fn unknown_paths_are_404_and_odd_ones_do_no_harm() {
    let server = Setup::example().start().await;
    let long = format!("/{}", "a".repeat(5000));
    let odd = [
        "/nothing",
        "/metrics/",
        "//",
        "/..",
        "/%2e%2e/etc/passwd",
        "/%00",
        "/api/v1/locks/main",
        "/api/v1/x",
        "/locks",
        "/locks/main",
        "/-/",
        "/style.css/x",
        "/{store}",
        &long,
    ];
    for path in odd {
        let answer = server.ask(&get(path)).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
    // Not UTF-8 after decoding.
    assert_eq!(server.ask(&get("/api/v1/locks/%ff/x")).await.status, 400);
    assert_eq!(server.ask(&get("/locks/%ff/x")).await.status, 400);
    assert_eq!(server.ask(&get("/-/healthy")).await.status, 200);
}

#[tokio::test]
async fn only_get_and_head_where_nothing_changes() {
    let server = Setup::example().start().await;
    for path in ["/", "/metrics", "/api/v1/locks", "/-/healthy", "/-/ready", "/style.css"] {
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let answer = server.ask(&get(path).replacen("GET", method, 1)).await;
            assert_eq!(answer.status, 405, "{method} {path}");
            assert_eq!(answer.header("allow"), "GET,HEAD", "{method} {path}");
        }
    }
}

#[tokio::test]
async fn health_is_about_the_exporter_and_readiness_says_what_is_missing() {
    let server = Setup::example().start().await;
    assert_eq!(server.ask(&get("/-/healthy")).await.status, 200);
    assert_eq!(server.ask(&get("/-/ready")).await.status, 200);

    let server = Setup { ready: Err("main has not been tried yet".into()), ..Setup::example() };
    let server = server.start().await;
    let answer = server.ask(&get("/-/ready")).await;
    assert_eq!((answer.status, answer.text().contains("main has not")), (503, true));
    assert_eq!(server.ask(&get("/-/healthy")).await.status, 200);
}

#[tokio::test]
async fn an_exporter_that_makes_no_snapshots_is_not_healthy() {
    let server = Setup::too_old().start().await;
    let answer = server.ask(&get("/-/healthy")).await;
    assert_eq!(answer.status, 503);
    assert!(answer.text().contains("s old"), "{}", answer.text());
}

#[tokio::test]
async fn reload_takes_post_alone_and_gives_the_real_outcome() {
    let server = Setup::example().start().await;
    let asked = server.ask(&get("/-/reload")).await;
    assert_eq!((asked.status, asked.header("allow")), (405, "POST".to_owned()));
    assert!(asked.text().contains("POST"), "{}", asked.text());

    let post = get("/-/reload").replacen("GET", "POST", 1);
    server.next_reload(Ok(()));
    assert_eq!(server.ask(&post).await.status, 200);

    server
        .next_reload(Err("stores.main.url: no such scheme\nstores.main.lease: not a time".into()));
    let failed = server.ask(&post).await;
    assert_eq!(failed.status, 500);
    assert!(
        failed.text().contains("no such scheme\nstores.main.lease: not a time"),
        "{}",
        failed.text()
    );

    // The application drops the question: it is on its way out.
    assert_eq!(server.ask(&post).await.status, 500);
}

#[tokio::test]
async fn another_sites_page_cannot_reload() {
    let server = Setup::example().start().await;
    server.next_reload(Ok(()));
    let post = get("/-/reload").replacen("GET", "POST", 1);
    let foreign = post.replacen("\r\n", "\r\nSec-Fetch-Site: cross-site\r\n", 1);
    assert_eq!(server.ask(&foreign).await.status, 403);
    assert_eq!(server.ask(&post).await.status, 200);
}
