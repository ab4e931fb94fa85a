//! The path of the metrics, checked once so that making the router cannot fail.

/// Paths that are taken. A prefix ends with `/`.
const TAKEN: [&str; 6] = ["/-/", "/api/", "/locks/", "/groups/", "/style.css", "/favicon.ico"];

/// A path that the metrics can be served at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetryPath(String);

impl TelemetryPath {
    /// Checks a path. `/` is allowed; the status page then gives way.
    pub fn parse(path: &str) -> Result<Self, String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
        if !path.starts_with('/') || !path.bytes().all(plain) {
            return Err(format!(
                "telemetry path {path:?} must begin with / and have only letters, digits and /-._~"
            ));
        }
        if TAKEN.iter().any(|t| path.starts_with(t)) {
            return Err(format!("telemetry path {path:?} is taken by another page; use /metrics"));
        }
        Ok(Self(path.to_owned()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for TelemetryPath {
    fn default() -> Self {
        Self("/metrics".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_cannot_be_routed_are_refused() {
        for path in [
            "",
            "metrics",
            "/{x}",
            "/a b",
            "/-/ready",
            "/favicon.ico",
            "/api/v1/locks",
            "/locks/a/b",
            "/ä",
            "/*rest",
        ] {
            assert!(TelemetryPath::parse(path).is_err(), "{path}");
        }
        for path in ["/", "/metrics", "/dlock/metrics"] {
            assert_eq!(TelemetryPath::parse(path).unwrap().as_str(), path);
        }
    }
}
