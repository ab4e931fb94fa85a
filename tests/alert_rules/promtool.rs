//! Running promtool, which must be there: a test that is left out proves nothing.

use std::path::Path;
use std::process::Command;

use super::files::yaml_files;
use crate::support::repository;

/// What promtool said, and whether it was content.
pub struct Said {
    /// Its exit status was 0.
    pub good: bool,
    /// Everything that it printed.
    pub text: String,
}

/// Runs promtool in a directory.
pub fn promtool(directory: &Path, args: &[&str]) -> Said {
    let output = Command::new("promtool")
        .args(args)
        .current_dir(directory)
        // Collect less often: short runs with little memory.
        .env("GOGC", "400")
        .output()
        .expect("promtool is not installed: deploy/demo/need promtool=prometheus");
    let text = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    Said { good: output.status.success(), text: text.concat() }
}

fn names(directory: &str) -> Vec<String> {
    let name = |path: &std::path::PathBuf| path.display().to_string();
    yaml_files(directory).iter().map(name).collect()
}

#[test]
fn promtool_accepts_the_rules() {
    let files = names("alerts");
    let mut args = vec!["check", "rules", "--lint=all", "--lint-fatal"];
    args.extend(files.iter().map(String::as_str));
    let said = promtool(&repository("."), &args);
    assert!(said.good && !said.text.contains("FAILED"), "{}", said.text);
}

#[test]
fn the_unit_tests_of_the_rules_pass() {
    let files = names("alerts/tests");
    assert!(!files.is_empty(), "there are no unit tests");
    let mut args = vec!["test", "rules"];
    args.extend(files.iter().map(String::as_str));
    let said = promtool(&repository("."), &args);
    assert!(said.good, "{}", said.text);
    assert_eq!(said.text.matches("SUCCESS").count(), files.len(), "{}", said.text);
}
