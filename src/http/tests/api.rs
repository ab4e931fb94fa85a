//! The API.

use super::support::{Setup, get, get_with, words_of};
use crate::expose::example::lock_named;
use crate::view::{Aspect, BlindReason, HolderView, LockView, Mode};

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
                && lock["lease"]["remaining_by_replica"] == serde_json::json!([])
                && lock["holders"][0]["stalls"].is_null()
                && lock["held_seconds"].is_null()
                && lock["holders"][0]["beat_age_seconds"].is_null(),
            "{path}"
        );
        assert_eq!(lock["holders"][0]["worker"], "orders-1", "the last known holder stays: {path}");
    }
}

/// The examples of documents under a heading of `api.md`.
pub fn examples(heading: &str) -> Vec<serde_json::Value> {
    let text = include_str!("../../expose/api.md");
    let (_, after) = text.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let part = after.split("\n## ").next().unwrap_or(after);
    let examples = part.split("```json\n").skip(1).filter_map(|t| t.split("\n```").next());
    examples.map(|e| serde_json::from_str(e).expect("JSON")).collect()
}

/// The only one.
fn documented(heading: &str) -> serde_json::Value {
    examples(heading).into_iter().next().expect("an example")
}

#[tokio::test]
async fn the_examples_of_the_api_documents_are_what_is_answered() {
    let mut setup = Setup::example();
    setup.view.stores.truncate(1);
    setup.view.stores[0].locks.retain(|l| &*l.name == "orders");
    setup.view.workers.truncate(1);
    let clocks = &mut setup.view.clocks;
    clocks.retain(|c| c.is_local || !c.up);
    clocks[1].name = "redis-host".into();
    clocks[1].failure.as_mut().unwrap().1 = "no answer from 10.0.0.5:323 within 1 s".into();
    let server = setup.start().await;
    for (heading, path) in [
        ("Example of the locks", "/api/v1/locks"),
        ("Example of the workers", "/api/v1/workers"),
        ("Example of the clocks", "/api/v1/clocks"),
    ] {
        let answer = server.ask(&get(path)).await.json();
        let shown = serde_json::to_string_pretty(&answer).unwrap();
        assert_eq!(answer, documented(heading), "{path}: {shown}");
    }
}

