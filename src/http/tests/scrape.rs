//! `/metrics`.

use std::io::Read;
use std::sync::Arc;

use super::support::{Setup, get, get_with};
use crate::expose::Rendered;
use crate::http::TelemetryPath;
use crate::http::body::counted;

#[tokio::test]
async fn a_scrape_has_the_exact_type_and_the_snapshot() {
    let server = Setup::example().start().await;
    let answer = server.ask(&get("/metrics")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    assert_eq!(answer.header("content-encoding"), "");
    assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    assert_eq!(answer.body, server.snapshot.load().text().to_vec());
    assert!(answer.text().contains("dlock_holder_stale{store=\"main\",lock=\"orders\"} 1\n"));
}

#[tokio::test]
async fn sixty_four_scrapers_at_once_all_get_the_same_bytes() {
    let server = Arc::new(Setup { scrapes: 64, ..Setup::example() }.start().await);
    let mut scrapes = tokio::task::JoinSet::new();
    for n in 0..64 {
        let server = server.clone();
        let with = if n % 2 == 0 { "Accept-Encoding: gzip" } else { "Accept-Encoding: identity" };
        scrapes.spawn(async move { (n % 2, server.ask(&get_with("/metrics", with)).await) });
    }
    let rendered = server.snapshot.load_full();
    while let Some(scrape) = scrapes.join_next().await {
        let (plain, answer) = scrape.unwrap();
        assert_eq!(answer.status, 200);
        let made = rendered.made(plain == 0).expect("made once, for all");
        assert_eq!(answer.body, made.to_vec());
    }
}

#[tokio::test]
async fn what_prometheus_3_accepts_changes_nothing() {
    let server = Setup::example().start().await;
    let accept = "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=1.0.0;q=0.3,*/*;q=0.1";
    let answer = server.ask(&get_with("/metrics", accept)).await;
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
}

#[tokio::test]
async fn gzip_is_sent_where_it_is_taken_and_is_the_same_text() {
    let server = Setup::example().start().await;
    let answer = server.ask(&get_with("/metrics", "Accept-Encoding: gzip, deflate")).await;
    assert_eq!(answer.header("content-encoding"), "gzip");
    assert_eq!(answer.header("vary"), "Accept-Encoding");
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&*answer.body).read_to_end(&mut text).unwrap();
    assert_eq!(text, server.snapshot.load().text().to_vec());
    let refused = server.ask(&get_with("/metrics", "Accept-Encoding: gzip;q=0")).await;
    assert_eq!(refused.header("content-encoding"), "");
    assert_eq!(refused.body, text);
}

#[tokio::test]
async fn head_has_the_headers_alone() {
    let server = Setup::example().start().await;
    for path in ["/metrics", "/", "/api/v1/locks"] {
        let full = server.ask(&get(path)).await;
        let head = server.ask(&get(path).replacen("GET", "HEAD", 1)).await;
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-type"), full.header("content-type"), "{path}");
        assert_eq!(head.header("content-length"), full.body.len().to_string(), "{path}");
    }
}

#[tokio::test]
async fn a_snapshot_older_than_ten_polls_is_refused_until_a_new_one_comes() {
    let server = Setup::too_old().start().await;
    let answer = server.ask(&get("/metrics")).await;
    assert_eq!(answer.status, 503);
    assert!(
        answer.text().contains("21") && answer.text().contains("ten polls"),
        "{}",
        answer.text()
    );

    let fresh = Setup::example();
    server.snapshot.store(Arc::new(Rendered::new(Arc::new(fresh.view), fresh.own)));
    assert_eq!(server.ask(&get("/metrics")).await.status, 200);
}

#[tokio::test]
async fn too_many_at_a_time_are_sent_away() {
    let server = Setup { scrapes: 0, pages: 0, ..Setup::example() }.start().await;
    for path in ["/metrics", "/", "/api/v1/locks"] {
        let answer = server.ask(&get(path)).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, "1".to_owned()), "{path}");
    }
    // What watches the exporter is not affected.
    assert_eq!(server.ask(&get("/-/healthy")).await.status, 200);
}

#[tokio::test]
async fn places_come_back_when_answers_are_sent() {
    let server = Setup { scrapes: 1, pages: 1, ..Setup::example() }.start().await;
    for _ in 0..5 {
        for path in ["/metrics", "/", "/api/v1/locks"] {
            // The place is given back just after the last byte, which the client may see first.
            let deadline = std::time::Duration::from_secs(10);
            let asked = async { while server.ask(&get(path)).await.status != 200 {} };
            tokio::time::timeout(deadline, asked).await.unwrap_or_else(|_| panic!("{path}"));
        }
    }
}

#[tokio::test]
async fn an_answer_keeps_its_place_until_its_last_piece_is_taken() {
    use http_body_util::BodyExt;
    let places = Arc::new(tokio::sync::Semaphore::new(1));
    let bytes = |n| bytes::Bytes::from(vec![7; n]);
    let pieces = crate::expose::Pieces::from(vec![bytes(150_000), bytes(0), bytes(50_000)]);
    let mut body = counted(pieces, places.clone().try_acquire_owned().unwrap());
    let mut taken = 0;
    while let Some(piece) = body.frame().await {
        assert_eq!(places.available_permits(), 0);
        taken += piece.unwrap().into_data().unwrap().len();
    }
    assert_eq!(taken, 200_000);
    drop(body);
    assert_eq!(places.available_permits(), 1);
}

#[tokio::test]
async fn the_path_can_be_another_and_even_the_root() {
    for path in ["/dlock", "/"] {
        let telemetry_path = TelemetryPath::parse(path).unwrap();
        let server = Setup { telemetry_path, ..Setup::example() }.start().await;
        assert!(server.ask(&get(path)).await.text().starts_with("# HELP"), "{path}");
        assert_eq!(server.ask(&get("/metrics")).await.status, 404, "{path}");
    }
}
