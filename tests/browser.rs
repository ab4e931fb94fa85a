//! The pages in a headless Chromium, over a real server with a frozen holder, two owners at once and names that try to break
//! out: without scripts, by axe-core's rules, by keys, light and dark. The longer form looks at more of them, at all sizes, and
//! with thousands of locks. What they look like is left in `target/browser`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Driver, Exporter, RedisServer, long, repository, wait_until};

const SOON: Duration = Duration::from_secs(30);

/// What a name may do to a page: end an element or an attribute, turn the text around it, be very long, be nothing.
const HOSTILE: [&str; 6] = [
    "<script>document.title='broken'</script>",
    "\"><img src=x onerror=alert(1)>",
    "a'onmouseover='alert(1)",
    "\u{202e}gnp.eman\u{202c}\u{2066}",
    "קוד נעילה/1",
    " ../..//%2e?#&amp;",
];

/// Holders that renew each second. One beats no more after a second and a half; another takes what is not free, once.
fn world(server: &RedisServer) -> Driver {
    let channels = ["orders", "contested", "*"].map(|k| format!("&__keyspace@0__:lock:{k}"));
    server.cmd(&[
        "ACL",
        "SETUSER",
        "dlock",
        &channels[0],
        &channels[1],
        &channels[2],
        "+psubscribe",
    ]);
    server.cmd(&["CONFIG", "SET", "notify-keyspace-events", "Kg$xe"]);
    Driver::start(server, 0, |c| {
        let locks = ["orders", "nightly", "mail", "contested"];
        for (n, lock) in locks.iter().enumerate() {
            c.cmd(&["SET", &format!("lock:{lock}"), &format!("w-{n}:a{n}"), "PX", "20000"]);
        }
        c.cmd(&["SET", "lock:endless", "w-9:e"]);
        let mut beat = 0;
        while c.wait(Duration::from_millis(500)) {
            beat += 1;
            for (n, lock) in locks.iter().enumerate() {
                if beat % 2 == 0 {
                    c.cmd(&["PEXPIRE", &format!("lock:{lock}"), "20000"]);
                }
                if n > 0 || beat < 5 {
                    c.cmd(&["SET", &format!("hb:w-{n}"), &beat.to_string()]);
                }
            }
            // Long enough after it was taken for its owner to be known.
            if beat % 60 == 10 {
                c.cmd(&["SET", "lock:contested", &format!("w-4:b{beat}"), "PX", "20000"]);
            }
        }
    })
}

/// Where there are thousands, they need not be read so often.
fn exporter(server: &RedisServer, poll: &str) -> Exporter {
    Exporter::start(&format!(
        "poll_interval: {poll}
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: orders, key: 'lock:orders', holder: '^(?P<worker>[^:]+):', lease: 20s, token: per_acquire }}
      - {{ name: contested, key: 'lock:contested', holder: '^(?P<worker>[^:]+):', lease: 20s, token: per_acquire }}
      - {{ match: 'lock:*', max_locks: 6000, holder: '^(?P<worker>[^:]+):' }}
workers:
  all: {{ match: 'w-.*', heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 3s }} }}
",
        server.url()
    ))
}

