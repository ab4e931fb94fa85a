//! Evidence and incidents over HTTP.

use std::time::Duration;

use super::api::examples;
use super::support::{Setup, get};
use crate::evidence::{Incidents, Recorder};
use crate::expose::SelfFacts;
use crate::expose::example;

/// What the example's signals that ever rose are recorded as, in memory.
fn recorded() -> Incidents {
    let (mut recorder, incidents, finished) = Recorder::start().unwrap();
    let own = SelfFacts::new(Duration::from_secs(2), 0.0);
    recorder.record(&example::shared(), &own, |_| panic!("no token is asked for"));
    drop(recorder);
    assert!(finished.wait(Duration::from_secs(30)));
    incidents
}

#[tokio::test]
async fn incidents_are_listed_and_read_by_their_id() {
    let server = Setup { incidents: recorded(), ..Setup::example() }.start().await;
    let all = server.ask(&get("/api/v1/incidents")).await.json();
    let count = all["incidents"].as_array().unwrap().len();
    assert!(count > 1 && all["incidents_kept"] == count && all["kept_in"] == "memory", "{all}");
    let ids: Vec<&str> =
        all["incidents"].as_array().unwrap().iter().map(|i| i["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a > b), "the newest first: {ids:?}");
    for id in &ids {
        let answer = server.ask(&get(&format!("/api/v1/incidents/{id}"))).await;
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.json()["id"], **id);
    }
    let second = server.ask(&get("/api/v1/incidents?offset=1&limit=1")).await.json();
    assert_eq!(second["incidents"], serde_json::json!([all["incidents"][1]]));
    let mut of_locks = 0;
    for lock in ["orders", "%6frders", "nightly", "nothing", ""] {
        let path = format!("/api/v1/incidents?lock={lock}&store=main");
        let some = server.ask(&get(&path)).await.json();
        let name = lock.replace("%6f", "o");
        let expected = all["incidents"].as_array().unwrap().iter();
        let expected: Vec<_> = expected.filter(|i| i["lock"] == *name).collect();
        assert_eq!(some["incidents"], serde_json::json!(expected), "{path}");
        assert_eq!(
            (&some["total"], &some["incidents_kept"]),
            (&expected.len().into(), &count.into())
        );
        of_locks += expected.len();
    }
    assert!(of_locks > 0);
    let other = server.ask(&get("/api/v1/incidents?store=nothing")).await.json();
    assert_eq!((&other["total"], &other["incidents"]), (&0.into(), &serde_json::json!([])));
    assert_eq!(server.ask(&get("/api/v1/incidents?limit=x")).await.status, 400);
    for wrong in
        ["x", "..", "%2e%2e%2fetc%2fpasswd", "..%2f..", &ids[0].replace('-', "%2d%00"), "%ff"]
    {
        let answer = server.ask(&get(&format!("/api/v1/incidents/{wrong}"))).await;
        assert!(matches!(answer.status, 400 | 404), "{wrong}: {}", answer.status);
    }
}

#[tokio::test]
async fn evidence_of_now_is_there_before_anything_rose() {
    let server = Setup::example().start().await;
    let answer = server.ask(&get("/api/v1/locks/main/orders/evidence")).await;
    assert!(answer.text().starts_with("{\n  \"summary\": \"lock orders of store main was held"));
    let document = answer.json();
    let lock = &server.ask(&get("/api/v1/locks/main/orders")).await.json()["lock"];
    assert_eq!(document["lock"], *lock, "the lock is as in its own document");
    assert!(document["id"].is_null() && document["rise"].is_null());
    assert!(document["raw_tokens"].is_null());
    assert_eq!(document["workers"][0]["name"], "orders-1");
    assert_eq!(document["server_clocks"][0]["store"], "main");
    let none = server.ask(&get("/api/v1/locks/main/nothing/evidence")).await;
    assert_eq!((none.status, none.json()["error"].is_string()), (404, true));
    let empty = server.ask(&get("/api/v1/incidents")).await.json();
    assert_eq!((&empty["incidents_kept"], &empty["keep"]), (&0.into(), &50.into()));
}

#[tokio::test]
async fn the_examples_of_the_documents_are_what_is_answered() {
    let server = Setup { incidents: recorded(), ..Setup::example() }.start().await;
    let examples = examples("Evidence and incidents");
    let [incident, evidence] = examples.as_slice() else { panic!("{examples:?}") };
    let all = server.ask(&get("/api/v1/incidents?store=main&lock=orders")).await.json();
    // Digits that no other incident has end the id, and a version's length is in the size.
    let known = |incident: &serde_json::Value| {
        let mut incident = incident.clone();
        let id = incident["id"].as_str().unwrap().to_owned();
        let size = incident["bytes"].take();
        assert!(size.as_u64().is_some_and(|n| n > 1000), "{size}");
        incident["id"] = id[..id.len() - 8].into();
        incident
    };
    let found: Vec<_> = all["incidents"].as_array().unwrap().iter().map(known).collect();
    assert!(found.contains(&known(incident)), "{all:#}");
    let answer = server.ask(&get("/api/v1/locks/main/orders/evidence")).await.json();
    for (field, shown) in evidence.as_object().unwrap() {
        let mut answer = answer[field].clone();
        if let (Some(shown), Some(answer)) = (shown.as_array(), answer.as_array_mut()) {
            answer.truncate(shown.len());
        }
        assert_eq!(answer, *shown, "{field}: {answer:#}");
    }
}
