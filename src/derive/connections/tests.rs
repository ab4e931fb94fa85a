//! Which process is behind which connection.

use std::collections::BTreeSet;

use super::*;
use crate::observe::socket::OpenSocket;
use crate::observe::{Line, NodeRef, StoreId};

fn at(seconds: f64) -> Mono {
    Mono::from_secs_f64(seconds)
}

fn span(seconds: f64) -> Span {
    Span { sent: at(seconds), done: at(seconds) }
}

/// A connection of so many seconds.
pub fn client(id: u64, addr: &str, to: &str, age: u64, idle: u64, command: &str) -> Client {
    Client {
        id,
        addr: addr.into(),
        to: to.into(),
        age,
        idle,
        command: command.into(),
        ..Client::default()
    }
}

/// The list of a server's clients as of then.
pub fn listed(seconds: f64, clients: Vec<Client>) -> ClientsRead {
    ClientsRead {
        node: NodeRef { store: StoreId(1), line: Line::default(), addr: "a:1".into() },
        span: span(seconds),
        seen: Ok(clients.into()),
    }
}

/// Sockets as (near, far, namespace, pids); the exporter is pid 1.
pub fn looked(seconds: f64, sockets: &[(&str, &str, u64, &[i32])]) -> SocketsRead {
    let mut seen = Sockets { own: Some(1), ..Sockets::default() };
    for (near, far, namespace, pids) in sockets {
        let ends = (near.parse().unwrap(), far.parse().unwrap());
        let pids: BTreeSet<i32> = pids.iter().copied().collect();
        for pid in &pids {
            let comm = format!("p{pid}").into();
            let user = SocketUser { start_ticks: 7, comm, is_hidden: false };
            seen.processes.insert(*pid, user);
        }
        seen.tcp.entry(ends).or_default().push(OpenSocket { namespace: *namespace, pids });
    }
    SocketsRead { span: span(seconds), seen: Ok(seen.into()) }
}

const HERE: &str = "127.0.0.1:6379";
const THERE: &str = "10.0.0.5:6379";

fn origins(clients: Vec<Client>, sockets: &SocketsRead) -> Vec<Origin> {
    let joined = Connections::of(&listed(100.0, clients), Some(sockets)).unwrap();
    joined.list.iter().map(|c| c.origin.clone()).collect()
}

fn here(pids: &[i32]) -> Origin {
    Origin::Here(pids.iter().copied().collect())
}

#[test]
fn a_server_on_this_host() {
    let sockets = looked(
        99.0,
        &[
            ("127.0.0.1:50001", HERE, 1, &[1]),
            (HERE, "127.0.0.1:50001", 1, &[9]),
            ("127.0.0.1:50002", HERE, 1, &[20, 21]),
            ("127.0.0.1:50003", HERE, 1, &[]),
            // The same two ends in another namespace, where another server is.
            ("127.0.0.1:50004", HERE, 2, &[30]),
            ("127.0.0.1:50002", HERE, 2, &[31]),
        ],
    );
    let of =
        |port: u32, age| client(u64::from(port), &format!("127.0.0.1:{port}"), HERE, age, 0, "get");
    let clients = vec![of(50001, 60), of(50002, 60), of(50003, 60), of(50004, 60), of(50005, 0)];
    assert_eq!(
        origins(clients, &sockets),
        [Origin::Own, here(&[20, 21]), Origin::Hidden, Origin::Elsewhere, Origin::Unknown]
    );
}

#[test]
fn a_server_elsewhere_has_loopback_clients_of_its_own() {
    let sockets = looked(
        99.0,
        &[
            ("10.0.0.1:50001", THERE, 1, &[1]),
            ("10.0.0.1:50002", THERE, 1, &[20]),
            // A server of this host, with a client that has the same address as one over there.
            ("127.0.0.1:50003", HERE, 1, &[30]),
            (HERE, "127.0.0.1:50003", 1, &[9]),
            ("172.17.0.5:50004", "172.17.0.2:6379", 2, &[31]),
            ("172.17.0.2:6379", "172.17.0.5:50004", 3, &[9]),
        ],
    );
    let clients = vec![
        client(1, "10.0.0.1:50001", THERE, 60, 0, "get"),
        client(2, "10.0.0.1:50002", THERE, 60, 0, "get"),
        client(3, "127.0.0.1:50003", HERE, 60, 0, "get"),
        client(4, "172.17.0.5:50004", "172.17.0.2:6379", 60, 0, "get"),
        client(5, "10.0.0.9:50001", THERE, 60, 0, "get"),
        client(6, "?:0", THERE, 60, 0, "get"),
    ];
    let other = Origin::Elsewhere;
    assert_eq!(
        origins(clients, &sockets),
        [Origin::Own, here(&[20]), other.clone(), other.clone(), other.clone(), other]
    );
}

#[test]
fn an_address_that_was_translated_on_its_way() {
    let sockets = looked(
        99.0,
        &[
            ("10.1.0.7:50001", "10.96.0.1:6379", 2, &[20]),
            ("10.1.0.8:50001", "10.96.0.1:6379", 3, &[21]),
            ("10.1.0.8:50001", "10.96.0.2:80", 3, &[22]),
        ],
    );
    let clients = vec![
        client(1, "10.1.0.7:50001", THERE, 60, 0, "get"),
        client(2, "10.1.0.8:50001", THERE, 60, 0, "get"),
    ];
    assert_eq!(origins(clients, &sockets), [here(&[20]), Origin::Unknown]);
}

#[test]
fn without_a_look_nothing_is_known() {
    let list = listed(100.0, vec![client(1, "10.0.0.1:50001", THERE, 60, 0, "get")]);
    assert_eq!(Connections::of(&list, None).unwrap().list[0].origin, Origin::Unknown);
    let failed = SocketsRead { span: span(99.0), seen: Err("no".to_owned()) };
    assert_eq!(Connections::of(&list, Some(&failed)).unwrap().list[0].origin, Origin::Unknown);
}
