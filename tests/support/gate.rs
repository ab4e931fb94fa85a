//! A gate before a server, TCP or UDP, that lets everything through or misbehaves: nobody there, nobody listening, silence,
//! slowness, nonsense, answers without end. It keeps its port whatever it does. It does not look into what passes, so that
//! it can stand before any server, and its nonsense is the same for all.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// Everything passes.
    Pass,
    /// Connections are refused, those that were there are closed.
    Refuse,
    /// Nobody answers at this address at all.
    Nobody,
    /// It listens, and says nothing.
    Mute,
    /// What the server says comes that much later.
    Slow(Duration),
    /// What the server says is nonsense.
    Garbage,
    /// What the server says begins like this and goes on without end.
    Huge(&'static [u8]),
}

/// One thread for all of them.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().expect("a thread can be started")
});

const NONSENSE: &[u8] = b"\x16\x03\x01\0\xff nonsense\r\n\0\0\x80\x81 42 \r\n\r\n";

/// A running one.
pub struct Gate {
    address: SocketAddr,
    way: watch::Sender<Way>,
    server: Arc<watch::Sender<Option<SocketAddr>>>,
    task: JoinHandle<()>,
}

impl Gate {
    /// On a free TCP port; it leads nowhere yet.
    pub fn start() -> Self {
        Self::with(own_port(), |address, way, server| Box::pin(serve(address, way, server)))
    }

    /// The same for datagrams.
    pub fn udp() -> Self {
        Self::with(super::free_udp_port(), |address, way, server| {
            Box::pin(relay(address, way, server))
        })
    }

    fn with(
        port: u16,
        run: impl FnOnce(SocketAddr, watch::Receiver<Way>, Server) -> Pinned,
    ) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let (way, seen) = watch::channel(Way::Pass);
        let server = Arc::new(watch::channel(None).0);
        let task = RUNTIME.spawn(run(address, seen, Arc::clone(&server)));
        Self { address, way, server, task }
    }

    /// Lets everything through to this server.
    pub fn lead_to(&self, server: SocketAddr) {
        self.server.send_replace(Some(server));
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it does from now on.
    pub fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Server = Arc<watch::Sender<Option<SocketAddr>>>;
type Pinned = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// A port that nobody is given while the gate is between two listeners: below those that kernels choose.
fn own_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() as u16 % 10_000;
    let free = |port: &u16| std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let ports = (0..10_000)
        .map(|_| 20_000 + first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 10_000);
    ports.into_iter().find(free).expect("one of ten thousand ports is free")
}

fn socket(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("an option of a socket");
    socket.bind(address).unwrap_or_else(|e| panic!("the gate's own port {address}: {e}"));
    socket
}

async fn serve(address: SocketAddr, mut way: watch::Receiver<Way>, server: Server) {
    loop {
        let now = *way.borrow_and_update();
        match now {
            // A port that is bound is nobody else's, and refuses.
            Way::Refuse => {
                let _kept = socket(address);
                let _ = way.changed().await;
            }
            Way::Nobody => {
                // A queue that is full: the kernel drops whoever knocks.
                let _kept = socket(address).listen(0).expect("a socket that listens");
                let knocks = (0..3).map(|_| tokio::spawn(TcpStream::connect(address)));
                let knocks: Vec<_> = knocks.collect();
                let _ = way.changed().await;
                knocks.into_iter().for_each(|knock| knock.abort());
            }
            _ => {
                let listener = socket(address).listen(64).expect("a socket that listens");
                loop {
                    tokio::select! {
                        _ = way.changed() => {
                            let then = *way.borrow();
                            if matches!(then, Way::Refuse | Way::Nobody) {
                                break;
                            }
                        }
                        Ok((client, _)) = listener.accept() => {
                            tokio::spawn(pass(client, way.clone(), *server.borrow()));
                        }
                    }
                }
                way.mark_changed();
            }
        }
        if way.has_changed().is_err() {
            return;
        }
    }
}

