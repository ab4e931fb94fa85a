//! JVMs in containers, of other users, without counters, under a pid that another one had; and what is none.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::jvms::{Jvm, classes, command, counters, not_tested, read_until, reader, resident};
use crate::config::JvmMode;
use crate::observe::JvmRead;
use crate::observe::stall::HostUnknown;

const CONTAINER: [&str; 6] = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh"];

/// A program in pid and mount namespaces of its own, with a `/tmp` of its own that still has the classes.
fn contained(script: &str) -> Option<Command> {
    let may = Command::new("unshare").args(["--pid", "--fork", "--mount-proc", "true"]).output();
    if !may.is_ok_and(|done| done.status.success()) {
        not_tested("this machine does not let us unshare pids and mounts");
        return None;
    }
    let classes = classes()?;
    let setup = format!(
        "set -e; exec 3< '{}'; exec 4<&0; mount -t tmpfs tmpfs /tmp; mkdir /tmp/classes; \
         cp /proc/self/fd/3/*.class /tmp/classes; {script}",
        classes.display()
    );
    let mut command = Command::new(CONTAINER[0]);
    command.args(&CONTAINER[1..]).args(["-c", &setup]);
    Some(command)
}

/// The only child of a process.
fn child(of: i32) -> i32 {
    for _ in 0..400 {
        let children = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap();
        if let Ok(pid) = children.trim().parse() {
            return pid;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("process {of} has no child");
}

fn unknown(read: Option<&JvmRead>, why: HostUnknown) -> bool {
    read.is_some_and(|r| r.seen == Err(why))
}

#[test]
fn a_jvm_in_a_container_is_found_by_its_inner_pid() {
    let Some(command) = contained("exec java -XX:+UseSerialGC -cp /tmp/classes Tested") else {
        return;
    };
    let mut jvm = Jvm::spawn(command);
    assert_eq!(jvm.line(), "ready");
    let resident = resident(child(jvm.pid), JvmMode::Auto);
    let mut jvms = reader();
    let before = counters(&mut jvms, &resident);
    jvm.tell("gc 1");
    let after = counters(&mut jvms, &resident);
    assert!(after.collectors[1].invocations > before.collectors[1].invocations);
}

#[test]
fn the_file_of_a_killed_jvm_is_not_that_of_the_next_under_its_pid() {
    // The second begins without counters, so that it does not clear away what the first left.
    let script = "java -cp /tmp/classes Tested < /dev/zero & first=$!; \
         until [ -s /tmp/hsperfdata_*/$first ]; do sleep 0.05; done; sleep 0.3; \
         kill -9 $first; wait $first || true; echo $((first - 1)) > /proc/sys/kernel/ns_last_pid; \
         java -XX:-UsePerfData -cp /tmp/classes Tested <&4 & \
         test -s /tmp/hsperfdata_*/$first; echo $first $!; wait";
    let Some(command) = contained(script) else { return };
    let mut jvm = Jvm::spawn(command);
    let mut line = jvm.line();
    while line == "ready" {
        line = jvm.line();
    }
    let (first, second) = line.split_once(' ').unwrap();
    assert_eq!(first, second, "the second JVM has the pid of the first");
    let resident = resident(child(child(jvm.pid)), JvmMode::Auto);
    let read = read_until(&mut reader(), &resident, |r| {
        assert!(r.is_none_or(|r| r.seen.is_err()), "the dead one's counters: {r:?}");
        r.is_some()
    });
    assert!(unknown(read.as_ref(), HostUnknown::Unsupported), "{read:?}");
    assert!(read.unwrap().detail.contains("-XX:-UsePerfData"));
}

#[test]
fn a_jvm_of_another_user_is_read_by_root() {
    if classes().is_none() || !rustix::process::geteuid().is_root() {
        return not_tested("only root reads the counters of another user's JVM");
    }
    let as_nobody = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"];
    let mut jvm = Jvm::spawn(command(&as_nobody, &["-XX:+UseSerialGC"]));
    assert_eq!(jvm.line(), "ready");
    let mut jvms = reader();
    assert!(counters(&mut jvms, &jvm.resident(JvmMode::Auto)).safepoints.is_some());
}

#[test]
fn a_program_that_becomes_a_jvm_is_found() {
    let Some(classes) = classes() else { return };
    let mut command = Command::new("sh");
    let script =
        format!("read line; exec java -XX:+UseSerialGC -cp '{}' Tested", classes.display());
    command.args(["-c", &script]);
    let mut jvm = Jvm::spawn(command);
    let (mut jvms, resident) = (reader(), jvm.resident(JvmMode::Auto));
    for _ in 0..10 {
        assert_eq!(jvms.read(&resident), None, "a shell");
    }
    jvm.begin("");
    counters(&mut jvms, &resident);
}

#[test]
fn what_is_no_jvm_is_none() {
    let sleeper = Jvm::spawn({
        let mut command = Command::new("sleep");
        command.arg("60");
        command
    });
    let mut jvms = reader();
    assert_eq!(jvms.read(&sleeper.resident(JvmMode::Auto)), None);
    assert_eq!(jvms.read(&sleeper.resident(JvmMode::Never)), None);
    let read = jvms.read(&sleeper.resident(JvmMode::Always));
    assert!(unknown(read.as_ref(), HostUnknown::Absent), "{read:?}");
}

#[test]
fn more_jvms_than_descriptors_are_said_to_be_unread() {
    let Some(jvm) = Jvm::start(&["-XX:+UseSerialGC"]) else { return };
    let resident = jvm.resident(JvmMode::Auto);
    let mut jvms = reader();
    jvms.may_be_open = 0;
    let read = jvms.read(&resident);
    assert!(unknown(read.as_ref(), HostUnknown::Failed), "{read:?}");
    assert!(read.unwrap().detail.contains("LimitNOFILE"));
    jvms.may_be_open = 1;
    counters(&mut jvms, &resident);
    assert_eq!(jvms.open, 1);
    jvms.keep(|_| false);
    assert_eq!(jvms.open, 0);
}
