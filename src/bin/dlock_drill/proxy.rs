//! A TCP proxy that can cut a worker off from a server, both ways and without a word, as a network does that loses packets,
//! and that can hold back what the server sends. It must not look into what passes.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::stop::Stop;

/// `dlock_drill proxy`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Where it listens
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Where it passes connections on to
    #[arg(long, value_name = "ADDRESS")]
    pub to: String,
    /// Hold back what the server sends for so long
    #[arg(long, default_value_t = 0, value_name = "MILLISECONDS")]
    pub delay: u64,
}

/// What is done to what passes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Weather {
    is_cut: bool,
    delay: Duration,
}

/// A running proxy; its connections end when it is dropped.
pub struct Proxy {
    address: SocketAddr,
    weather: watch::Sender<Weather>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Passes connections on to `to`.
    pub async fn start(listen: SocketAddr, to: &str) -> Result<Self, Failure> {
        let told = |e| Failure::new(format!("no proxy can listen on {listen}: {e}"));
        let listener = TcpListener::bind(listen).await.map_err(told)?;
        let address = listener.local_addr().map_err(told)?;
        let (weather, seen) = watch::channel(Weather::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, to.to_owned(), seen));
        Ok(Self { address, weather, _tasks: tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on nothing passes; connections stay open.
    pub fn cut(&self) {
        self.weather.send_modify(|w| w.is_cut = true);
    }

    /// It passes again, and what waited does too.
    pub fn heal(&self) {
        self.weather.send_modify(|w| w.is_cut = false);
    }

    /// What the server sends arrives that much later.
    pub fn delay(&self, length: Duration) {
        self.weather.send_modify(|w| w.delay = length);
    }
}

async fn accept(listener: TcpListener, to: String, weather: watch::Receiver<Weather>) {
    // Ends with this task, as the set is dropped with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    connections.spawn(connection(client, to.clone(), weather.clone()));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(client: TcpStream, to: String, mut weather: watch::Receiver<Weather>) {
    let _ = (client.set_nodelay(true), until_whole(&mut weather).await);
    let Ok(server) = TcpStream::connect(&to).await else { return };
    let _ = server.set_nodelay(true);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = pass(from_client, to_server, weather.clone(), false) => {}
        () = pass(from_server, to_client, weather, true) => {}
    }
}

/// Waits until nothing is cut.
async fn until_whole(weather: &mut watch::Receiver<Weather>) -> Weather {
    let whole = weather.wait_for(|w| !w.is_cut).await.map(|w| *w);
    match whole {
        Ok(whole) => whole,
        // The proxy is gone, and this task with it in a moment.
        Err(_) => std::future::pending().await,
    }
}

/// One direction. What was sent during a cut waits, as it does in a sender's buffer, and so does an end.
async fn pass(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut weather: watch::Receiver<Weather>,
    is_delayed: bool,
) {
    let mut buffer = vec![0; 16384];
    loop {
        let read = from.read(&mut buffer).await;
        let now = until_whole(&mut weather).await;
        let Ok(n @ 1..) = read else { return };
        if is_delayed && !now.delay.is_zero() {
            tokio::time::sleep(now.delay).await;
        }
        let Some(piece) = buffer.get(..n) else { return };
        if to.write_all(piece).await.is_err() {
            return;
        }
    }
}

/// `dlock_drill proxy`: SIGUSR1 cuts, SIGUSR2 heals.
pub async fn run(options: Options) -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let told = |e| Failure::new(format!("no handler for signals can be set: {e}"));
    let mut cut = signal(SignalKind::user_defined1()).map_err(told)?;
    let mut heal = signal(SignalKind::user_defined2()).map_err(told)?;
    let mut stop = Stop::new()?;
    let proxy = Proxy::start(options.listen, &options.to).await?;
    proxy.delay(Duration::from_millis(options.delay));
    crate::worker::say("proxy", &format!("listens on {}", proxy.address()));
    loop {
        tokio::select! {
            _ = cut.recv() => proxy.cut(),
            _ = heal.recv() => proxy.heal(),
            () = stop.wait() => return Ok(()),
        }
    }
}
