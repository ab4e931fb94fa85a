//! One GET after another to the exporter, each on a connection of its own and within its time and size. It tells what went
//! wrong on the way apart from what the exporter answers; credentials go into the header and nowhere else.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::config::TlsFiles;
use dlock_exporter::poll::lane::{Entry, Lane};
use dlock_exporter::poll::source::http::connect::connect;
use dlock_exporter::poll::source::http::{Credentials, Trouble as Failure};
use dlock_exporter::poll::source::tls;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::Trouble;

/// From connected to the last byte. An exporter answers from memory, but its host may be busy.
const ANSWER: Duration = Duration::from_secs(15);
/// From when the password file counts as hung.
const PATIENCE: Duration = Duration::from_secs(5);
/// Of an answer's text in an error.
const MOST_LINE: usize = 200;

/// How the exporter may be asked.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// User, and the file with the password.
    pub basic: Option<(String, PathBuf)>,
    /// PEM file of the authority that signed its certificate, where the system does not know it.
    pub ca_file: Option<PathBuf>,
    /// Where its metrics are; `/metrics` if it is not said.
    pub telemetry_path: Option<String>,
}

/// Where the exporter is, and how it is asked.
#[derive(Debug)]
pub struct Http {
    url: String,
    base: String,
    host: String,
    authority: String,
    port: u16,
    is_secure: bool,
    credentials: Credentials,
    tls: Arc<tls::Client>,
}

/// What it answered.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body's first line, for an error.
    pub fn line(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let first = text.lines().next().unwrap_or_default();
        let shown = first.chars().filter(|c| !c.is_control()).take(MOST_LINE);
        shown.collect::<String>().trim().to_owned()
    }
}

impl Http {
    /// From a URL; a path in it is put before those that are asked for.
    pub fn new(url: &str, access: Access) -> Result<Self, Trouble> {
        // What stands before an @ may be a password.
        let shown = url.rsplit('@').next().unwrap_or_default().to_owned();
        let wrong = |why: &str| Trouble::Url { url: shown.clone(), why: why.to_owned() };
        let uri: Uri = url.parse().map_err(|_| wrong("it is no URL; write http://HOST:10121"))?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("it must begin with http:// or https://")),
        };
        let Some(authority) = uri.authority().map(|a| a.as_str().to_owned()) else {
            return Err(wrong("it names no host"));
        };
        if authority.contains('@') {
            return Err(wrong(
                "credentials do not belong in a URL; use --exporter-user and --exporter-password-file",
            ));
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            base: uri.path().trim_end_matches('/').to_owned(),
            host,
            port: uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 }),
            authority,
            is_secure,
            credentials: Credentials { basic: access.basic, bearer: None },
            tls: Arc::new(tls::Client::new(TlsFiles {
                ca_file: access.ca_file,
                ..TlsFiles::default()
            })),
        })
    }

    /// The URL as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks once. A body above `most` bytes is an error.
    pub async fn get(&self, path: &str, most: usize) -> Result<Answer, Trouble> {
        let request = self.request(path).await?;
        let tcp = connect(&self.host, self.port).await.map_err(|e| self.far(e))?;
        let ask = async {
            if !self.is_secure {
                return self.ask(tcp, request, most).await;
            }
            let config = self.tls.config().await.map_err(|why| self.unreached(why))?;
            let stream = self.tls.handshake(&self.host, config, tcp).await;
            let stream = stream.map_err(|e| self.unreached(format!("TLS: {e}")))?;
            self.ask(stream, request, most).await
        };
        let late = || Err(self.unreached(format!("no answer to {path} in {} s", ANSWER.as_secs())));
        let answer = timeout(ANSWER, ask).await.unwrap_or_else(|_| late())?;
        match answer.status {
            401 | 403 => Err(Trouble::Refused { url: self.url.clone(), status: answer.status }),
            _ => Ok(answer),
        }
    }

    async fn request(&self, path: &str) -> Result<Request<Empty<Bytes>>, Trouble> {
        let mut request = Request::get(format!("{}{path}", self.base))
            .header(header::HOST, &self.authority)
            .header(header::USER_AGENT, concat!("dlock_drill/", env!("CARGO_PKG_VERSION")))
            .header(header::CONNECTION, "close");
        let Entry::Free(inside) = Lane::default().enter(clock::mono(), PATIENCE) else {
            return Err(self.unreached("the password file is still being read".to_owned()));
        };
        if let Some(value) = self.credentials.header(&inside).await.map_err(|e| self.far(e))? {
            request = request.header(header::AUTHORIZATION, value);
        }
        request.body(Empty::new()).map_err(|e| self.unreached(format!("cannot be asked: {e}")))
    }

    async fn ask<S>(
        &self,
        stream: S,
        request: Request<Empty<Bytes>>,
        most: usize,
    ) -> Result<Answer, Trouble>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let broken = |e: hyper::Error| self.unreached(format!("the exchange broke: {e}"));
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // The connection's task ends with this set.
        let mut driver = tokio::task::JoinSet::new();
        driver.spawn(connection);
        let response = sender.send_request(request).await.map_err(broken)?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), most).collect().await;
        let too_long =
            |e| self.unreached(format!("its answer broke off or has over {most} bytes: {e}"));
        Ok(Answer { status, body: body.map_err(too_long)?.to_bytes().to_vec() })
    }

    fn far(&self, failure: Failure) -> Trouble {
        match failure {
            Failure::NoBeat => self.unreached("the connection was refused".to_owned()),
            Failure::Failed(_, why) => self.unreached(why),
        }
    }

    fn unreached(&self, why: String) -> Trouble {
        Trouble::NotReachable { url: self.url.clone(), why }
    }
}
