//! One HTTP request over a plain socket, with a timeout for all of it. It must not follow, retry or decompress.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use dlock_exporter::clock;

/// A complete answer.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Header lines as they came, without the status line.
    pub headers: String,
    /// The body, chunks joined.
    pub body: String,
}

impl Answer {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.trim().eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Sends a request without a body and reads the whole answer within `limit`.
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    limit: Duration,
) -> io::Result<Answer> {
    let end = clock::mono().plus(limit);
    let left = || match end.since(clock::mono()) {
        Duration::ZERO => Err(io::Error::from(io::ErrorKind::TimedOut)),
        left => Ok(left),
    };
    let mut stream = TcpStream::connect_timeout(&address, left()?)?;
    stream.set_nodelay(true)?;
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
            // A signal to a child of another test, which is no business of this read.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    parse(&bytes).ok_or_else(|| {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        io::Error::new(io::ErrorKind::InvalidData, format!("not a complete HTTP answer: {text:?}"))
    })
}

/// An answer from all its bytes, `None` if something is missing.
pub fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let (first, headers) = head.split_once("\r\n").unwrap_or((head, ""));
    let status = first.split(' ').nth(1)?.parse().ok()?;
    let mut answer = Answer { status, headers: headers.replace("\r\n", "\n"), body: String::new() };
    let rest = &bytes[end + 4..];
    let chunked = answer.header("transfer-encoding").is_some_and(|v| v.contains("chunked"));
    let body = if chunked { join_chunks(rest)? } else { rest.to_vec() };
    if let Some(length) = answer.header("content-length") {
        // An answer to HEAD names a length and has no body.
        if !body.is_empty() && body.len() != length.parse::<usize>().ok()? {
            return None;
        }
    }
    answer.body = String::from_utf8_lossy(&body).into_owned();
    Some(answer)
}

fn join_chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|w| w == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..line]).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        rest = rest.get(line + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}
