//! One GET to an HTTP endpoint, read as a heartbeat or for a value. A connection of its own each time, so that it is plain how far the
//! endpoint came: connected without an answer, refused, or answering "not well" is no beat; what lies between us and it (DNS,
//! network, TLS, credentials, a wrong path) says nothing about the worker. Neither URLs' queries nor credentials are logged.

mod answer;
pub mod connect;
pub mod credentials;

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::exposition;
use super::{failed, json, tls, value};
use crate::config::{HttpPart, MetricSelector};
use crate::observe::node::FailReason;
use crate::observe::worker::Beat;
use crate::poll::lane::Inside;
use answer::{Body, body, broken, status};
pub use credentials::Credentials;

/// From connected to the last byte that is needed.
const ANSWER: Duration = Duration::from_secs(1);
/// Connections at once; a descriptor each.
static CONNECTIONS: Semaphore = Semaphore::const_new(256);

/// An endpoint and what of its answer counts.
#[derive(Debug)]
pub struct Endpoint {
    secure: bool,
    host: String,
    port: u16,
    authority: String,
    target: String,
    part: Part,
    credentials: Credentials,
    tls: Arc<tls::Client>,
}

#[derive(Debug)]
enum Part {
    Success,
    Json(String),
    Metric(MetricSelector),
}

/// A good answer.
enum Answer {
    /// It came.
    Success,
    /// With this document.
    Document(Body),
    /// With this sample.
    Sample(String),
}

/// Why there is no value.
#[derive(Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The worker's own doing: no beat.
    NoBeat,
    /// Says nothing about the worker.
    Failed(FailReason, String),
}

impl Endpoint {
    /// From a URL whose templates are filled.
    pub fn new(
        url: &str,
        part: &HttpPart,
        credentials: Credentials,
        tls: Arc<tls::Client>,
    ) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|e| format!("not a URL: {e}"))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("the URL must begin with http:// or https://".to_owned()),
        };
        let authority = uri.authority().ok_or("the URL names no host")?.as_str().to_owned();
        if authority.contains('@') {
            return Err("credentials do not belong in a URL; use basic_auth".to_owned());
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let target = uri.path_and_query().map_or("/", |t| t.as_str()).to_owned();
        Ok(Self {
            secure,
            host,
            port: uri.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            authority,
            target,
            part: match part {
                HttpPart::Success => Part::Success,
                HttpPart::Json(pointer) => Part::Json(pointer.clone()),
                HttpPart::Metric(text) => Part::Metric(MetricSelector::parse(text)?),
            },
            credentials,
            tls,
        })
    }

    /// Path and query as they are sent.
    pub fn request_target(&self) -> &str {
        &self.target
    }

    /// Asks once, for a beat.
    pub async fn beat(&self, inside: Inside) -> Beat {
        let Ok(_permit) = CONNECTIONS.acquire().await else { return Beat::None };
        match self.exchange(&inside).await.and_then(|answer| self.as_beat(answer)) {
            Ok(beat) => beat,
            Err(Trouble::NoBeat) => Beat::None,
            Err(Trouble::Failed(reason, detail)) => failed(reason, self.place(&detail)),
        }
    }

    /// Asks once, for a value: the sample's text, or the whole document for whoever knows what of it is meant.
    pub async fn value(&self, inside: Inside) -> Result<Vec<u8>, (FailReason, String)> {
        let Ok(_permit) = CONNECTIONS.acquire().await else {
            return Err((FailReason::Other, "this program ends".to_owned()));
        };
        let text = match self.exchange(&inside).await {
            Ok(Answer::Document((body, _permit))) => Ok(body),
            Ok(Answer::Sample(text)) => Ok(text.into_bytes()),
            Ok(Answer::Success) => Err((
                FailReason::Other,
                "an answer alone is no value; add json or metric".to_owned(),
            )),
            Err(Trouble::NoBeat) => {
                Err((FailReason::Network, "no answer, or one that is not 2xx".to_owned()))
            }
            Err(Trouble::Failed(reason, detail)) => Err((reason, detail)),
        };
        text.map_err(|(reason, detail)| (reason, self.place(&detail)))
    }

    /// Where in the document the value is.
    pub fn pointer(&self) -> Option<&str> {
        match &self.part {
            Part::Json(pointer) => Some(pointer),
            Part::Success | Part::Metric(_) => None,
        }
    }

    fn as_beat(&self, answer: Answer) -> Result<Beat, Trouble> {
        match (answer, self.pointer()) {
            (Answer::Document((body, _permit)), Some(pointer)) => {
                let text = json::scalar(&body, pointer).map_err(|(r, d)| Trouble::Failed(r, d))?;
                Ok(value::plain(text.as_bytes()))
            }
            (Answer::Sample(text), _) => Ok(value::plain(text.as_bytes())),
            _ => Ok(Beat::Success),
        }
    }

    /// A failure with where it was. Queries may hold secrets.
    fn place(&self, detail: &str) -> String {
        let path = self.target.split('?').next().unwrap_or_default();
        format!("http source {}{path}: {detail}", self.authority)
    }

    async fn exchange(&self, inside: &Inside) -> Result<Answer, Trouble> {
        let request = self.request(inside).await?;
        // Loaded before connecting: our own slow disk must not look like the endpoint's silence.
        let tls = match self.secure {
            true => Some(self.tls.config().await.map_err(|e| Trouble::Failed(FailReason::Tls, e))?),
            false => None,
        };
        let tcp = connect::connect(&self.host, self.port).await?;
        let answer = async {
            let Some(tls) = tls else { return self.ask(tcp, request).await };
            let wrong = |e: std::io::Error| Trouble::Failed(FailReason::Tls, format!("TLS: {e}"));
            let stream = self.tls.handshake(&self.host, tls, tcp).await.map_err(wrong)?;
            self.ask(stream, request).await
        };
        timeout(ANSWER, answer).await.unwrap_or(Err(Trouble::NoBeat))
    }

    async fn request(&self, inside: &Inside) -> Result<Request<Empty<Bytes>>, Trouble> {
        let mut request = Request::get(&self.target)
            .header(header::HOST, &self.authority)
            .header(header::USER_AGENT, concat!("dlock_exporter/", env!("CARGO_PKG_VERSION")))
            .header(header::CONNECTION, "close")
            .header(
                header::ACCEPT,
                match self.part {
                    Part::Metric(_) => "text/plain;version=0.0.4;q=1,*/*;q=0.1",
                    _ => "*/*",
                },
            );
        if let Some(value) = self.credentials.header(inside).await? {
            request = request.header(header::AUTHORIZATION, value);
        }
        request
            .body(Empty::new())
            .map_err(|e| Trouble::Failed(FailReason::Other, format!("cannot be asked for: {e}")))
    }

    async fn ask<S>(&self, stream: S, request: Request<Empty<Bytes>>) -> Result<Answer, Trouble>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|e| broken(&e))?;
        // The connection's task ends with this set: nothing outlives the answer's time.
        let mut driver = tokio::task::JoinSet::new();
        driver.spawn(connection);
        let response = sender.send_request(request).await.map_err(|e| broken(&e))?;
        status(response.status().as_u16())?;
        match &self.part {
            Part::Success => Ok(Answer::Success),
            Part::Json(_) => Ok(Answer::Document(body(response).await?)),
            Part::Metric(selector) => {
                let (body, _permit) = body(response).await?;
                let text =
                    exposition::value(selector, &body).map_err(|(r, d)| Trouble::Failed(r, d))?;
                Ok(Answer::Sample(text.to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
