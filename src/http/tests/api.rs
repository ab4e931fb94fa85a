//! The API.

use super::support::{Setup, get};
use crate::expose::example::lock_named;
use crate::view::{Aspect, BlindReason};

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
    let holder = &lock["holders"][0];
    assert_eq!((&holder["host"], &holder["pid"]), (&"host-a".into(), &4711.into()));
    assert_eq!(holder["beat_age_seconds"], 43.0);
    assert_eq!(all["stores"][0]["ownerless_keys"], 3);
    assert_eq!(all["stores"][0]["nodes"][0]["failure"], serde_json::Value::Null);
    let failure = &all["stores"][1]["nodes"][0]["failure"];
    assert_eq!((&failure["reason"], &failure["seconds"]), (&"auth".into(), &12.0.into()));
    assert!(failure["detail"].as_str().unwrap().contains("WRONGPASS"), "{failure}");
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
            lock["lease"]["remaining_seconds"].is_null()
                && lock["held_seconds"].is_null()
                && lock["holders"][0]["beat_age_seconds"].is_null(),
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
async fn documents_are_indented_and_tell_what_nobody_configured() {
    let mut setup = Setup::example();
    lock_named(&mut setup.view, "orders")
        .blind
        .push((Aspect::Heartbeat, BlindReason::NotConfigured));
    let server = setup.start().await;
    for path in ["/api/v1/locks", "/api/v1/locks/main/orders"] {
        let text = server.ask(&get(path)).await.text();
        assert!(text.starts_with("{\n  \"generation\": 7,\n"), "{text}");
    }
    let lock = &server.ask(&get("/api/v1/locks/main/orders")).await.json()["lock"];
    assert_eq!(lock["coverage_lost"].as_array().unwrap().len(), 1);
    assert_eq!(
        lock["cannot_be_judged"][1],
        serde_json::json!({"aspect": "heartbeat", "reason": "not_configured"})
    );
}

#[tokio::test]
async fn of_several_holders_it_is_not_said_whose_the_token_is() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    lock.holders.push(lock.holders[0].clone());
    let server = setup.start().await;
    let lock = &server.ask(&get("/api/v1/locks/main/orders")).await.json()["lock"];
    for holder in lock["holders"].as_array().unwrap() {
        assert!(holder["pid"].is_null() && holder["host"].is_null(), "{holder}");
    }
}

#[tokio::test]
async fn the_roots_of_the_api_point_to_it() {
    let server = Setup::example().start().await;
    for path in ["/api", "/api/", "/api/v1", "/api/v1/"] {
        let answer = server.ask(&get(path)).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.text().contains("/api/v1/locks"), "{path}: {}", answer.text());
    }
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
