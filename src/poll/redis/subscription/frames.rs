//! Cuts what a server sends to a subscriber into messages. What is too long is passed over as it arrives and never kept, so
//! that a huge message costs no memory and the connection lives on. Must not panic, whatever the bytes are.

use super::super::codec::Malformed;

/// Longest text that is kept.
pub const MAX_TEXT: usize = 16 << 10;
/// Longest line: a length, a number, an error.
const MAX_LINE: usize = 1 << 10;
/// Most elements of one frame; a message has three or four.
const MAX_ELEMENTS: i64 = 8;

/// Most keys of one invalidation.
const MAX_NESTED: i64 = 1 << 20;
/// Most of them that are kept, and bytes of them; whoever finds `TooLong` among them must take any key as changed.
const MAX_KEPT: usize = 4096;
const MAX_KEPT_BYTES: usize = 1 << 20;

/// One element of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text of any kind.
    Text(Vec<u8>),
    /// Text that was too long and is gone.
    TooLong,
    /// A number, or no value.
    Other,
    /// An error.
    Error(Vec<u8>),
}

/// What has come and was not taken yet.
#[derive(Debug, Default)]
pub struct Frames {
    buf: Vec<u8>,
    /// Where in `buf` the next element begins.
    at: usize,
    parts: Vec<Part>,
    /// Elements that the frame under way still has.
    left: i64,
    /// Bytes of a text that is passed over.
    skip: u64,
    /// The frame is a push, whose last element may be an array: its elements follow as if they were the frame's own.
    push: bool,
    /// Bytes of the texts that are kept of it.
    kept: usize,
}

impl Frames {
    /// Where to put what arrives.
    pub fn room(&mut self) -> &mut Vec<u8> {
        self.buf.drain(..self.at.min(self.buf.len()));
        self.at = 0;
        &mut self.buf
    }

    /// The next whole frame, if it has come.
    pub fn next(&mut self) -> Result<Option<Vec<Part>>, Malformed> {
        loop {
            if self.skip > 0 {
                let here = self.buf.len().saturating_sub(self.at);
                let gone = here.min(usize::try_from(self.skip).unwrap_or(usize::MAX));
                self.at += gone;
                self.skip -= gone as u64;
                if self.skip > 0 {
                    return Ok(None);
                }
                if let Some(frame) = self.add(Part::TooLong) {
                    return Ok(Some(frame));
                }
                continue;
            }
            let rest = self.buf.get(self.at..).unwrap_or_default();
            let Some(line) = line(rest)? else { return Ok(None) };
            let [kind, text @ ..] = line else { return Err(Malformed::Kind(b'\r')) };
            let behind = self.at + line.len() + 2;
            let part = match kind {
                b'*' | b'>' if self.left == 0 => {
                    self.left = number(text)?;
                    if !(1..=MAX_ELEMENTS).contains(&self.left) {
                        return Err(Malformed::Limit("8 elements in a message"));
                    }
                    self.push = *kind == b'>';
                    self.at = behind;
                    continue;
                }
                b'%' if self.left == 0 => {
                    self.left = number(text)?.saturating_mul(2);
                    if !(1..=MAX_ELEMENTS).contains(&self.left) {
                        return Err(Malformed::Limit("8 elements in a message"));
                    }
                    (self.push, self.at) = (false, behind);
                    continue;
                }
                b'*' if self.push && self.left == 1 && !self.parts.is_empty() => {
                    self.push = false;
                    self.left = number(text)?;
                    if !(0..=MAX_NESTED).contains(&self.left) {
                        return Err(Malformed::Limit("1048576 keys in an invalidation"));
                    }
                    self.at = behind;
                    if self.left == 0 {
                        return Ok(Some(self.whole()));
                    }
                    continue;
                }
                b'$' | b'=' | b'!' => match number(text)? {
                    -1 => Part::Other,
                    length @ 0.. if length as u64 > MAX_TEXT as u64 => {
                        self.at = behind;
                        self.skip = length as u64 + 2;
                        continue;
                    }
                    length @ 0.. => {
                        let length = length as usize;
                        let tail = self.buf.get(behind..).unwrap_or_default();
                        let Some(end) = tail.get(length..length + 2) else { return Ok(None) };
                        if end != b"\r\n" {
                            return Err(Malformed::Terminator);
                        }
                        let text = tail.get(..length).unwrap_or_default().to_vec();
                        let part = if *kind == b'!' { Part::Error(text) } else { Part::Text(text) };
                        self.at = behind + length + 2;
                        if let Some(frame) = self.add(part) {
                            return Ok(Some(frame));
                        }
                        continue;
                    }
                    _ => return Err(Malformed::Number),
                },
                b'-' => Part::Error(text.to_vec()),
                b'+' => Part::Text(text.to_vec()),
                b':' | b'_' | b'#' | b',' | b'(' => Part::Other,
                kind => return Err(Malformed::Kind(*kind)),
            };
            self.at = behind;
            if let Some(frame) = self.add(part) {
                return Ok(Some(frame));
            }
        }
    }

