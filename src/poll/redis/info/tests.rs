use proptest::prelude::*;

use super::*;
use crate::observe::{Mono, StoreId};

fn origin() -> Origin {
    Origin {
        node: NodeRef { store: StoreId(1), line: Default::default(), addr: "h:1".into() },
        connection: 3,
        span: Span { sent: Mono(1), done: Mono(2) },
        time: Some(ServerTime(9)),
        db: 0,
    }
}

const REDIS_62_REPLICA: &str = "# Server\r\nredis_version:6.2.5\r\nredis_mode:standalone\r\nrun_id:aa\r\n\r\n\
# Replication\r\nrole:slave\r\nmaster_host:10.0.0.5\r\nmaster_port:6379\r\nmaster_link_status:down\r\n\
master_last_io_seconds_ago:-1\r\nslave_repl_offset:1400\r\nslave_priority:100\r\nconnected_slaves:0\r\n\
master_replid:cc\r\nmaster_replid2:0000000000000000000000000000000000000000\r\nmaster_repl_offset:1399\r\n\
second_repl_offset:-1\r\n";

const REDIS_70_PRIMARY: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n\
run_id:72cb8f67a7fb0256476df29a6538e69786b35be4\r\n\r\n# Memory\r\nmaxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\n\
\r\n# Persistence\r\nloading:0\r\nasync_loading:0\r\naof_enabled:1\r\nrdb_last_load_keys_loaded:7\r\n\r\n# Stats\r\ntotal_connections_received:6\r\n\
rejected_connections:2\r\nexpired_keys:12\r\nevicted_keys:5\r\n\r\n# Replication\r\nrole:master\r\nconnected_slaves:3\r\n\
slave0:ip=10.0.0.6,port=6380,state=online,offset=1316,lag=1\r\nslave1:ip=fd00::7,port=6381,state=online,offset=x,lag=1\r\n\
slave2:ip=10.0.0.8,port=0,state=wait_bgsave,offset=0,lag=0\r\n\
master_replid:61b0\r\nmaster_replid2:99ff\r\nmaster_repl_offset:1330\r\nsecond_repl_offset:1200\r\n\r\n# Commandstats\r\n\
cmdstat_info:calls=6,usec=122,usec_per_call=20.33,rejected_calls=0,failed_calls=0\r\n\
cmdstat_exec:calls=7,usec=350,usec_per_call=50.00,rejected_calls=0,failed_calls=0\r\n\
cmdstat_flushall:calls=2,usec=12,usec_per_call=12.00,rejected_calls=0,failed_calls=0\r\n\
cmdstat_swapdb:calls=1,usec=12,usec_per_call=12.00,rejected_calls=0,failed_calls=0\r\n";

const VALKEY_91: &str = "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n\
valkey_release_stage:ga\r\nserver_mode:cluster\r\nredis_mode:cluster\r\nrun_id:dd\r\n# Replication\r\nrole:master\r\n\
connected_slaves:1\r\nreplicas_waiting_psync:0\r\nslave0:ip=127.0.0.1,port=7001,state=online,offset=10,lag=0,type=replica\r\n\
master_repl_offset:14\r\n# Commandstats\r\n";

#[test]
fn redis_62_replica_without_link() {
    let f = facts(REDIS_62_REPLICA, origin());
    assert_eq!((f.version.as_str(), f.flavor.as_str()), ("6.2.5", "redis"));
    assert_eq!(f.role, Role::Replica { linked: false });
    assert_eq!(f.primary.as_deref(), Some("10.0.0.5:6379"));
    assert_eq!((f.offset, f.second_offset, f.replid2), (Some(1400), None, None));
    assert_eq!(f.flushes, None, "commandstats were not asked for");
    assert_eq!((f.connection, f.time), (3, Some(ServerTime(9))));
}

#[test]
fn what_transactions_took() {
    assert_eq!(execs(REDIS_70_PRIMARY), Some(Execs { calls: 7, micros: 350 }));
    assert_eq!(execs("cmdstat_exec:calls=7,usec=-1\r\n"), None);
    assert_eq!(execs(VALKEY_91), None);
}

#[test]
fn redis_70_primary() {
    let f = facts(REDIS_70_PRIMARY, origin());
    assert_eq!(f.role, Role::Master);
    assert_eq!(f.run_id.as_deref(), Some("72cb8f67a7fb0256476df29a6538e69786b35be4"));
    assert_eq!(
        f.replicas,
        [("10.0.0.6:6380".to_owned(), Some(1316)), ("[fd00::7]:6381".to_owned(), None)]
    );
    assert_eq!(
        (f.connected_replicas, f.offset, f.second_offset),
        (Some(3), Some(1330), Some(1200))
    );
    assert_eq!((f.replid.as_deref(), f.replid2.as_deref()), (Some("61b0"), Some("99ff")));
    assert_eq!((f.aof, f.maxmemory), (Some(true), Some(1 << 20)));
    assert_eq!(f.loaded_keys, Some(7));
    assert_eq!(f.maxmemory_policy.as_deref(), Some("allkeys-lru"));
    assert_eq!((f.evicted_keys, f.expired_keys), (Some(5), Some(12)));
    assert_eq!((f.connections_received, f.rejected_connections), (Some(6), Some(2)));
    assert_eq!(
        (f.flushes, f.has_other_databases),
        (Some(Flushes { all: 2, one: 1, swaps: 1 }), None)
    );
    assert_eq!(f.primary, None);
}

#[test]
fn redis_82_and_valkey() {
    let f = facts(VALKEY_91, origin());
    assert_eq!(
        (f.version.as_str(), f.flavor.as_str(), f.mode.as_str()),
        ("9.1.2", "valkey", "cluster")
    );
    assert_eq!((f.replicas.len(), f.flushes), (1, Some(Flushes::default())));
    let redis8 = "# Server\r\nredis_version:8.2.3\r\nredis_mode:sentinel\r\nrole:master\r\n";
    let f = facts(redis8, origin());
    assert_eq!((f.version.as_str(), f.role), ("8.2.3", Role::Sentinel));
}

#[test]
fn other_databases_are_those_that_are_not_ours() {
    let others = |text: &str, db| facts(text, Origin { db, ..origin() }).has_other_databases;
    assert_eq!(others("# Keyspace\r\n", 0), Some(false));
    let one = "# Keyspace\r\ndb3:keys=1,expires=0,avg_ttl=0,subexpiry=0\r\n";
    assert_eq!((others(one, 3), others(one, 0)), (Some(false), Some(true)));
    assert_eq!(others("# Stats\r\n", 0), None);
}

#[test]
fn loading_is_told() {
    assert!(is_loading("loading:1\r\nasync_loading:0\r\n"));
    assert!(!is_loading("loading:1\r\nasync_loading:1\r\n"));
    assert!(!is_loading(REDIS_70_PRIMARY));
}

proptest! {
    #[test]
    fn any_text_is_read(lines in proptest::collection::vec("(slave[0-9]|role|run_id|maxmemory|cmdstat_flushall|.{0,9})[:=,]{0,2}.{0,30}", 0..20)) {
        let f = facts(&lines.join("\n"), origin());
        prop_assert!(f.version.chars().count() <= MAX_WORD);
    }
}
