//! The user's word that the fault is made: a line on standard input. Its end says nothing.

use std::io::BufRead;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// Listens beside everything else.
pub struct Told(Receiver<()>);

impl Told {
    /// From now on. The thread that reads ends with the program.
    pub fn listen() -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(()).is_err() {
                    break;
                }
            }
        });
        Self(lines)
    }

    /// Whether a line came since this was asked last.
    pub fn came(&mut self) -> bool {
        let mut came = false;
        loop {
            match self.0.try_recv() {
                Ok(()) => came = true,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return came,
            }
        }
    }
}
