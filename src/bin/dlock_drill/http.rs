//! One HTTP request over a connection of its own, with a limit on time and size. It must not follow redirects or retry.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::failure::Failure;

/// The largest answer that is read.
const LARGEST: usize = 64 << 20;

/// Status and body of the answer.
pub async fn request(
    method: Method,
    url: &str,
    body: String,
    limit: Duration,
) -> Result<(u16, Bytes), Failure> {
    let told = |what: String| Failure::new(format!("{url}: {what}"));
    match tokio::time::timeout(limit, exchange(method, url, body)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(what)) => Err(told(what)),
        Err(_) => Err(told(format!("no answer within {limit:?}"))),
    }
}

/// GET.
pub async fn get(url: &str, limit: Duration) -> Result<(u16, Bytes), Failure> {
    request(Method::GET, url, String::new(), limit).await
}

async fn exchange(method: Method, url: &str, body: String) -> Result<(u16, Bytes), String> {
    let uri: Uri = url.parse().map_err(|e| format!("it is no URL: {e}"))?;
    if uri.scheme_str() != Some("http") {
        return Err("it must begin with http://".into());
    }
    let host = uri.host().ok_or("it names no host")?;
    let address = (host.trim_matches(['[', ']']), uri.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address).await.map_err(|e| e.to_string())?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    let driver = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |p| p.as_str());
    let authority = uri.authority().map_or("", |a| a.as_str());
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", authority)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|e| e.to_string())?;
    let answer = async {
        let answer = sender.send_request(request).await.map_err(|e| e.to_string())?;
        let status = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        Ok((status, body.map_err(|e| e.to_string())?.to_bytes()))
    }
    .await;
    driver.abort();
    answer
}