#[tokio::test]
async fn the_example_of_who_is_connected_is_what_is_answered() {
    let mut setup = Setup::example();
    // On several servers each tenure has several clocks.
    lock_named(&mut setup.view, "orders").ballots.clear();
    let server = setup.start().await;
    let answer = server.ask(&get("/api/v1/locks/main/orders")).await.json();
    let documented = documented("Who is connected");
    assert_eq!(
        answer["recent"]["writes"][0],
        serde_json::json!({"age_seconds": 120.0, "what": "held", "left_seconds": 30.0})
    );
    assert_eq!(answer["recent"]["writes"][1]["left_seconds"], serde_json::Value::Null, "ended");
    assert_eq!(answer["recent"]["writes"].as_array().unwrap().len(), 11);
    assert_eq!(answer["recent"]["beats"][0]["worker"], "orders-1");
    let tenures = answer["recent"]["tenures"].as_array().unwrap();
    assert_eq!(tenures.len(), 2);
    assert_eq!(tenures[0]["evidence"], "released");
    assert_eq!(tenures[0]["expiry_timestamp"], 1_789_999_910.0);
    // Neither is an end of the present one known, nor that it had none.
    assert_eq!(tenures[1]["fingerprint"], answer["lock"]["holders"][0]["fingerprint"]);
    for unknown in ["gone_timestamp", "evidence", "overrun_seconds"] {
        assert_eq!(tenures[1][unknown], serde_json::Value::Null, "{unknown}");
    }
    assert_eq!(answer["recent"]["beats"][0]["ages_seconds"].as_array().unwrap().len(), 40);
    for part in ["clients_beyond", "clients_age_seconds", "renewer"] {
        assert_eq!(answer[part], documented[part], "{part}");
    }
    assert_eq!(answer["clients"][0], documented["clients"][0]);
    assert_eq!(answer["clients"][1]["worker"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_worker_of_which_nothing_is_seen_here_has_null_and_not_zero() {
    let mut setup = Setup::example();
    let host = setup.view.workers[0].host.as_mut().unwrap();
    (host.jvm, host.worst_stall) = (None, None);
    host.cgroup.as_mut().unwrap().oom_kills = None;
    let server = setup.start().await;
    let all = server.ask(&get("/api/v1/workers")).await.json();
    let (seen, unseen) = (&all["workers"][0], &all["workers"][1]);
    assert!(seen["jvm"].is_null() && seen["cgroup"]["oom_kills"].is_null(), "{seen}");
    assert!(seen["stalls"]["worst"].is_null() && seen["stalls"]["in_collection"].is_null());
    for part in ["stalls", "scheduling", "cgroup", "jvm", "process"] {
        assert!(unseen[part].is_null(), "{part} of {unseen}");
    }
    assert_eq!(unseen["skew_bound_seconds"], serde_json::json!({}));
    assert_eq!(unseen["process_state"], "gone");
    let lock = &server.ask(&get("/api/v1/locks/main/orders")).await.json()["lock"];
    assert!(lock["holders"][0]["stalls"]["worst"].is_null(), "{lock}");
    assert_eq!(lock["holders"][0]["stalls"]["ongoing_seconds"], 0.75);
}

#[tokio::test]
async fn a_worst_stall_of_which_only_the_least_is_known_has_null_above() {
    let mut setup = Setup::example();
    let host = setup.view.workers[0].host.as_mut().unwrap();
    host.worst_stall.as_mut().unwrap().upper = None;
    let all = setup.start().await.ask(&get("/api/v1/workers")).await.json();
    let worst = &all["workers"][0]["stalls"]["worst"];
    assert_eq!(
        (&worst["lower_seconds"], &worst["lower_source"]),
        (&20.25.into(), &"stopped".into())
    );
    for part in ["upper_seconds", "upper_source"] {
        assert_eq!(worst.get(part), Some(&serde_json::Value::Null), "{worst}");
    }
}

#[tokio::test]
async fn a_clock_that_serves_its_own_time_has_no_offset_and_no_bound() {
    let server = Setup::example().start().await;
    let all = server.ask(&get("/api/v1/clocks")).await.json();
    let alone = all["clocks"].as_array().unwrap().iter().find(|c| c["name"] == "alone").unwrap();
    assert_eq!(alone["status"], "local");
    assert!(alone["offset_seconds"].is_null() && alone["error_bound_seconds"].is_null());
    assert_eq!(alone["tracking"]["reference_id"], "7F7F0101");
    assert_eq!(all["nodes"].as_array().unwrap().len(), 3);
    let unread = &all["nodes"][2];
    assert!(unread["offset_seconds"].is_null() && unread["skew_bound_seconds"].is_null());
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
async fn each_of_several_holders_has_what_is_its_own() {
    let mut setup = Setup::example();
    let lock = lock_named(&mut setup.view, "orders");
    let other = HolderView { pid: Some(5), mode: Mode::Read, ..lock.holders[0].clone() };
    lock.holders.push(HolderView { host: None, beat_age_seconds: None, ..other });
    lock.holders_beyond = 3;
    let server = setup.start().await;
    let lock = &server.ask(&get("/api/v1/locks/main/orders")).await.json()["lock"];
    let [first, second] = [&lock["holders"][0], &lock["holders"][1]];
    assert_eq!((&first["pid"], &first["host"]), (&4711.into(), &"host-a".into()));
    assert_eq!((&second["pid"], &second["mode"]), (&5.into(), &"read".into()));
    assert!(second["host"].is_null() && second["beat_age_seconds"].is_null(), "{second}");
    assert_eq!(lock["holders_beyond"], 3);
    let page = words_of(&server.ask(&get("/locks/main/orders")).await.text());
    assert!(page.contains("orders-1, token 0123456789ab, reads, frozen"), "{page}");
    assert!(page.contains("More holders") && page.contains("pid 5 thread 7"), "{page}");
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

#[tokio::test]
async fn the_document_of_locks_is_bounded_and_can_be_had_in_parts() {
    let mut setup = Setup::example();
    let orders = lock_named(&mut setup.view, "orders").clone();
    let named = |n| LockView { name: format!("job-{n:04}").into(), ..orders.clone() };
    setup.view.stores[0].locks = (0..2600).map(named).collect();
    setup.view.stores.truncate(1);
    let server = setup.start().await;
    let ask = async |query: &str| server.ask(&get(&format!("/api/v1/locks{query}"))).await.json();
    let locks = |all: &serde_json::Value| all["locks"].as_array().unwrap().len();
    let all = ask("").await;
    assert_eq!((locks(&all), &all["total"], &all["offset"]), (500, &2600.into(), &0.into()));
    let part = ask("?offset=2590&limit=7").await;
    assert_eq!((locks(&part), &part["locks"][0]["lock"]), (7, &"job-2590".into()));
    assert_eq!(locks(&ask("?limit=99999").await), 2000, "at most");
    assert_eq!(locks(&ask("?offset=2600").await), 0);
    assert_eq!(server.ask(&get("/api/v1/locks?limit=many")).await.status, 400);
}

#[tokio::test]
async fn whoever_has_the_document_of_this_snapshot_is_told_so() {
    let server = Setup::example().start().await;
    for path in [
        "/api/v1/locks",
        "/api/v1/locks/main/orders",
        "/api/v1/groups/main/job-%2A",
        "/api/v1/workers",
        "/api/v1/clocks",
    ] {
        let first = server.ask(&get(path)).await;
        let tag = first.header("etag");
        assert!(first.status == 200 && tag.starts_with("\"7-"), "{path}: {tag}");
        let with = |tag: &str| get_with(path, &format!("If-None-Match: {tag}"));
        let again = server.ask(&with(&tag)).await;
        assert_eq!((again.status, again.header("etag"), again.body.len()), (304, tag.clone(), 0));
        assert_eq!(server.ask(&with("\"6-0\"")).await.status, 200, "{path}");
    }
    let next = Setup::example();
    let mut view = next.view;
    view.generation = 8;
    server.snapshot.store(std::sync::Arc::new(crate::expose::Rendered::new(view.into(), next.own)));
    let tag = server.ask(&get("/api/v1/locks")).await.header("etag");
    assert!(tag.starts_with("\"8-"), "{tag}");
}
