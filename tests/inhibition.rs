//! The shipped Alertmanager config, tried on a real Alertmanager: who is told what, and which alert silences which. Each
//! pair stands for a sentence in the config's comments; the ones that must not be silenced matter most.

use std::time::Duration;

use dlock_exporter::clock;

use crate::support::{KeptAlert, Webhook, amtool, for_a_while, repository, shipped};

const CONFIG: &str = "deploy/alertmanager/alertmanager.yml";

fn config() -> String {
    repository(CONFIG).display().to_string()
}

#[test]
fn amtool_accepts_the_config() {
    amtool(&["check-config", &config()]);
}

#[test]
fn every_alert_reaches_who_its_severity_says() {
    let file = format!("--config.file={}", config());
    let goes = |name: &str, severity: &str, receiver: &str| {
        let verify = format!("--verify.receivers={receiver}");
        let (name, severity) = (format!("alertname={name}"), format!("severity={severity}"));
        let words = ["config", "routes", "test", &file, &verify, &name, &severity, "store=main"];
        amtool(&words);
    };
    for (name, severity) in shipped::alert_names() {
        let receiver = match severity.as_str() {
            "critical" => "pager",
            "warning" => "ticket",
            "info" => "nobody",
            other => panic!("{name} has severity {other}, for which there is no route"),
        };
        goes(&name, &severity, receiver);
    }
    goes("DlockOfTheFuture", "unheard-of", "ticket");
    goes("SomethingElse", "critical", "ticket");
}

/// Every alert that the inhibitions name is one that the rules have.
#[test]
fn the_config_names_no_alert_that_is_not_there() {
    let known: Vec<_> = shipped::alert_names().into_iter().map(|(name, _)| name).collect();
    let text = std::fs::read_to_string(config()).unwrap();
    let rules = text.split_once("inhibit_rules:").expect("there are inhibitions").1;
    let words = rules.split(|c: char| !c.is_ascii_alphanumeric());
    let named: Vec<_> = words.filter(|w| w.starts_with("Dlock") && w.len() > 5).collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        assert!(known.iter().any(|k| k == name), "no rule has the alert {name}");
    }
}

/// What fires, and which of it must be silenced by the rest.
struct Case {
    fires: &'static [&'static str],
    silenced: &'static [&'static str],
}

