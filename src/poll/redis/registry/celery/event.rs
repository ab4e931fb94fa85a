//! What a message of a Celery worker says: who it is, how often it beats, and whether it leaves. As kombu writes them to
//! Redis: JSON around a body that is JSON in base64. A body that is written in another way leaves the name, which stands
//! beside it. Must not panic, whatever was published.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;

use super::super::super::subscription::Message;

/// Longest name of a worker.
const MAX_NAME: usize = 255;
/// Time between two beats where a message does not say it; what Celery itself assumes then.
const UNSAID: Duration = Duration::from_secs(60);
/// Beats further apart are not believed.
const LONGEST: Duration = Duration::from_secs(300);

/// The kinds of events of workers, as the ends of channels.
pub const KINDS: [&str; 3] = ["worker.online", "worker.heartbeat", "worker.offline"];

/// One event of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its node name, `celery@host`.
    pub name: String,
    /// Time between two of its beats.
    pub every: Duration,
    /// It says goodbye.
    pub leaves: bool,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    body: Option<Cow<'a, str>>,
    #[serde(default)]
    headers: Option<Headers>,
}

#[derive(Deserialize)]
struct Headers {
    #[serde(default)]
    hostname: Option<String>,
}

#[derive(Default, Deserialize)]
struct Body {
    #[serde(default)]
    hostname: Option<String>,
    #[serde(default)]
    freq: Option<f64>,
}

/// The event in a message; `None` if it names nobody.
pub fn read(message: &Message) -> Option<Event> {
    let envelope: Envelope<'_> = serde_json::from_slice(message.payload.as_deref()?).ok()?;
    let body = envelope.body.as_deref().unwrap_or_default();
    let decoded = base64(body.as_bytes());
    let body = decoded.as_deref().unwrap_or(body.as_bytes());
    let body: Body = serde_json::from_slice(body).unwrap_or_default();
    let name = body.hostname.or(envelope.headers?.hostname)?;
    let said = body.freq.and_then(|s| Duration::try_from_secs_f64(s).ok());
    Some(Event {
        name: Some(name).filter(|n| !n.is_empty() && n.len() <= MAX_NAME)?,
        every: said.filter(|every| !every.is_zero()).unwrap_or(UNSAID).min(LONGEST),
        leaves: message.channel.ends_with(b".offline"),
    })
}

/// RFC 4648, with padding or without; `None` if it is anything else.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0u32;
        for letter in group {
            let digit = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(digit);
        }
        let bytes = (bits << (6 * (4 - group.len()))).to_be_bytes();
        // Two letters carry one byte, three carry two; one alone carries none.
        out.extend_from_slice(bytes.get(1..group.len()).filter(|b| !b.is_empty())?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::poll::source::http::credentials;

    fn message(channel: &str, payload: &[u8]) -> Message {
        Message { channel: channel.as_bytes().to_vec(), payload: Some(payload.to_vec()) }
    }

    /// What Celery 5.7.0 published, shortened where nothing reads it.
    const HEARTBEAT: &str = r#"{"body": "eyJob3N0bmFtZSI6ICJ3MUB2bSIsICJ1dGNvZmZzZXQiOiAwLjAsICJwaWQiOiAzNjMsICJjbG9jayI6IDIsICJmcmVxIjogMi4wLCAiYWN0aXZlIjogMCwgInByb2Nlc3NlZCI6IDAsICJsb2FkYXZnIjogWzMuODcsIDIuMzEsIDIuNzZdLCAic3dfaWRlbnQiOiAicHktY2VsZXJ5IiwgInN3X3ZlciI6ICI1LjcuMCIsICJzd19zeXMiOiAiTGludXgiLCAidGltZXN0YW1wIjogMTc5NjAwMDk3NS4zNDg5NzY0LCAidHlwZSI6ICJ3b3JrZXItaGVhcnRiZWF0In0=", "content-encoding": "utf-8", "content-type": "application/json", "headers": {"hostname": "w1@vm"}, "properties": {"delivery_mode": 1, "delivery_info": {"exchange": "celeryev", "routing_key": "worker.heartbeat"}, "priority": 0, "body_encoding": "base64", "delivery_tag": "d91e3e0c-9a93-434c-94e0-808506c65b52"}}"#;

    #[test]
    fn events_are_read_as_celery_publishes_them() {
        let beat = read(&message("/3.celeryev/worker.heartbeat", HEARTBEAT.as_bytes()));
        let every = Duration::from_secs(2);
        assert_eq!(beat, Some(Event { name: "w1@vm".into(), every, leaves: false }));
        let end = read(&message("/3.celeryev/worker.offline", HEARTBEAT.as_bytes())).unwrap();
        assert!(end.leaves);
    }

    #[test]
    fn a_body_that_cannot_be_read_leaves_the_name_beside_it() {
        let of = |text: &str| read(&message("c/worker.heartbeat", text.as_bytes()));
        for body in [r#""gAN9cQAu""#, r#""%%""#, r#""""#, "null", r#""bnVsbA==""#] {
            let event = of(&format!(r#"{{"body": {body}, "headers": {{"hostname": "a@b"}}}}"#));
            let event = event.unwrap_or_else(|| panic!("{body}"));
            assert_eq!((event.name.as_str(), event.every), ("a@b", UNSAID), "{body}");
        }
        let plain = of(r#"{"body": "{\"hostname\": \"a@b\", \"freq\": 0.5}", "headers": {}}"#);
        assert_eq!(plain.unwrap().every, Duration::from_millis(500));
        let long = "x".repeat(256);
        for nobody in ["", "{}", "[]", r#"{"headers": {}}"#, r#"{"headers": {"hostname": 1}}"#] {
            assert_eq!(of(nobody), None, "{nobody}");
        }
        assert_eq!(of(&format!(r#"{{"headers": {{"hostname": "{long}"}}}}"#)), None);
        for freq in ["-1", "0", "1e300", "600"] {
            let body = credentials::base64(format!(r#"{{"freq": {freq}}}"#).as_bytes());
            let event = of(&format!(r#"{{"body": "{body}", "headers": {{"hostname": "a"}}}}"#));
            assert!(event.is_some_and(|e| e.every >= UNSAID && e.every <= LONGEST), "{freq}");
        }
    }

    proptest! {
        #[test]
        fn any_message_is_survived(payload in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&message("c/worker.online", &payload));
        }

        #[test]
        fn base64_of_anything_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let coded = credentials::base64(&bytes);
            prop_assert_eq!(base64(coded.as_bytes()), Some(bytes));
        }
    }
}
