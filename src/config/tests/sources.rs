//! What comes from configured sources arrives in the model as it was written.

use super::*;

#[test]
fn sources_of_locks_arrive_with_their_store_and_places() {
    let config = load_file(format!("{FIXTURES}/good/sources.yml")).unwrap();
    let store = &config.stores["main"];
    assert_eq!(store.owner_index.as_deref(), Some("lock:owners"));
    let [orders, jobs, other] = store.locks.as_slice() else { panic!("three locks") };
    let rules = &orders.rules;
    assert_eq!(rules.listed_in.as_deref(), Some("fleet"));
    assert_eq!(rules.workers.iter().map(|w| &**w).collect::<Vec<_>>(), ["orders-1", "orders-2"]);
    let fencing = rules.fencing.as_ref().unwrap();
    let text = |store: &str, key: &str| Source::Redis {
        store: store.into(),
        key: key.into(),
        part: RedisPart::Text,
        json: None,
    };
    assert_eq!(fencing.issued, Some(text("main", "fence:{lock}")));
    let names =
        |list: &[ResourceSource]| list.iter().map(|r| r.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&fencing.accepted), ["db", "disk"]);
    assert_eq!(names(&fencing.rejected), ["db"]);
    assert_eq!(rules.effects.len(), 1);
    assert_eq!(rules.effects[0].total, text("other", "mails"));
    assert!(rules.effects[0].distinct.is_some());
    let rules = &jobs.rules;
    assert_eq!((rules.limit, rules.owner_json.as_deref()), (None, Some("/holder/id")));
    assert_eq!(other.rules.limit, Some(3));
    assert!([orders, jobs, other].iter().all(|l| l.rules.has_index));
    assert_eq!(rules.group, Some(Group { name: "job-*".into(), top: 5 }));
    assert_eq!(other.rules.group, Some(Group { name: "lock:x:*".into(), top: 20 }));
}

#[test]
fn a_lock_over_several_keys_arrives_as_one() {
    let config = load_file(format!("{FIXTURES}/good/keys.yml")).unwrap();
    let [job] = config.stores["main"].locks.as_slice() else { panic!("one lock") };
    let keys = ["0", "1", "2"].map(|i| format!("rueidislock:{i}:job").into_bytes()).into();
    assert_eq!(job.keys, LockKeys::Several { name: "job".into(), keys });
    assert!(job.rules.by_key && job.rules.series == SeriesTier::Full);
}

#[test]
fn lists_and_claims_arrive() {
    let config = load_file(format!("{FIXTURES}/good/sources.yml")).unwrap();
    let [fleet, mails, sidekiq, tasks] = config.live_workers.as_slice() else {
        panic!("four lists")
    };
    let Preset::Members { key, kind: MembersKind::Zset, heartbeat: Some(beat) } = &fleet.preset
    else {
        panic!("{fleet:?}")
    };
    assert_eq!((key.as_str(), &*fleet.store), ("workers", "main"));
    assert_eq!(fleet.refresh, Duration::from_secs(5));
    assert!(
        matches!(&**beat, Source::Redis { store, key, .. } if &**store == "main" && key == "{member}")
    );
    assert_eq!(mails.preset, Preset::BullMq { queue: "mails".into() });
    assert_eq!((&*mails.store, &sidekiq.preset), ("other", &Preset::Sidekiq));
    assert_eq!(sidekiq.refresh, Duration::from_secs(10));
    assert_eq!(tasks.preset, Preset::Celery { channel: Some("/1.celeryev".into()) });
    let claims: Vec<_> = config.workers.iter().map(|w| w.claim.clone()).collect();
    let Some(Source::Redis { json, .. }) = &claims[1] else { panic!("{claims:?}") };
    assert_eq!(json.as_deref(), Some("/locks"));
    assert_eq!(claims[0], Some(Source::File { path: "/run/solo.json".into(), content: true }));
}

/// A worker whose lock's format names it needs no pattern; plain tokens do.
#[test]
fn a_match_needs_something_that_names_holders() {
    let workers = "workers: {w: {match: 'w-.*', heartbeat: {file: '/run/{worker}'}}}";
    let with = |lock: &str, more: &str| {
        let lock = format!("{{name: x, key: x{lock}}}");
        load_text(
            &format!("stores: {{main: {{url: 'redis://h'{more}, locks: [{lock}]}}}}\n{workers}"),
            &[],
        )
    };
    assert!(with("", "").is_ok());
    assert!(with(", format: string", "").is_err());
    assert!(with(", format: string, holder: '(?P<worker>.*)'", "").is_ok());
    assert!(with(", format: string", ", owner_index: {key: o}").is_ok());
}
