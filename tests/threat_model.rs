//! The threat model names a test for each claim; each of them exists.

use crate::support::repository;

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let model = std::fs::read_to_string(repository("deploy/threat-model.md")).unwrap();
    let words = model.split('`').skip(1).step_by(2);
    let named = words.filter(|w| w.starts_with("tests/") || w.starts_with("src/"));
    let mut count = 0;
    for name in named {
        let (file, test) = name.split_once("::").map_or((name, None), |(f, t)| (f, Some(t)));
        let path = repository(file);
        assert!(path.exists(), "{name}: there is no such file");
        let Some(test) = test else { continue };
        let text = std::fs::read_to_string(path).unwrap();
        let at = text.find(&format!("fn {test}(")).unwrap_or_else(|| panic!("{name} is gone"));
        let before = text[..at].trim_end().trim_end_matches("async").trim_end();
        assert!(
            before.ends_with("#[test]") || before.ends_with("#[tokio::test]"),
            "{name} is no test"
        );
        count += 1;
    }
    assert!(count >= 12, "{count} tests are named");
}