/// `DlockStoreDown critical store=main`: a name, a severity and labels.
const CASES: &[Case] = &[
    // A severity twin of the same thing, and of that only.
    Case {
        fires: &[
            "DlockSkewHigh critical store=main lock=orders",
            "DlockSkewHigh warning store=main lock=orders",
            "DlockSkewHigh warning store=main lock=payments",
            "DlockSkewHigh warning store=other lock=orders",
            "DlockFlagged critical store=main signal=renewal_after_lost_liveness",
            "DlockFlagged warning store=main signal=replica_diverged",
            "DlockStoreDown critical store=other addr=a:1",
            "DlockStoreDown warning store=other addr=a:1",
            "DlockStoreDown warning store=other addr=a:2",
        ],
        silenced: &[
            "DlockSkewHigh warning store=main lock=orders",
            // Its store is down.
            "DlockSkewHigh warning store=other lock=orders",
            "DlockStoreDown warning store=other addr=a:1",
        ],
    },
    // A store that is down: warnings about its locks, never what is critical, nor anything of another store.
    Case {
        fires: &[
            "DlockStoreDown critical store=main addr=a:1",
            "DlockRenewalAfterLostLiveness critical store=main lock=orders",
            "DlockHolderStale critical store=main lock=payments",
            "DlockExpiredUnderHolder critical store=main lock=jobs",
            "DlockLocksLost critical store=main evidence=failover",
            "DlockFlagged critical store=main signal=renewal_after_lost_liveness",
            "DlockStoreTwoPrimaries critical store=main",
            "DlockLeaseWithoutTtl warning store=main lock=cron",
            "DlockLeaseShorterThanStall warning store=main lock=cron",
            "DlockHolderMemoryPressure warning store=main lock=cron worker=cron-1",
            "DlockStoreReplicaLinkDown warning store=main addr=a:2",
            "DlockCoverageLost warning store=main aspect=lease",
            "DlockStoreEvictsLocks warning store=main addr=a:1",
            "DlockHolderOomKilled warning worker=cron-1",
            "DlockLeaseWithoutTtl warning store=other lock=cron",
        ],
        silenced: &[
            "DlockLeaseWithoutTtl warning store=main lock=cron",
            "DlockLeaseShorterThanStall warning store=main lock=cron",
            "DlockHolderMemoryPressure warning store=main lock=cron worker=cron-1",
            "DlockStoreReplicaLinkDown warning store=main addr=a:2",
            "DlockCoverageLost warning store=main aspect=lease",
        ],
    },
    // A replica that is down is a warning and silences nothing.
    Case {
        fires: &[
            "DlockStoreDown warning store=main addr=a:2",
            "DlockRenewalOverdue warning store=main lock=orders",
            "DlockStoreReplicaLinkDown warning store=main addr=a:3",
        ],
        silenced: &[],
    },
    // Nobody watches the store.
    Case {
        fires: &[
            "DlockStoreUnwatched critical store=main",
            "DlockRenewalAfterLostLiveness critical store=main lock=orders",
            "DlockLeaseShorterThanStall warning store=main lock=cron",
            "DlockCoverageLost warning store=main aspect=lease",
            "DlockExporterDown warning job=dlock instance=a",
        ],
        silenced: &[
            "DlockLeaseShorterThanStall warning store=main lock=cron",
            "DlockCoverageLost warning store=main aspect=lease",
        ],
    },
    // No exporter at all, and what was there before it went.
    Case {
        fires: &[
            "DlockExporterAbsent critical",
            "DlockStoreUnwatched critical store=main",
            "DlockHolderUnobserved critical store=main lock=orders",
            "DlockExporterDown warning job=dlock instance=a",
            "DlockRenewalAfterLostLiveness critical store=main lock=orders",
            "DlockHolderStale critical store=main lock=payments",
        ],
        silenced: &[
            "DlockStoreUnwatched critical store=main",
            "DlockHolderUnobserved critical store=main lock=orders",
            "DlockExporterDown warning job=dlock instance=a",
        ],
    },
    // What says more of one lock, and nothing of another lock or store.
    Case {
        fires: &[
            "DlockRenewalAfterLostLiveness critical store=main lock=orders",
            "DlockHolderStale critical store=main lock=orders",
            "DlockHolderReplaced warning store=main lock=orders",
            "DlockRenewalOverdue warning store=main lock=orders",
            "DlockHeldTooLong warning store=main lock=orders",
            "DlockLeaseWithoutTtl warning store=main lock=orders",
            "DlockHolderStale critical store=main lock=payments",
            "DlockRenewalOverdue warning store=main lock=payments",
            "DlockRenewalOverdue warning store=main lock=jobs",
            "DlockHolderStale critical store=other lock=orders",
            "DlockHolderCgroupFrozen warning store=main lock=orders worker=orders-1",
        ],
        silenced: &[
            "DlockHolderStale critical store=main lock=orders",
            "DlockHolderReplaced warning store=main lock=orders",
            "DlockRenewalOverdue warning store=main lock=orders",
            "DlockHeldTooLong warning store=main lock=orders",
            "DlockRenewalOverdue warning store=main lock=payments",
        ],
    },
    Case {
        fires: &[
            "DlockExpiredUnderHolder critical store=main lock=orders",
            "DlockRenewalOverdue warning store=main lock=orders",
            "DlockLeaseMarginThin warning store=main lock=orders",
            "DlockLeaseShorterThanStall warning store=main lock=orders",
            "DlockLeaseMayBeShorterThanStall info store=main lock=orders",
            "DlockLeaseMayBeShorterThanStall info store=main lock=payments",
            "DlockStoreTwoPrimaries critical store=other",
            "DlockReplicaDiverged warning store=other lock=orders",
            "DlockReplicaDiverged warning store=main lock=orders",
            "DlockHolderOomKilled warning worker=orders-1",
            "DlockHolderRestarting info worker=orders-1",
            "DlockHolderMemoryPressure warning store=main lock=orders worker=orders-1",
            "DlockHolderMemoryPressure warning store=main lock=orders worker=orders-2",
        ],
        silenced: &[
            "DlockRenewalOverdue warning store=main lock=orders",
            "DlockLeaseMarginThin warning store=main lock=orders",
            "DlockLeaseMayBeShorterThanStall info store=main lock=orders",
            "DlockReplicaDiverged warning store=other lock=orders",
            "DlockHolderRestarting info worker=orders-1",
            "DlockHolderMemoryPressure warning store=main lock=orders worker=orders-1",
        ],
    },
    Case {
        fires: &[
            "DlockLeaseLapsesInUse warning store=main lock=orders",
            "DlockLeaseMarginThin warning store=main lock=orders",
            "DlockLeaseMarginThin warning store=main lock=payments",
            "DlockLeaseShorterThanStall warning store=main lock=orders",
            "DlockHoldCountCreep warning store=main lock=jobs",
            "DlockHeldTooLong warning store=main lock=jobs",
            "DlockHeldTooLong warning store=other lock=jobs",
            "DlockLeaseAbsurd warning store=main lock=jobs",
            "DlockHolderUnexpected warning store=main lock=jobs",
            "DlockShapeUnexpected warning store=main lock=jobs",
        ],
        silenced: &[
            "DlockLeaseMarginThin warning store=main lock=orders",
            "DlockHeldTooLong warning store=main lock=jobs",
        ],
    },
    // A lease that ran out under its holder pages; that its leases do so again and again is another matter.
    Case {
        fires: &[
            "DlockExpiredUnderHolder critical store=main lock=orders",
            "DlockLeaseLapsesInUse warning store=main lock=orders",
        ],
        silenced: &[],
    },
];

