//! The client against an endpoint that answers what it is told.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// Answers each path with a status and a body; 404 for all others.
async fn serve(answers: &'static [(&'static str, u16, &'static str)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let n = stream.read(&mut head).await.unwrap();
                let text = String::from_utf8_lossy(&head[..n]).into_owned();
                let path = text.split(' ').nth(1).unwrap_or_default();
                let found = answers.iter().find(|(p, ..)| *p == path);
                let (status, body) = found.map_or((404, "{}"), |(_, s, b)| (*s, *b));
                let answer = format!(
                    "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    url
}

fn client(url: &str) -> Exporter {
    Exporter::new(url, Access::default()).unwrap()
}

#[tokio::test]
async fn says_what_is_wrong_and_what_to_do() {
    let url = serve(&[
        ("/-/ready", 503, "Not ready: no first poll of redis main\n"),
        ("/metrics", 401, "Unauthorized\n"),
        ("/api/v1/locks?limit=20", 200, r#"{"locks":[{"store":"main","lock":"orders"}]}"#),
    ])
    .await;
    let exporter = client(&url);
    let said = exporter.ready().await.unwrap_err().to_string();
    assert!(said.contains("no first poll of redis main"), "{said}");
    let said = exporter.metrics().await.unwrap_err().to_string();
    assert!(said.contains("--exporter-password-file"), "{said}");
    let said = exporter.lock("main", "a/b").await.unwrap_err().to_string();
    assert!(said.contains("stores.main.locks") && said.contains("main/orders"), "{said}");

    let said = client(&serve(&[]).await).metrics().await.unwrap_err().to_string();
    assert!(said.contains("--exporter-telemetry-path"), "{said}");
    let access = Access { telemetry_path: Some("/locks/m".into()), ..Access::default() };
    let elsewhere = serve(&[("/locks/m", 200, "x 1\n")]).await;
    let metrics = Exporter::new(&elsewhere, access).unwrap().metrics().await.unwrap();
    assert_eq!(metrics.value("x", &[]), Some(1.0));

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let trouble = client(&nobody).ready().await.unwrap_err();
    assert!(trouble.may_pass() && trouble.to_string().contains("refused"), "{trouble}");
}

#[tokio::test]
async fn reads_a_lock_by_its_encoded_name() {
    let url = serve(&[(
        "/api/v1/locks/main/a%2Fb",
        200,
        r#"{"generation":7,"taken":1.5,"lock":{"store":"main","lock":"a/b","fresh":true,"state":"held",
            "signals":{"contested":null,"unheld":false},"holders":[{"worker":null,"fingerprint":"ab"}],
            "lease":{"expiry_timestamp":9.25},"fencing":{"accepted":{"db":null}},"unheard_of":[1]}}"#,
    )])
    .await;
    let found = client(&url).lock("main", "a/b").await.unwrap();
    assert_eq!((found.generation, found.lock.lease.expiry_timestamp), (7, Some(9.25)));
    assert_eq!(found.lock.signals.get("contested"), Some(&None));
    assert_eq!(found.lock.fencing.unwrap().accepted.get("db"), Some(&None));
    assert_eq!(found.lock.lease.length_seconds, None);
}

#[test]
fn a_password_in_the_url_is_refused_and_not_shown() {
    let said = Exporter::new("http://u:s3cret@h:1", Access::default()).unwrap_err().to_string();
    assert!(said.contains("--exporter-user") && !said.contains("s3cret"), "{said}");
    for wrong in ["", "h:1", "ftp://h", "http://"] {
        assert!(Exporter::new(wrong, Access::default()).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn many_may_ask_at_once() {
    let url = serve(&[("/-/ready", 200, "Ready.\n")]).await;
    let exporter = Arc::new(client(&url));
    let all: Vec<_> = (0..20)
        .map(|_| {
            tokio::spawn({
                let exporter = exporter.clone();
                async move { exporter.ready().await }
            })
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap(), Ok(()));
    }
}
