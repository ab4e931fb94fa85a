//! The `Authorization` header of an HTTP source. Files are read at each request, so that a rotated one is picked up; what is
//! in them goes into the header and nowhere else.

use std::path::{Path, PathBuf};

use hyper::header::HeaderValue;

use super::Trouble;
use crate::observe::node::FailReason;
use crate::poll::lane::Inside;
use crate::poll::source::file::{self, FileFailed};
use crate::secret;

/// Where credentials are; at most one of the two is used, a bearer token first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// User, and the file with the password.
    pub basic: Option<(String, PathBuf)>,
    /// File with a bearer token.
    pub bearer: Option<PathBuf>,
}

impl Credentials {
    /// The header's value, if there are credentials.
    pub async fn header(&self, inside: &Inside) -> Result<Option<HeaderValue>, Trouble> {
        let (path, text) = if let Some(path) = &self.bearer {
            (path, [b"Bearer ", read(path, inside).await?.as_slice()].concat())
        } else if let Some((user, path)) = &self.basic {
            let pair = [user.as_bytes(), b":", read(path, inside).await?.as_slice()].concat();
            let coded = base64(&pair);
            secret::sending(coded.as_bytes());
            (path, format!("Basic {coded}").into_bytes())
        } else {
            return Ok(None);
        };
        let mut value = HeaderValue::from_bytes(&text).map_err(|_| {
            let detail = format!("{}: holds bytes that a header cannot have", path.display());
            Trouble::Failed(FailReason::Auth, detail)
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

/// A file's text without its trailing line ends.
async fn read(path: &Path, inside: &Inside) -> Result<Vec<u8>, Trouble> {
    match file::content(path.to_owned(), file::MAX_SECRET, inside.clone()).await {
        Ok(mut bytes) => {
            let end = bytes.iter().rposition(|b| !matches!(b, b'\n' | b'\r')).map_or(0, |i| i + 1);
            bytes.truncate(end);
            secret::sending(&bytes);
            Ok(bytes)
        }
        Err(FileFailed::Absent(detail) | FileFailed::Unreadable { detail, .. }) => {
            Err(Trouble::Failed(FailReason::Auth, detail))
        }
    }
}

/// RFC 4648, with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            let digit = DIGITS.get((bits >> (18 - 6 * i) & 63) as usize);
            let digit = digit.filter(|_| i <= group.len()).map_or('=', |d| char::from(*d));
            out.push(digit);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("Aladdin:open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
