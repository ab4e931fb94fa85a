//! Small libraries in C that stand before the C library of a process (`LD_PRELOAD`), compiled where they are needed. It must not
//! know what they do.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::repository;

/// The library of this source of the repository, in a directory of its own.
pub fn library(source: &str) -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let path = dir.path().join("preloaded.so");
    let source = repository(source);
    let output = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-Wall", "-o"])
        .args([&path, &source])
        .output()
        .expect("cc runs; Debian's packages gcc and libc6-dev bring it");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} does not compile: {said}", source.display());
    (dir, path)
}
