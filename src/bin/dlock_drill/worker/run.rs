//! The loop of a worker. One thread does everything, so that nothing of it goes on when the work stands still.

use std::io::Write;
use std::time::Duration;

use dlock_exporter::clock::{mono, wall_secs};
use dlock_exporter::observe::Mono;

use super::effects::Effects;
use super::lock::Lock;
use super::options::seconds;
use super::{Options, Renewer, Restore, renewer};
use crate::failure::Failure;
use crate::lockserver::Kept;
use crate::stop::Stop;

/// Wait after a refusal or a failure.
const AGAIN: Duration = Duration::from_millis(100);

/// Tells what happened, for a log.
pub fn say(name: &str, text: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{name}: {text}").and_then(|()| out.flush());
}

/// A worker and what it has done.
pub struct Worker {
    options: Options,
    stop: Stop,
    server: Kept,
    lock: Lock,
    begun: Mono,
    beats: u64,
    next_beat: Mono,
    renewals: u64,
    longest_gap: Duration,
}

impl Worker {
    /// That has done nothing yet.
    pub fn new(options: Options) -> Result<Self, Failure> {
        Ok(Self {
            stop: Stop::new()?,
            server: Kept::new(&options.redis),
            lock: Lock::new(&options.lock, options.lease),
            begun: mono(),
            // A worker that is started again does not repeat an old value.
            beats: wall_secs() as u64,
            next_beat: mono(),
            renewals: 0,
            longest_gap: Duration::ZERO,
            options,
        })
    }

    fn say(&self, text: &str) {
        say(&self.options.name, text);
    }

    /// Until it is done or told to stop.
    pub async fn run(mut self) -> Result<(), Failure> {
        let mut cycles = 0;
        while self.options.cycles == 0 || cycles < self.options.cycles {
            let Some(token) = self.take().await else { break };
            let stopped = self.hold(&token).await?;
            cycles += 1;
            let is_last = cycles == self.options.cycles;
            if stopped || (!is_last && self.idle(seconds(self.options.pause)).await) {
                break;
            }
        }
        let gap = self.longest_gap.as_millis();
        self.say(&format!("ended renewals={} longest_gap_ms={gap}", self.renewals));
        Ok(())
    }

    /// The token of the lock now held, or `None` when told to stop. A new token each time: a lost reply must not make two
    /// tenures look like one.
    async fn take(&mut self) -> Option<String> {
        loop {
            let token = new_token(&self.options);
            match self.lock.take(&mut self.server, &token) {
                Ok(true) => {
                    self.say(&format!("took {}", self.options.lock));
                    return Some(token);
                }
                Ok(false) => {}
                Err(e) => self.say(&format!("cannot take {}: {e}", self.options.lock)),
            }
            if self.idle(AGAIN).await {
                return None;
            }
        }
    }

    /// The next fencing token; it is waited for, as the work may not begin without.
    async fn fencing_token(&mut self) -> Option<u64> {
        let key = self.options.fence.clone()?;
        loop {
            match self.server.call(&["INCR", &key]) {
                Ok(token) => return Some(token),
                Err(e) => self.say(&format!("cannot have a fencing token: {e}")),
            }
            if self.stop.within(AGAIN).await {
                return None;
            }
        }
    }

