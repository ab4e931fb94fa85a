//! Scheduling counters by taskstats over generic netlink: many questions in one system call, an answer for each. Needs
//! CAP_NET_ADMIN. The kernel numbers processes as this process sees them, whatever `--path.procfs` shows.

pub mod stats;
pub mod wire;

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{connect, recv, send, socket_with, sockopt};
use thiserror::Error;

pub use stats::Stats;
use wire::{Body, Whom};

/// Questions in one system call. Their answers, about 1280 bytes each as the kernel counts them, must find room in an
/// ordinary receive buffer of 208 KiB.
const BATCH: usize = 64;
/// No answer is longer; a datagram that is gets cut off and is no answer.
const DATAGRAM: usize = 4096;
/// Answers that may come on top of those asked for, left over from a batch that broke off.
const STRAY: usize = 2 * BATCH;

/// Why there are no answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unavailable {
    /// The kernel refuses.
    #[error("the kernel refuses it ({0}): it needs CAP_NET_ADMIN")]
    Permission(Errno),
    /// The kernel was built without it.
    #[error("this kernel has no taskstats ({0})")]
    Absent(Errno),
    /// There are no such sockets: a sandbox forbids them, or the kernel was built without.
    #[error(
        "no netlink here ({0}): a sandbox forbids AF_NETLINK (RestrictAddressFamilies), or the kernel has none"
    )]
    NoNetlink(Errno),
    /// Its structure is of a version that is not read.
    #[error("this kernel's taskstats are of version {0}, whose fields lie elsewhere")]
    Version(u16),
    /// It did not answer, or not in its own language.
    #[error("the kernel did not answer as it should")]
    Mute,
    /// Anything else.
    #[error("netlink: {0}")]
    Socket(Errno),
}

impl From<Errno> for Unavailable {
    fn from(e: Errno) -> Self {
        match e {
            Errno::PERM | Errno::ACCESS => Self::Permission(e),
            Errno::NOENT | Errno::PROTONOSUPPORT => Self::Absent(e),
            Errno::AFNOSUPPORT => Self::NoNetlink(e),
            e => Self::Socket(e),
        }
    }
}

/// A connection to the kernel.
#[derive(Debug)]
pub struct Taskstats {
    socket: OwnedFd,
    family: u16,
    sequence: u32,
    request: Vec<u8>,
}

impl Taskstats {
    /// Connects and tries it on this process.
    pub fn open() -> Result<Self, Unavailable> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = Some(netlink::GENERIC);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        // Connected to the kernel: nobody else's messages get in.
        connect(&socket, &SocketAddrNetlink::new(0, 0))?;
        // More room than is needed; the ordinary is enough.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, BATCH * 4096);
        let mut this = Self { socket, family: 0, sequence: 0, request: Vec::new() };
        this.family = this.resolve()?;
        let own = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
        match this.ask(&[Whom::Process(own)])?.first() {
            Some(Ok(_)) => Ok(this),
            Some(Err(Unanswered::Refused(e))) => Err((*e).into()),
            Some(Err(Unanswered::Unusable(stats::Unusable::Version(v)))) => {
                Err(Unavailable::Version(*v))
            }
            _ => Err(Unavailable::Mute),
        }
    }

    fn resolve(&mut self) -> Result<u16, Unavailable> {
        self.request.clear();
        self.sequence = self.sequence.wrapping_add(1);
        wire::ask_family(&mut self.request, self.sequence);
        send(&self.socket, &self.request, SendFlags::empty())?;
        let mut buffer = [0; DATAGRAM];
        let (_, length) = recv(&self.socket, &mut buffer, RecvFlags::TRUNC)?;
        let datagram = buffer.get(..length).ok_or(Unavailable::Mute)?;
        for reply in wire::replies(datagram, 0).filter(|r| r.sequence == self.sequence) {
            match reply.body {
                Body::Family(id) => return Ok(id),
                Body::Error(e) => return Err(Errno::from_raw_os_error(e).into()),
                _ => {}
            }
        }
        Err(Unavailable::Mute)
    }

    /// Asks for all of these; one answer for each, in their order. An error means that the socket itself failed.
    pub fn ask(&mut self, whom: &[Whom]) -> Result<Vec<Answer>, Unavailable> {
        let mut answers = Vec::with_capacity(whom.len());
        for batch in whom.chunks(BATCH) {
            answers.extend(self.batch(batch)?);
        }
        Ok(answers)
    }

    fn batch(&mut self, whom: &[Whom]) -> Result<Vec<Answer>, Unavailable> {
        self.request.clear();
        let first = self.sequence.wrapping_add(1);
        for one in whom {
            self.sequence = self.sequence.wrapping_add(1);
            wire::ask(&mut self.request, self.family, self.sequence, *one);
        }
        send(&self.socket, &self.request, SendFlags::empty())?;
        let mut replies = Replies::to(whom, first);
        let mut buffer = [0; DATAGRAM];
        // The kernel answers within the call that asks, so that what is not here now will not come.
        for _ in 0..whom.len() + STRAY {
            if replies.are_complete() {
                break;
            }
            match recv(&self.socket, &mut buffer, RecvFlags::TRUNC) {
                Ok((_, length)) => {
                    if let Some(datagram) = buffer.get(..length) {
                        replies.take(datagram, self.family);
                    }
                }
                Err(Errno::INTR) => {}
                // The buffer ran over: what was lost stays unanswered.
                Err(Errno::NOBUFS) => {}
                Err(Errno::AGAIN) => break,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(replies.answers)
    }
}

/// Counters, or why there are none.
pub type Answer = Result<Stats, Unanswered>;

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The kernel says so; `ESRCH` if there is no such process.
    Refused(Errno),
    /// It came in no shape to use.
    Unusable(stats::Unusable),
    /// It never came.
    Lost,
}

const LOST: Answer = Err(Unanswered::Lost);

/// The answers to one batch as they come in.
struct Replies<'a> {
    asked: &'a [Whom],
    first: u32,
    answers: Vec<Answer>,
    open: usize,
}

impl<'a> Replies<'a> {
    fn to(asked: &'a [Whom], first: u32) -> Self {
        Self { asked, first, answers: vec![LOST; asked.len()], open: asked.len() }
    }

    fn are_complete(&self) -> bool {
        self.open == 0
    }

    /// Takes what is an answer to an open question: of its number and about whom it asked.
    fn take(&mut self, datagram: &[u8], family: u16) {
        for reply in wire::replies(datagram, family) {
            let at = reply.sequence.wrapping_sub(self.first) as usize;
            let Some(asked) = self.asked.get(at) else { continue };
            let answer = match reply.body {
                Body::Stats(whom, stats) if whom == *asked => stats.map_err(Unanswered::Unusable),
                Body::Error(e) => Err(Unanswered::Refused(Errno::from_raw_os_error(e))),
                _ => continue,
            };
            if let Some(place) = self.answers.get_mut(at).filter(|a| **a == LOST) {
                *place = answer;
                self.open = self.open.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
pub mod tests;
