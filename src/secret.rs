//! A text that must never be printed: its `Debug` and `Display` say `<secret>`. And what was sent to a server may come back
//! in what that server says: [`blot`] takes it out of a foreign text before anybody keeps it. What a secret is for it must
//! not know.

use std::borrow::Cow;
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// What stands in place of a secret.
const MARK: &[u8] = b"<secret>";
/// A shorter one is no secret, and taking it out would make nonsense of what a server says.
const SHORTEST: usize = 6;
/// By so much of its beginning a secret is found: servers cut what they quote.
const BEGINNING: usize = 24;
/// So many are known at most; of those that were rotated the oldest are forgotten.
const MOST: usize = 256;

/// What was sent. Of the process, as a text is kept and logged by whoever knows nothing of the connection it came from.
static SENT: RwLock<Sent> = RwLock::new(Sent(Vec::new()));

/// A password or token.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself; only for handing it to a server.
    pub fn reveal(&self) -> &str {
        sending(self.0.as_bytes());
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// From now on [`blot`] takes this out.
pub fn sending(secret: &[u8]) {
    SENT.write().unwrap_or_else(PoisonError::into_inner).add(secret);
}

/// The text without any secret that was sent. For what is quoted, not for names by which things are told apart.
pub fn blot(text: &[u8]) -> Cow<'_, [u8]> {
    SENT.read().unwrap_or_else(PoisonError::into_inner).blot(text)
}

/// The last one that was sent comes last.
struct Sent(Vec<Vec<u8>>);

impl Sent {
    fn add(&mut self, secret: &[u8]) {
        if secret.len() < SHORTEST {
            return;
        }
        self.0.retain(|s| s != secret);
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(secret.to_vec());
    }

    fn blot<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut clean = Cow::Borrowed(text);
        for secret in &self.0 {
            if let Some(cleaner) = without(&clean, secret) {
                clean = Cow::Owned(cleaner);
            }
        }
        clean
    }
}

/// `None` if it is not in it.
fn without(text: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    let beginning = secret.get(..BEGINNING).unwrap_or(secret);
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.windows(beginning.len()).position(|part| part == beginning) {
        let (before, found) = rest.split_at(at);
        let same = found.iter().zip(secret).take_while(|(a, b)| a == b).count();
        out.extend_from_slice(before);
        out.extend_from_slice(MARK);
        rest = found.get(same..).unwrap_or_default();
    }
    if out.is_empty() {
        return None;
    }
    out.extend_from_slice(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blotted(sent: &Sent, text: &str) -> String {
        String::from_utf8(sent.blot(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn what_was_sent_is_taken_out_and_nothing_else() {
        let long = "a-passphrase-of-more-than-two-dozen-bytes";
        let mut sent = Sent(Vec::new());
        assert_eq!(blotted(&sent, "hunter-22"), "hunter-22", "it was not sent yet");
        for secret in ["hunter-22", long, "short", ""] {
            sent.add(secret.as_bytes());
        }
        assert_eq!(blotted(&sent, "hunter-22"), "<secret>");
        let quoted = blotted(&sent, "ERR `hunter-22` `hunter-22`, no");
        assert_eq!(quoted, "ERR `<secret>` `<secret>`, no");
        let cut = format!("-{}' cut short", &long[..30]);
        assert_eq!(blotted(&sent, &cut), "-<secret>' cut short");
        assert_eq!(blotted(&sent, "a-passphrase-of"), "a-passphrase-of", "too little to tell");
        assert_eq!(blotted(&sent, "short"), "short", "no secret");
        assert!(matches!(sent.blot(b"hunter-2"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_secret_is_known_from_when_it_is_handed_over_and_prints_itself_never() {
        let secret = Secret::new("handed-over-once");
        assert_eq!(format!("{secret} {secret:?}"), "<secret> <secret>");
        assert_eq!(secret.reveal(), "handed-over-once");
        assert_eq!(&*blot(b"not handed-over-once"), b"not <secret>");
    }

    #[test]
    fn those_that_were_rotated_away_are_forgotten() {
        let mut sent = Sent(Vec::new());
        for n in 0..2 * MOST {
            sent.add(format!("rotated-{n:04}").as_bytes());
            sent.add(b"stays the same");
        }
        assert_eq!(sent.0.len(), MOST);
        assert_eq!(blotted(&sent, "rotated-0000 stays the same"), "rotated-0000 <secret>");
    }
}