    /// Works, renews and beats until the work is done or the lock is lost. True when told to stop.
    async fn hold(&mut self, token: &str) -> Result<bool, Failure> {
        let fencing = self.fencing_token().await;
        let mut effects = Effects::new(&self.options, fencing);
        let mut renewer = match self.options.renewer {
            Renewer::Separate => Some(renewer::start(&self.options, token)?),
            Renewer::Own => None,
        };
        let begun = mono();
        let (mut renewed, mut next_effect) = (begun, begun);
        let renews = renewer.is_none() && self.options.renew_every > 0.0;
        let every = seconds(self.options.renew_every);
        let mut stopped = false;
        let mut lost = false;
        let mut stood = false;
        while !stopped && !lost {
            let now = mono();
            if self.options.work > 0.0 && now >= begun.plus(seconds(self.options.work)) {
                break;
            }
            // The effect before the renewal: whoever stood still may find out too late.
            if effects.any() && now >= next_effect {
                next_effect = now.plus(seconds(self.options.effect_every));
                match effects.one().await {
                    Ok(true) => {}
                    Ok(false) => self.say("the resource refused an old fencing token"),
                    Err(e) => self.say(&format!("no effect: {e}")),
                }
                // It may have stood still within that effect: then the next one comes before the renewal, too.
                if !stood && mono().since(now) > seconds(self.options.effect_every).max(AGAIN * 5) {
                    stood = true;
                    continue;
                }
            }
            stood = false;
            if renews && now >= renewed.plus(every) {
                match self.renew(token) {
                    Some(true) => {
                        self.longest_gap = self.longest_gap.max(mono().since(renewed));
                        renewed = now;
                    }
                    Some(false) => {
                        lost = true;
                        continue;
                    }
                    None => {
                        stopped = self.stop.within(AGAIN).await;
                        continue;
                    }
                }
            }
            self.beat_if_due();
            let mut due = now.plus(Duration::from_secs(1));
            let mut until = |at: Mono| due = due.min(at);
            if renews {
                until(renewed.plus(every));
            }
            if effects.any() {
                until(next_effect);
            }
            if self.options.beat_every > 0.0 {
                until(self.next_beat);
            }
            if self.options.work > 0.0 {
                until(begun.plus(seconds(self.options.work)));
            }
            stopped = self.stop.within(due.since(mono())).await || self.is_over();
        }
        if let Some(child) = &mut renewer {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_child(child),
                rustix::process::Signal::TERM,
            );
            let _ = child.wait();
        }
        if lost {
            self.say(&format!("lost {}", self.options.lock));
        } else {
            self.release(token);
        }
        Ok(stopped)
    }

    /// Renewed, not ours any more, or not known.
    fn renew(&mut self, token: &str) -> Option<bool> {
        let answer = self.lock.renew(&mut self.server, token).and_then(|ours| {
            if ours || self.options.restore == Restore::Never {
                return Ok(ours);
            }
            self.lock.overwrite(&mut self.server, token)?;
            self.say(&format!("restored {}", self.options.lock));
            Ok(true)
        });
        match answer {
            Ok(ours) => {
                self.renewals += u64::from(ours);
                Some(ours)
            }
            Err(e) => {
                self.say(&format!("cannot renew {}: {e}", self.options.lock));
                None
            }
        }
    }

    fn release(&mut self, token: &str) {
        for _ in 0..3 {
            let name = &self.options.lock;
            match self.lock.release(&mut self.server, token) {
                Ok(true) => return self.say(&format!("released {name}")),
                Ok(false) => return self.say(&format!("had lost {name}")),
                Err(e) => self.say(&format!("cannot release {name}: {e}")),
            }
        }
    }

    /// Waits without the lock, and beats. True when told to stop.
    async fn idle(&mut self, length: Duration) -> bool {
        let end = mono().plus(length);
        loop {
            self.beat_if_due();
            let mut left = end.since(mono());
            if left.is_zero() {
                return self.stop.within(Duration::ZERO).await || self.is_over();
            }
            if self.options.beat_every > 0.0 {
                left = left.min(seconds(self.options.beat_every));
            }
            if self.stop.within(left).await {
                return true;
            }
        }
    }

    fn is_over(&self) -> bool {
        let limit = self.options.at_most;
        limit > 0.0 && mono() > self.begun.plus(seconds(limit))
    }

    fn beat_if_due(&mut self) {
        let now = mono();
        if self.options.beat_every == 0.0 || now < self.next_beat {
            return;
        }
        self.next_beat = now.plus(seconds(self.options.beat_every));
        self.beats += 1;
        let (key, value) = (self.options.heartbeat_key(), self.beats.to_string());
        if let Err(e) = self.server.call::<()>(&["SET", &key, &value]) {
            self.say(&format!("cannot beat: {e}"));
        }
    }
}

fn new_token(options: &Options) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let random = format!("{:032x}", fastrand::u128(..));
    options
        .token
        .replace("{name}", &options.name)
        .replace("{host}", &host)
        .replace("{pid}", &std::process::id().to_string())
        .replace("{uuid}", &random)
}
