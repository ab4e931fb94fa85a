//! The thread: it tells each tick, takes up who comes, and ends without being waited for.

use tokio::sync::mpsc;

use super::*;

#[test]
fn it_tells_each_tick_and_ends_with_its_handle() {
    let (out, mut facts) = mpsc::channel(4);
    let residents = Residents::default();
    let handle = spawn(residents.clone(), settings("/proc"), out);
    let mut polls = 0;
    let mut next = || loop {
        match facts.blocking_recv().expect("it runs") {
            Observation::Stalls(read) => return read,
            Observation::Poll(done) => {
                assert_eq!((done.poller, &*done.target, done.failure), ("stall", "host", None));
                assert_eq!(done.interval, Duration::from_millis(100));
                polls += 1;
            }
            _ => {}
        }
    };
    let first = next();
    assert!(first.samples.is_empty());
    let child = Mortal::sh("exec sleep 600");
    residents.set(&Arc::from("w"), None, vec![resident(child.pid())]);
    let read = (0..50).map(|_| next()).find(|r| !r.samples.is_empty()).expect("a sample");
    assert_eq!(read.samples[0].process, resident(child.pid()).process);
    residents.set(&Arc::from("w"), None, Vec::new());
    (0..50).map(|_| next()).find(|r| r.samples.is_empty()).expect("forgotten");
    assert!(polls > 0);
    // The channel is full by and by; whoever drops the handle does not wait for that.
    drop(handle);
    while facts.blocking_recv().is_some() {}
}

#[test]
fn it_ends_when_nobody_listens() {
    let (out, facts) = mpsc::channel(1);
    let (stop, stopped) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        run(&Residents::default(), &settings("/proc"), &out, &stopped);
    });
    drop(facts);
    thread.join().unwrap();
    drop(stop);
}
