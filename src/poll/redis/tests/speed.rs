//! A sweep against a bare socket that sends the same bytes. Run with `--release -- --ignored --nocapture`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::support::*;
use crate::clock;
use crate::observe::StoreId;
use crate::poll::redis::ability::Abilities;
use crate::poll::redis::batch::{BATCH, Dialect};
use crate::poll::redis::codec::Scanner;
use crate::poll::redis::groups::pack;
use crate::poll::redis::handshake;
use crate::poll::redis::keys::Keys;
use crate::poll::redis::sweep::Sweeper;

#[test]
#[ignore = "a measurement; needs --release"]
fn a_sweep_costs_little_more_than_its_bytes() {
    let server = Server::start(&[]);
    let locks: Vec<_> = (0..10_000).map(|i| one(format!("lock:orders:shard:{i:05}"))).collect();
    let mut pipe = redis::pipe();
    for i in 0..10_000 {
        let token = format!("worker-{i:05}-abcdefghijklmnopq");
        pipe.cmd("SET").arg(format!("lock:orders:shard:{i:05}")).arg(token).arg("EX").arg(1000);
    }
    pipe.exec(&mut server.client()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = std::sync::Arc::new(store(server.port, locks));
        let mut abilities = Abilities::default();
        let (mut conn, _) =
            handshake::connect(&store, &store.url.addr, &mut abilities).await.unwrap();
        let (keys, _) = Keys::new(StoreId(0), &store.locks);
        let node = crate::observe::NodeRef { store: StoreId(0), addr: "a".into() };
        let mut sweeper = Sweeper::new(node, Duration::MAX);
        let dialect = Dialect { absolute: true, role: true };
        sweeper.connected(1, dialect, BATCH);
        sweeper.sync(&keys.list());
        while sweeper.has_untyped() {
            sweeper.type_some(&mut conn, &mut abilities, false).await.unwrap();
        }
        let mut raw = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        raw.set_nodelay(true).unwrap();
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            let begun = clock::mono();
            let mut seen = 0;
            for batch in sweeper.plan() {
                let reads = sweeper.run(&mut conn, &mut abilities, batch).await.unwrap();
                seen += reads.iter().map(|r| r.reads.len()).sum::<usize>();
            }
            ours.push(clock::mono().since(begun).as_secs_f64());
            assert_eq!(seen, 10_000);
            let requests: Vec<_> = sweeper
                .plan()
                .into_iter()
                .map(|(f, i)| pack(f, dialect, sweeper.groups.members(f, i), &sweeper.slots))
                .collect();
            let begun = clock::mono();
            let mut buf = vec![0; 1 << 16];
            for packed in &requests {
                raw.write_all(&packed.bytes).unwrap();
                let (mut len, mut done, mut scanner) = (0, 0, Scanner::at(0));
                while done < packed.replies {
                    match scanner.advance(&buf[..len]).unwrap() {
                        Some(end) => {
                            done += 1;
                            scanner = Scanner::at(end);
                        }
                        None => len += raw.read(&mut buf[len..]).unwrap(),
                    }
                }
            }
            bare.push(clock::mono().since(begun).as_secs_f64());
        }
        ours.sort_by(f64::total_cmp);
        bare.sort_by(f64::total_cmp);
        let (ours, bare) = (ours[20] * 1e3, bare[20] * 1e3);
        println!("sweep {ours:.1} ms, bare socket {bare:.1} ms, ratio {:.2}", ours / bare);
        assert!(ours / bare < 1.3);
    });
}
