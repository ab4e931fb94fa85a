//! A process that only renews. It is told the lock and the token on its standard input, as arguments are seen by all.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use super::lock::Lock;
use super::options::seconds;
use super::{Options, pid_file};
use crate::failure::Failure;
use crate::lockserver::{Address, Kept};
use crate::stop::Stop;

/// What it is told. There is no `Debug`: the token is a credential.
#[derive(Serialize, Deserialize)]
struct Order {
    redis: String,
    name: String,
    lock: String,
    lease: f64,
    every: f64,
    at_most: f64,
    token: String,
}

/// Starts one for the lock that the worker holds by this token.
pub fn start(options: &Options, token: &str) -> Result<Child, Failure> {
    let told = |e: std::io::Error| Failure::new(format!("no renewer can be started: {e}"));
    let order = Order {
        redis: options.redis.text().into(),
        name: options.name.clone(),
        lock: options.lock.clone(),
        lease: options.lease,
        every: options.renew_every,
        at_most: options.at_most,
        token: token.into(),
    };
    let program = std::env::current_exe().map_err(told)?;
    let mut child =
        Command::new(program).arg("renewer").stdin(Stdio::piped()).spawn().map_err(told)?;
    let text = serde_json::to_vec(&order).map_err(|e| told(e.into()))?;
    // Taken, so that the pipe ends with the order.
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(&text).map_err(told)?;
    }
    if let Some(file) = &options.pid_file {
        pid_file::write(&pid_file::of_renewer(file), child.id())?;
    }
    Ok(child)
}

/// The renewer itself: until the lock is not its own any more or it is told to stop.
pub async fn run() -> Result<(), Failure> {
    let mut text = String::new();
    let wrong = |e: String| Failure::new(format!("the renewer's order cannot be read: {e}"));
    std::io::stdin().take(65536).read_to_string(&mut text).map_err(|e| wrong(e.to_string()))?;
    // The text of a parser's error may repeat the input, and there is a token in it.
    let order: Order =
        serde_json::from_str(&text).map_err(|e| wrong(format!("line {}", e.line())))?;
    let address: Address = order.redis.parse().map_err(wrong)?;
    let mut stop = Stop::new()?;
    let (mut server, lock) = (Kept::new(&address), Lock::new(&order.lock, order.lease));
    let begun = dlock_exporter::clock::mono();
    while !stop.within(seconds(order.every)).await {
        let too_long = order.at_most > 0.0
            && dlock_exporter::clock::mono().since(begun) > seconds(order.at_most);
        match lock.renew(&mut server, &order.token) {
            Ok(true) if !too_long => {}
            Ok(_) => break,
            Err(error) => {
                super::run::say(&order.name, &format!("cannot renew {}: {error}", order.lock))
            }
        }
    }
    Ok(())
}
