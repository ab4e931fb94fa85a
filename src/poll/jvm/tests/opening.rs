//! Places below a process's root that lead astray: links, queues, other people's files, none of the right size.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::super::locate::{MAX_FILE, Opened, Trouble, open, step_by_step};
use super::super::maps::CountersFile;
use crate::observe::stall::HostUnknown;

const PLACE: &str = "tmp/hsperfdata_u/7";

/// A root with this counters file's directory.
fn root() -> TempDir {
    let root = TempDir::new().unwrap();
    fs::create_dir_all(root.path().join(PLACE).parent().unwrap()).unwrap();
    root
}

fn fd(root: &Path) -> OwnedFd {
    File::open(root).unwrap().into()
}

fn try_open(root: &Path) -> Result<Opened, Trouble> {
    let uid = fs::metadata(root).unwrap().uid();
    let named = CountersFile { directory: "hsperfdata_u".to_owned(), is_removed: false };
    open(&fd(root), &named, 7, uid)
}

fn refused(root: &Path) -> String {
    let (why, what) = try_open(root).unwrap_err();
    assert_eq!(why, HostUnknown::Malformed, "{what}");
    what
}

#[test]
fn a_small_regular_file_is_opened() {
    let root = root();
    fs::write(root.path().join(PLACE), [1; 100]).unwrap();
    assert_eq!(try_open(root.path()).unwrap().size, 100);
    assert!(step_by_step(&fd(root.path()), &["tmp", "hsperfdata_u", "7"]).is_ok());
}

#[test]
fn links_do_not_lead_out_of_the_root() {
    let outside = TempDir::new().unwrap();
    fs::create_dir_all(outside.path().join("hsperfdata_u")).unwrap();
    fs::write(outside.path().join("hsperfdata_u/7"), "secret").unwrap();
    let root = root();
    symlink(outside.path().join("hsperfdata_u/7"), root.path().join(PLACE)).unwrap();
    assert!(refused(root.path()).contains("no regular file"));

    for to in [
        outside.path().to_owned(),
        Path::new("../../../../../..").join(outside.path().strip_prefix("/").unwrap()),
    ] {
        fs::remove_dir_all(root.path().join("tmp")).ok();
        fs::remove_file(root.path().join("tmp")).ok();
        symlink(&to, root.path().join("tmp")).unwrap();
        assert_eq!(try_open(root.path()).unwrap_err().0, HostUnknown::Failed, "{}", to.display());
        assert!(step_by_step(&fd(root.path()), &["tmp", "hsperfdata_u", "7"]).is_err());
    }
}

#[test]
fn a_link_is_followed_as_the_process_would() {
    let root = TempDir::new().unwrap();
    fs::create_dir_all(root.path().join("var/tmp/hsperfdata_u")).unwrap();
    fs::write(root.path().join("var/tmp/hsperfdata_u/7"), [1; 10]).unwrap();
    symlink("/var/tmp", root.path().join("tmp")).unwrap();
    assert_eq!(try_open(root.path()).unwrap().size, 10);
}

#[test]
fn what_is_no_counters_file_is_not_even_opened() {
    let root = root();
    let place = root.path().join(PLACE);
    // Opening this for reading would wait for a writer for ever.
    assert!(Command::new("mkfifo").arg(&place).status().unwrap().success());
    assert!(refused(root.path()).contains("no regular file"));
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    assert!(refused(root.path()).contains("no regular file"));
    fs::remove_dir(&place).unwrap();
    for (size, fits) in [(0, false), (1, true), (MAX_FILE, true), (MAX_FILE + 1, false)] {
        File::create(&place).unwrap().set_len(size).unwrap();
        assert_eq!(try_open(root.path()).is_ok(), fits, "{size}");
    }
}

#[test]
fn another_users_file_is_refused() {
    let root = root();
    fs::write(root.path().join(PLACE), [1; 100]).unwrap();
    let uid = fs::metadata(root.path()).unwrap().uid();
    let named = CountersFile { directory: "hsperfdata_u".to_owned(), is_removed: false };
    let (why, what) = open(&fd(root.path()), &named, 7, uid + 1).unwrap_err();
    assert!(why == HostUnknown::Malformed && what.contains("belongs to user"), "{what}");
}