/// Cases do not meet each other, as each has a `cluster` of its own: that label keeps Prometheus servers apart too.
#[test]
fn alerts_silence_what_says_less_and_nothing_else() {
    let webhook = Webhook::start();
    let manager = shipped::alertmanager(&webhook, 1);
    let mut wanted = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        for alert in case.fires {
            let mut words = alert.split(' ');
            let mut labels = vec![
                format!("alertname={}", words.next().expect("a name")),
                format!("severity={}", words.next().expect("a severity")),
                format!("cluster=case-{number}"),
            ];
            labels.extend(words.map(str::to_owned));
            let words: Vec<_> = labels.iter().map(String::as_str).collect();
            manager.add(&words);
            labels.sort();
            wanted.push((labels, case.silenced.contains(alert), *alert));
        }
        assert!(case.silenced.iter().all(|s| case.fires.contains(s)), "a typing error in {number}");
    }
    let seen = || {
        let mut different = Vec::new();
        let alerts = manager.alerts();
        for (labels, silenced, text) in &wanted {
            let same = |a: &&KeptAlert| {
                let own: Vec<_> = a.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
                own == *labels
            };
            match alerts.iter().find(same) {
                Some(alert) if (alert.inhibited_by > 0) == *silenced => {}
                Some(alert) => different.push(format!("{text}: {alert:?}")),
                None => different.push(format!("{text}: not there")),
            }
        }
        different
    };
    // Alertmanager shows an alert's state as of its last look.
    let begun = clock::mono();
    let mut different = seen();
    while !different.is_empty() && clock::mono().since(begun) < Duration::from_secs(10) {
        for_a_while(Duration::from_millis(100));
        different = seen();
    }
    assert!(different.is_empty(), "not as the config's comments say:\n{}", different.join("\n"));
}
