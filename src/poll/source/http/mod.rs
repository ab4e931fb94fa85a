//! One GET to an HTTP endpoint, read as a heartbeat. A connection of its own each time, so that it is plain how far the
//! endpoint came: connected without an answer, refused, or answering "not well" is no beat; what lies between us and it (DNS,
//! network, TLS, credentials, a wrong path) says nothing about the worker. Neither URLs' queries nor credentials are logged.

pub mod connect;
pub mod credentials;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::exposition;
use super::{failed, json, tls, value};
use crate::config::{HttpPart, MetricSelector};
use crate::observe::node::FailReason;
use crate::observe::worker::Beat;
use crate::poll::lane::{Inside, Lane};
pub use credentials::Credentials;

/// From connected to the last byte that is needed.
const ANSWER: Duration = Duration::from_secs(1);
/// Largest body.
const MAX_BODY: usize = 4 << 20;
/// Bodies up to here need no permit.
const SMALL_BODY: usize = 64 << 10;
/// Connections at once; a descriptor each.
static CONNECTIONS: Semaphore = Semaphore::const_new(256);
/// Large bodies in memory at once.
static LARGE_BODIES: Semaphore = Semaphore::const_new(32);

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
    lookup: Lane,
}

#[derive(Debug)]
enum Part {
    Success,
    Json(String),
    Metric(MetricSelector),
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
            lookup: Lane::default(),
        })
    }

    /// Path and query as they are sent.
    pub fn request_target(&self) -> &str {
        &self.target
    }

    /// Asks once.
    pub async fn beat(&self, inside: Inside) -> Beat {
        let Ok(_permit) = CONNECTIONS.acquire().await else { return Beat::None };
        match self.exchange(&inside).await {
            Ok(beat) => beat,
            Err(Trouble::NoBeat) => Beat::None,
            Err(Trouble::Failed(reason, detail)) => {
                let path = self.target.split('?').next().unwrap_or_default();
                failed(reason, format!("http source {}{path}: {detail}", self.authority))
            }
        }
    }

    async fn exchange(&self, inside: &Inside) -> Result<Beat, Trouble> {
        let request = self.request(inside).await?;
        // Loaded before connecting: our own slow disk must not look like the endpoint's silence.
        let tls = match self.secure {
            true => Some(self.tls.config().await.map_err(|e| Trouble::Failed(FailReason::Tls, e))?),
            false => None,
        };
        let tcp = connect::connect(&self.host, self.port, &self.lookup).await?;
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

    async fn ask<S>(&self, stream: S, request: Request<Empty<Bytes>>) -> Result<Beat, Trouble>
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
            Part::Success => Ok(Beat::Success),
            Part::Json(pointer) => {
                let (body, _permit) = body(response).await?;
                let text = json::scalar(&body, pointer).map_err(|(r, d)| Trouble::Failed(r, d))?;
                Ok(value::plain(text.as_bytes()))
            }
            Part::Metric(selector) => {
                let (body, _permit) = body(response).await?;
                let text =
                    exposition::value(selector, &body).map_err(|(r, d)| Trouble::Failed(r, d))?;
                Ok(value::plain(text.as_bytes()))
            }
        }
    }
}

fn status(code: u16) -> Result<(), Trouble> {
    let (reason, fix) = match code {
        200..=299 => return Ok(()),
        401 => (FailReason::Auth, "check basic_auth or bearer_token_file"),
        403 => (FailReason::Permission, "these credentials may not read it"),
        404 => (FailReason::Missing, "check the path"),
        _ => return Err(Trouble::NoBeat),
    };
    Err(Trouble::Failed(reason, format!("status {code}; {fix}")))
}

/// The whole body, bounded. Large ones need a permit, which is kept as long as they are.
async fn body(
    response: Response<Incoming>,
) -> Result<(Vec<u8>, Option<tokio::sync::SemaphorePermit<'static>>), Trouble> {
    let mut incoming = response.into_body();
    let mut all = Vec::new();
    let mut permit = None;
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|e| broken(&e))?;
        let Some(data) = frame.data_ref() else { continue };
        let len = all.len().saturating_add(data.len());
        if len > MAX_BODY {
            let detail = "the answer is longer than 4 MiB; point at something smaller";
            return Err(Trouble::Failed(FailReason::Protocol, detail.to_owned()));
        }
        if len > SMALL_BODY && permit.is_none() {
            // Waiting here would pass our own congestion off as the endpoint's silence.
            permit = Some(LARGE_BODIES.try_acquire().map_err(|_| {
                let detail = "too many answers above 64 KiB at once; point at something smaller";
                Trouble::Failed(FailReason::Other, detail.to_owned())
            })?);
        }
        all.extend_from_slice(data);
    }
    Ok((all, permit))
}

/// An exchange that broke after the connection stood: what is no HTTP and what TLS refused is not the worker's doing, a
/// connection that ends without an answer is.
fn broken(e: &hyper::Error) -> Trouble {
    if e.is_parse() {
        return Trouble::Failed(FailReason::Protocol, "the answer is not HTTP".to_owned());
    }
    let mut cause: Option<&(dyn Error + 'static)> = e.source();
    while let Some(inner) = cause {
        let io = inner.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref());
        if let Some(tls) = io.and_then(|e| e.downcast_ref::<rustls::Error>()) {
            return Trouble::Failed(FailReason::Tls, format!("TLS: {tls}"));
        }
        cause = inner.source();
    }
    Trouble::NoBeat
}

#[cfg(test)]
mod tests;
