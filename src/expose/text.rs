//! The text exposition format 0.0.4.

use prometheus::{Encoder, TextEncoder};

use super::families;
use super::self_facts::SelfFacts;
use crate::view::View;

/// The media type that `/metrics` answers with; Prometheus 3 refuses a scrape without an exact one.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything as text. A family that the encoder refuses is left out and logged; it never costs the others.
pub fn render(view: &View, own: &SelfFacts) -> Vec<u8> {
    let encoder = TextEncoder::new();
    let mut out = Vec::new();
    for family in families::collect(view, own) {
        let good = out.len();
        if let Err(error) = encoder.encode(std::slice::from_ref(&family), &mut out) {
            out.truncate(good);
            tracing::error!(metric = family.name(), %error, "metric family left out: it cannot be encoded");
        }
    }
    out
}