/// Runs a program of `tests/browser`, and gives what it printed.
fn run(command: &mut Command) -> (bool, String) {
    let output = command.stderr(Stdio::inherit()).output().expect("it can be started");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Has pages looked at: names for the pictures, paths, and how closely.
fn look(exporter: &Exporter, pages: &[(&str, String, &str)]) {
    let here = repository("tests");
    let (is_there, axe) = run(&mut Command::new(here.join("browser/axe")));
    assert!(is_there, "axe-core is not there");
    let mut command = Command::new(here.join(".venv/bin/python"));
    command.arg(here.join("browser/look.py")).arg(format!("http://{}", exporter.address()));
    command.arg(repository("target/browser")).arg(Path::new(axe.trim()));
    for (name, path, how) in pages {
        command.args([name, path.as_str(), how]);
    }
    let (is_well, said) = run(&mut command);
    eprint!("{said}");
    assert!(is_well, "{said}");
}

/// As many locks as there should be, each of a holder that nobody knows.
fn fill(server: &RedisServer, all: u32) {
    let script = "for n = 1, tonumber(ARGV[1]) do \
                  redis.call('SET', 'lock:job:' .. n, 'w-' .. n % 50 + 100 .. ':' .. n, 'PX', 600000) end";
    server.cmd(&["EVAL", script, "0", &all.to_string()]);
}

fn until_shown(exporter: &mut Exporter, locks: u32) {
    exporter.wait_for("dlock_locks", SOON, |m| {
        m.value("dlock_locks", &[("state", "held")]).is_some_and(|n| n >= f64::from(locks))
    });
}

#[test]
fn the_pages_can_be_read_by_anybody_and_do_nothing_but_show() {
    let server = RedisServer::start();
    let _world = world(&server);
    let mut exporter = self::exporter(&server, "500ms");
    // Meanwhile another one sees its locks for the first time.
    let crowd = RedisServer::start();
    let name_of_512 = format!("lock:{}", "x".repeat(512));
    for name in HOSTILE {
        crowd.cmd(&["SET", &format!("lock:{name}"), &format!("w-<b>{name}:1"), "PX", "600000"]);
    }
    crowd.cmd(&["SET", &name_of_512, "w-long:1", "PX", "600000"]);
    fill(&crowd, 500);
    let mut crowded = self::exporter(&crowd, "3s");

    exporter.wait_for("dlock_renewal_after_lost_liveness and dlock_contested", SOON, |m| {
        m.is("dlock_renewal_after_lost_liveness", &[("lock", "orders")], 1.0)
            && m.is("dlock_contested", &[("lock", "contested")], 1.0)
    });
    let page = |name, path: &str, how| (name, path.to_owned(), how);
    look(
        &exporter,
        &[
            page("few", "/", in_full("main", "whole")),
            page("stale", "/locks/main/orders", in_full("ruled", "whole")),
            page("contested", "/locks/main/contested", in_full("opened", "ruled")),
        ],
    );
    drop(exporter);

    until_shown(&mut crowded, 500 + HOSTILE.len() as u32 + 1);
    let list = crowded.get("/?q=%3C&refresh=off").body;
    assert!(list.contains("&lt;script&gt;") && !list.contains("<script"), "{list}");
    let (hostile, _) = wait_until("the hostile locks are on the page", SOON, || {
        let all = crowded.get("/?q=w-%3Cb%3E").body;
        let found = all.split("href=\"/locks/").skip(1).filter_map(|l| l.split('"').next());
        let found: Vec<String> = found.map(|l| format!("/locks/{l}")).collect();
        (found.len() == HOSTILE.len()).then_some(found)
    });
    let mut pages = vec![page("hostile", "/?q=w-%3C", in_full("ruled", "whole"))];
    pages.push(page("hundreds", "/", in_full("opened", "ruled")));
    pages.push(page("long", "/?q=xxxxxxxx", in_full("opened", "ruled")));
    pages.extend(hostile.into_iter().map(|path| ("hostile-lock", path, "opened")));
    look(&crowded, &pages);
    assert_is_small(&crowded.get("/").body);

    if long() {
        fill(&crowd, 5000);
        until_shown(&mut crowded, 5000);
        let last = page("thousands-last", "/?page=51", "opened");
        look(&crowded, &[page("thousands", "/", "pictures"), last]);
        assert_is_small(&crowded.get("/").body);
    }
}

/// A page has a part of the locks, however many there are.
fn assert_is_small(page: &str) {
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

/// How closely a page is looked at, usually and in the longer form.
fn in_full(usual: &'static str, longer: &'static str) -> &'static str {
    if long() { longer } else { usual }
}
