//! The work's effects on the protected resource, each with the fencing token of its tenure. It must not judge whether the lock is
//! still held: a stall may fall between the check and the effect, which is what the token is for.

use std::time::Duration;

use hyper::Method;

use super::{Options, Requests};
use crate::failure::Failure;
use crate::http;
use crate::resource::Effect;

/// Longest wait for the resource.
const LIMIT: Duration = Duration::from_secs(2);

/// The effects of one tenure.
pub struct Effects {
    url: Option<String>,
    name: String,
    requests: Requests,
    token: Option<u64>,
    done: u64,
}

impl Effects {
    /// Of a tenure with this fencing token.
    pub fn new(options: &Options, token: Option<u64>) -> Self {
        Self {
            url: options.resource.clone(),
            name: options.name.clone(),
            requests: options.requests,
            token,
            done: 0,
        }
    }

    /// Whether there is a resource.
    pub fn any(&self) -> bool {
        self.url.is_some()
    }

    /// One effect: whether the resource accepted it.
    pub async fn one(&mut self) -> Result<bool, Failure> {
        let Some(url) = &self.url else { return Ok(true) };
        let request = match self.requests {
            Requests::Fresh => {
                format!("{}-{}-{}", self.name, self.token.unwrap_or_default(), self.done)
            }
            Requests::Repeated => format!("request-{}", self.done),
        };
        let effect = Effect { request, token: self.token };
        let body = serde_json::to_string(&effect).map_err(|e| Failure::new(e.to_string()))?;
        let (status, _) = http::request(Method::POST, url, body, LIMIT).await?;
        match status {
            200 => {
                self.done += 1;
                Ok(true)
            }
            409 => Ok(false),
            other => Err(Failure::new(format!("{url}: it answered {other}"))),
        }
    }
}
