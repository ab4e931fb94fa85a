//! What a node of a cluster answers instead of a key's value when the key is not its own to tell of. None of it says that
//! the key is absent. Pure.

use std::sync::Arc;

use super::super::dial::{addr_text, parse_addr};
use super::super::failure::first_word;
use super::super::info;
use super::key_slot::SLOTS;

/// Longest address that is believed.
const MAX_ADDR: usize = 300;

/// Why a node does not tell of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// `MOVED`: another node has the slot.
    Moved,
    /// `ASK`: the slot is on its way, and this key is not here any more or was never; the node to ask, if it says.
    Ask(Option<Arc<str>>),
    /// `CLUSTERDOWN Hash slot not served`, `TRYAGAIN`: nobody tells of it at present.
    Nobody,
}

impl Redirect {
    /// What an error reply says; `None` if it is about something else. `asked` is the host that answered: it may leave its
    /// own out.
    pub fn read(error: &[u8], asked: &str) -> Option<Self> {
        match first_word(error) {
            b"MOVED" => Some(Self::Moved),
            b"ASK" => Some(Self::Ask(target(error, asked))),
            b"TRYAGAIN" => Some(Self::Nobody),
            b"CLUSTERDOWN" if error.starts_with(b"CLUSTERDOWN Hash slot") => Some(Self::Nobody),
            _ => None,
        }
    }
}

/// `ASK 3430 127.0.0.1:17371`, with the slot between.
fn target(error: &[u8], asked: &str) -> Option<Arc<str>> {
    let text = std::str::from_utf8(error).ok().filter(|t| t.len() <= MAX_ADDR)?;
    let mut words = text.split(' ').skip(1);
    words.next()?.parse::<u16>().ok().filter(|slot| *slot < SLOTS)?;
    let addr = words.next()?;
    let (host, port) = addr.rsplit_once(':')?;
    // The node does not know its own name: the one that we reached it by is right for all of them.
    let host = if host.is_empty() { asked } else { host };
    parse_addr(&info::address(host, port)?).map(|a| addr_text(&a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_cluster_are_told_apart() {
        let read = |e: &str| Redirect::read(e.as_bytes(), "10.0.0.1");
        let ask = |a: &str| Some(Redirect::Ask(Some(a.into())));
        assert_eq!(read("MOVED 6035 127.0.0.1:17371"), Some(Redirect::Moved));
        assert_eq!(read("ASK 3430 127.0.0.1:17371"), ask("127.0.0.1:17371"));
        assert_eq!(read("ASK 3430 ::1:17371"), ask("[::1]:17371"));
        assert_eq!(read("ASK 3430 :17371"), ask("10.0.0.1:17371"));
        assert_eq!(read("TRYAGAIN Multiple keys request"), Some(Redirect::Nobody));
        assert_eq!(read("CLUSTERDOWN Hash slot not served"), Some(Redirect::Nobody));
        // The node is cut off from the others, whatever the key.
        assert_eq!(read("CLUSTERDOWN The cluster is down"), None);
        assert_eq!(read("NOPERM no"), None);
        for odd in [
            "ASK",
            "ASK 1",
            "ASK 99999 a:1",
            "ASK 1 /etc/passwd",
            "ASK 1 a:0",
            "ASK x a:1",
            "ASK 1 a\nb:1",
        ] {
            assert_eq!(read(odd), Some(Redirect::Ask(None)), "{odd}");
        }
    }
}
