//! What an answer is worth: its status, its body within bounds, and whose fault it is when there is none.

use std::error::Error;

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Trouble;
use crate::observe::node::FailReason;

/// Largest body.
pub(super) const MAX_BODY: usize = 4 << 20;
/// Bodies up to here need no permit.
const SMALL_BODY: usize = 64 << 10;
/// Large bodies in memory at once.
static LARGE_BODIES: Semaphore = Semaphore::const_new(32);

/// What a status says: fine, no beat, or a mistake of ours.
pub(super) fn status(code: u16) -> Result<(), Trouble> {
    let (reason, fix) = match code {
        200..=299 => return Ok(()),
        401 => (FailReason::Auth, "check basic_auth or bearer_token_file"),
        403 => (FailReason::Permission, "these credentials may not read it"),
        404 => (FailReason::Missing, "check the path"),
        _ => return Err(Trouble::NoBeat),
    };
    Err(Trouble::Failed(reason, format!("status {code}; {fix}")))
}

/// A body, and the permit for a large one, which is kept as long as it is.
pub(super) type Body = (Vec<u8>, Option<SemaphorePermit<'static>>);

/// The whole body, bounded. Large ones need a permit.
pub(super) async fn body(response: Response<Incoming>) -> Result<Body, Trouble> {
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
pub(super) fn broken(e: &hyper::Error) -> Trouble {
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