/// One connection, for as long as the gate lets it.
async fn pass(mut client: TcpStream, mut way: watch::Receiver<Way>, server: Option<SocketAddr>) {
    let Some(server) = server else { return };
    let _ = client.set_nodelay(true);
    let mut upstream: Option<TcpStream> = None;
    let (mut asked, mut answered) = (vec![0; 16384], vec![0; 16384]);
    loop {
        let now = *way.borrow_and_update();
        if matches!(now, Way::Refuse) {
            return;
        }
        if matches!(now, Way::Nobody | Way::Mute) {
            // What was sent is still there when it passes again.
            if way.changed().await.is_err() {
                return;
            }
            continue;
        }
        tokio::select! {
            changed = way.changed() => if changed.is_err() { return },
            read = client.read(&mut asked) => {
                let Ok(n @ 1..) = read else { return };
                // Not before somebody asks: who gave up while the gate was mute is none of the server's business.
                if upstream.is_none() {
                    let Ok(made) = TcpStream::connect(server).await else { return };
                    let _ = made.set_nodelay(true);
                    upstream = Some(made);
                }
                let Some(upstream) = &mut upstream else { return };
                if upstream.write_all(&asked[..n]).await.is_err() { return }
            }
            read = answer(&mut upstream, &mut answered) => {
                let Ok(n @ 1..) = read else { return };
                match now {
                    Way::Slow(length) => sleep(length).await,
                    Way::Garbage => {
                        let _ = client.write_all(NONSENSE).await;
                        return;
                    }
                    Way::Huge(first) => return flood(client, first, way).await,
                    _ => {}
                }
                if client.write_all(&answered[..n]).await.is_err() { return }
            }
        }
    }
}

/// What the server says, if there is one by now.
async fn answer(upstream: &mut Option<TcpStream>, bytes: &mut [u8]) -> std::io::Result<usize> {
    match upstream {
        Some(upstream) => upstream.read(bytes).await,
        None => std::future::pending().await,
    }
}

/// Until nobody reads any more, or it is over.
async fn flood(mut client: TcpStream, first: &[u8], mut way: watch::Receiver<Way>) {
    let more = vec![b'1'; 1 << 16];
    let mut sent = client.write_all(first).await;
    while sent.is_ok() {
        tokio::select! {
            _ = way.changed() => return,
            done = client.write_all(&more) => sent = done,
        }
    }
}

async fn relay(address: SocketAddr, mut way: watch::Receiver<Way>, server: Server) {
    loop {
        let now = *way.borrow_and_update();
        if now == Way::Refuse {
            let _ = way.changed().await;
        } else {
            let socket = Arc::new(UdpSocket::bind(address).await.expect("the gate's own port"));
            let mut bytes = vec![0; 65536];
            loop {
                tokio::select! {
                    _ = way.changed() => if *way.borrow() == Way::Refuse { break },
                    got = socket.recv_from(&mut bytes) => {
                        let (Ok((n, from)), Some(server)) = (got, *server.borrow()) else { continue };
                        let (asked, now) = (bytes[..n].to_vec(), *way.borrow());
                        tokio::spawn(datagram(Arc::clone(&socket), from, server, asked, now));
                    }
                }
            }
            way.mark_changed();
        }
        if way.has_changed().is_err() {
            return;
        }
    }
}

/// One question and its answer.
async fn datagram(
    socket: Arc<UdpSocket>,
    from: SocketAddr,
    server: SocketAddr,
    asked: Vec<u8>,
    way: Way,
) {
    let Ok(upstream) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await else { return };
    if upstream.send_to(&asked, server).await.is_err() {
        return;
    }
    let mut answer = vec![0; 65536];
    let limit = Duration::from_secs(5);
    let Ok(Ok((n, _))) = tokio::time::timeout(limit, upstream.recv_from(&mut answer)).await else {
        return;
    };
    let answer = match way {
        Way::Mute | Way::Nobody | Way::Refuse => return,
        Way::Slow(length) => {
            sleep(length).await;
            &answer[..n]
        }
        Way::Garbage => NONSENSE,
        Way::Huge(_) => &answer[..60_000],
        Way::Pass => &answer[..n],
    };
    let _ = socket.send_to(answer, from).await;
}