    /// Takes an element; gives the frame that it completes.
    fn add(&mut self, part: Part) -> Option<Vec<Part>> {
        let bytes = if let Part::Text(text) = &part { text.len() } else { 0 };
        self.kept = self.kept.saturating_add(bytes);
        let room = self.parts.len() < MAX_KEPT && self.kept <= MAX_KEPT_BYTES;
        if room {
            self.parts.push(part);
        } else if self.parts.last() != Some(&Part::TooLong) {
            self.parts.push(Part::TooLong);
        }
        self.left = (self.left - 1).max(0);
        (self.left == 0).then(|| self.whole())
    }

    fn whole(&mut self) -> Vec<Part> {
        (self.push, self.kept) = (false, 0);
        std::mem::take(&mut self.parts)
    }
}

/// Up to the next CR LF.
fn line(rest: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let near = rest.get(..rest.len().min(MAX_LINE + 2)).unwrap_or_default();
    match near.windows(2).position(|w| w == b"\r\n") {
        Some(at) => Ok(rest.get(..at)),
        None if rest.len() > MAX_LINE => Err(Malformed::Limit("1 KiB in one line")),
        None => Ok(None),
    }
}

fn number(text: &[u8]) -> Result<i64, Malformed> {
    let text = std::str::from_utf8(text).map_err(|_| Malformed::Number)?;
    text.parse().map_err(|_| Malformed::Number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(t: &str) -> Part {
        Part::Text(t.as_bytes().to_vec())
    }

    /// All frames of these bytes, given in pieces.
    fn cut<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Vec<Part>>, Malformed> {
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        for piece in pieces {
            frames.room().extend_from_slice(piece);
            while let Some(frame) = frames.next()? {
                found.push(frame);
            }
            assert!(frames.buf.len() - frames.at <= MAX_TEXT + MAX_LINE + 64, "it keeps all");
        }
        Ok(found)
    }

    #[test]
    fn messages_of_both_protocols_come_whole_however_they_arrive() {
        let huge = format!("${}\r\n{}\r\n", MAX_TEXT + 1, "x".repeat(MAX_TEXT + 1));
        let bytes = format!(
            "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n\
             >3\r\n+message\r\n$1\r\nc\r\n{huge}-NOPERM no\r\n>2\r\n$-1\r\n_\r\n"
        );
        let expected = [
            vec![text("subscribe"), text("c"), Part::Other],
            vec![text("message"), text("c"), text("hi")],
            vec![text("message"), text("c"), Part::TooLong],
            vec![Part::Error(b"NOPERM no".to_vec())],
            vec![Part::Other, Part::Other],
        ];
        for size in [1, 7, 4096, bytes.len()] {
            assert_eq!(cut(bytes.as_bytes().chunks(size)).unwrap(), expected, "in {size}s");
        }
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for wrong in [
            "*9\r\n",
            "*0\r\n",
            "*-1\r\n",
            "$-2\r\n",
            "$x\r\n",
            "hi\r\n",
            "$1\r\nabc",
            "\r\n",
            "*1\r\n*1\r\n",
        ] {
            assert!(cut([wrong.as_bytes()].into_iter()).is_err(), "{wrong:?}");
        }
        assert!(cut([b"+".repeat(2000).as_slice()].into_iter()).is_err());
    }

    #[test]
    fn an_invalidations_keys_follow_its_kind() {
        let many = "$1\r\nk\r\n".repeat(10_000);
        let bytes = format!(
            ">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n\
             >2\r\n+invalidate\r\n*0\r\n+PONG\r\n>2\r\n+invalidate\r\n*10000\r\n{many}+PONG\r\n"
        );
        for size in [1, 7, bytes.len()] {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for piece in bytes.as_bytes().chunks(size) {
                frames.room().extend_from_slice(piece);
                while let Some(frame) = frames.next().unwrap() {
                    found.push(frame);
                }
            }
            let [first, all, none, pong, crowd, last] = found.as_slice() else {
                panic!("{found:?}")
            };
            assert_eq!(*first, [text("invalidate"), text("a"), text("b")]);
            assert_eq!(*all, [text("invalidate"), Part::Other]);
            assert_eq!(*none, [text("invalidate")]);
            assert_eq!((pong, last), (&vec![text("PONG")], &vec![text("PONG")]));
            assert_eq!((crowd.len(), crowd.last()), (MAX_KEPT + 1, Some(&Part::TooLong)));
        }
        for wrong in [
            "*2\r\n+a\r\n*1\r\n",
            ">2\r\n*1\r\n",
            ">2\r\n+a\r\n*1\r\n*1\r\n",
            ">2\r\n+a\r\n*-1\r\n",
        ] {
            assert!(cut([wrong.as_bytes()].into_iter()).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_cost_neither_a_panic_nor_memory(
            bytes in prop::collection::vec(
                prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'$'), Just(b'*'), Just(b'3'), any::<u8>()],
                0..400,
            ),
            size in 1usize..50,
        ) {
            let whole = cut([bytes.as_slice()].into_iter());
            let pieces = cut(bytes.chunks(size));
            prop_assert_eq!(whole, pieces);
        }
    }
}
