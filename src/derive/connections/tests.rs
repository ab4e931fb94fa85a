//! Which process is behind which connection.

use std::collections::BTreeSet;

use super::*;
use crate::observe::socket::{OpenSocket, UnixLink};
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

const PATH: &str = "/run/redis.sock";

/// A client through the socket, by the server's descriptor.
fn through(descriptor: u32, age: u64) -> Client {
    let addr = format!("{PATH}:0");
    let client = client(u64::from(descriptor), &addr, &addr, age, 0, "get");
    Client { descriptor: Some(descriptor), ..client }
}

/// The server's pids and its descriptor, and the pids of the other end.
type Through<'a> = (&'a [i32], u32, &'a [i32]);

/// A look that shows these connections through the socket.
fn looked_through(seconds: f64, links: &[Through<'_>]) -> SocketsRead {
    let link = |(servers, number, pids): &Through<'_>| UnixLink {
        server: servers.iter().map(|pid| (*pid, *number)).collect(),
        pids: pids.iter().copied().collect(),
    };
    let unix = [(PATH.into(), links.iter().map(link).collect())];
    let seen = Sockets { own: Some(1), unix: Some(unix.into()), ..Sockets::default() };
    SocketsRead { span: span(seconds), seen: Ok(seen.into()) }
}

fn on_the_socket(seconds: f64, clients: Vec<Client>) -> ClientsRead {
    let mut list = listed(seconds, clients);
    list.node.addr = PATH.into();
    list
}

fn origins_through(list: &ClientsRead, sockets: &SocketsRead) -> Vec<Origin> {
    let joined = Connections::of(list, Some(sockets)).unwrap();
    joined.list.iter().map(|c| c.origin.clone()).collect()
}

#[test]
fn clients_through_a_socket_are_told_by_the_descriptor() {
    let all: &[Through<'_>] = &[
        // The server's child has what was connected when it began.
        (&[9, 10], 8, &[1]),
        (&[9, 10], 11, &[20]),
        (&[9], 12, &[21, 22]),
        (&[9], 13, &[]),
        // Another server with the same path in a container.
        (&[99], 11, &[30]),
        (&[99], 14, &[31]),
    ];
    let clients = vec![
        through(8, 60),
        through(11, 60),
        through(12, 60),
        through(13, 60),
        through(14, 60),
        through(11, 0),
        Client { descriptor: None, ..through(15, 60) },
    ];
    let list = on_the_socket(100.0, clients.clone());
    let unknown = Origin::Unknown;
    let want = [
        Origin::Own,
        here(&[20]),
        here(&[21, 22]),
        Origin::Hidden,
        unknown.clone(),
        unknown.clone(),
        unknown.clone(),
    ];
    let before = looked_through(99.0, all);
    assert_eq!(origins_through(&list, &before), want);
    // A descriptor may be another connection's by the time of a later look.
    let later = looked_through(101.0, &[(&[9], 8, &[1]), (&[9], 11, &[21])]);
    assert!(origins_through(&list, &later).iter().all(|o| *o == unknown));
    let joined = Connections::of(&list, Some(&before)).unwrap().again(&list, &later).unwrap();
    assert_eq!(joined.list.iter().map(|c| c.origin.clone()).collect::<Vec<_>>(), want);
    // A store that is elsewhere, with a socket of that path over there.
    assert_eq!(origins(clients, &before), vec![unknown; 7]);
}

#[test]
fn where_the_servers_descriptors_may_not_be_read() {
    let list = on_the_socket(100.0, vec![through(8, 60), through(11, 60)]);
    let none = looked_through(99.0, &[(&[], 0, &[1]), (&[], 0, &[])]);
    assert_eq!(origins_through(&list, &none), [Origin::Hidden, Origin::Hidden]);
    // One of them may be seen, and nothing says which it is; or one is not among those that are seen.
    let seen: [&[Through<'_>]; 2] = [&[(&[], 0, &[1]), (&[], 0, &[20])], &[(&[], 0, &[1])]];
    for links in seen {
        let some = looked_through(99.0, links);
        assert_eq!(origins_through(&list, &some), [Origin::Unknown, Origin::Unknown]);
    }
}

#[test]
fn clients_over_tcp_of_a_server_that_is_reached_through_its_socket() {
    let clients = || vec![through(8, 60), client(2, "127.0.0.1:50002", HERE, 60, 0, "get")];
    let list = on_the_socket(100.0, clients());
    let with = |servers: &[i32]| {
        let tcp = [("127.0.0.1:50002", HERE, 1, &[20][..]), (HERE, "127.0.0.1:50002", 1, servers)];
        let mut read = looked(99.0, &tcp);
        let through = looked_through(99.0, &[(servers, 8, &[1])]);
        let mut seen = read.seen.as_deref().unwrap().clone();
        seen.unix = through.seen.unwrap().unix.clone();
        read.seen = Ok(seen.into());
        origins_through(&list, &read)
    };
    assert_eq!(with(&[9]), [Origin::Own, here(&[20])]);
    assert_eq!(with(&[])[1], Origin::Unknown);
}
