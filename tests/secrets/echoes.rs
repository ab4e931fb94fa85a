//! Servers that were given a password and say it back: in errors to any command, and in whatever else they say of
//! themselves, their clients and their slow commands.

use std::fmt::Write as _;

use crate::support::{Content, PASSWORD, Script, ScriptedRedis, Spoil, long};

/// How a password comes back.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// As servers quote arguments that they do not understand.
    Unknown,
    Refused,
    NotReady,
    /// Even as the word that says what kind of error it is.
    Word,
    /// In place of the answer.
    Simple,
    /// In the answer, wherever text can be.
    Told,
}

const WAYS: [Way; 6] =
    [Way::Unknown, Way::Refused, Way::NotReady, Way::Word, Way::Simple, Way::Told];

const COMMANDS: [&str; 16] = [
    "HELLO",
    "AUTH",
    "SELECT",
    "CLIENT",
    "INFO",
    "CONFIG",
    "TIME",
    "ROLE",
    "SCAN",
    "MGET",
    "TYPE",
    "MULTI",
    "EXEC",
    "SLOWLOG",
    "SUBSCRIBE",
    "SENTINEL",
];

/// Those whose answers are kept in more than an error.
const EVERY_WAY: [&str; 4] = ["HELLO", "INFO", "CLIENT", "SLOWLOG"];

/// All of them.
pub struct Echoes(Vec<(String, ScriptedRedis)>);

impl Echoes {
    /// A server for each command, and for each way at some of them; in the long form at all.
    pub fn start() -> Self {
        let pairs = COMMANDS.iter().flat_map(|command| WAYS.map(|way| (*command, way)));
        let is_short = |(command, way): &(&str, Way)| {
            matches!(way, Way::Unknown) || EVERY_WAY.contains(command)
        };
        let pairs = pairs.filter(|pair| long() || is_short(pair));
        let start = |(command, way): (&'static str, Way)| {
            let name = format!("{command}-{way:?}").to_lowercase();
            (name, ScriptedRedis::start(script(command, way)))
        };
        Self(pairs.map(start).collect())
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// What the config says of them.
    pub fn stores(&self, password_file: &str) -> String {
        let mut yaml = String::new();
        for (name, server) in &self.0 {
            let login = format!("username: dlock\n    password_file: '{password_file}'");
            let _ = write!(yaml, "  {name}:\n    url: {}/3\n    {login}\n", server.url());
            if name.starts_with("sentinel") {
                let own = format!("username: dlock, password_file: '{password_file}'");
                let _ = writeln!(
                    yaml,
                    "    topology: sentinel\n    sentinel: {{ master: locks, {own} }}"
                );
            }
            let _ = writeln!(
                yaml,
                "    slowlog: on\n    locks: [{{ name: a, key: 'lock:a' }}, {{ match: 'odd:*' }}]"
            );
        }
        yaml
    }
}

fn script(command: &'static str, way: Way) -> Script {
    let spoiler = move |words: &[Vec<u8>]| {
        let is_it = words[0].eq_ignore_ascii_case(command.as_bytes())
            || (command == "AUTH" && words[0] == b"HELLO");
        is_it.then(|| Spoil::Say(said(command, way, words)))
    };
    let script = Script { spoiler: Some(Box::new(spoiler)), ..Script::default() };
    script.key("lock:a", Content::text("x"), Some(i64::MAX / 2))
}

fn said(command: &str, way: Way, words: &[Vec<u8>]) -> Vec<u8> {
    if command == "AUTH" && words[0] == b"HELLO" {
        return b"-ERR unknown command 'HELLO'\r\n".to_vec();
    }
    let line = match way {
        Way::Unknown => {
            format!("-ERR unknown command '{command}', with args beginning with: '{PASSWORD}' ")
        }
        Way::Refused => format!("-NOPERM {PASSWORD} may not do this with {PASSWORD}"),
        Way::NotReady => format!("-LOADING {PASSWORD}"),
        Way::Word => format!("-{PASSWORD}"),
        Way::Simple => format!("+{PASSWORD}"),
        Way::Told => return told(command, words),
    };
    (line + "\r\n").into_bytes()
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// An answer of the right form with the password in all of its texts that are no names of keys.
fn told(command: &str, words: &[Vec<u8>]) -> Vec<u8> {
    let p = PASSWORD;
    let text = match command {
        "HELLO" => {
            let fields = ["server", "version", "mode", "role"].map(|f| bulk(f) + &bulk(p));
            format!("%4\r\n{}", fields.concat())
        }
        "INFO" => bulk(&format!(
            "# Server\r\nredis_version:{p}\r\nserver_name:{p}\r\nredis_mode:{p}\r\nrun_id:{p}\r\nrole:master\r\n\
             master_replid:{p}\r\nmaster_replid2:{p}\r\nmaxmemory_policy:{p}\r\nmaster_host:{p}\r\n"
        )),
        "CLIENT" if words.get(1).is_some_and(|w| w.eq_ignore_ascii_case(b"LIST")) => {
            bulk(&format!(
                "id=7 addr=127.0.0.1:4 laddr=127.0.0.1:5 name={p} age=9 idle=0 flags=N db=3 sub=0 psub=0 multi=-1 cmd={p} \
             user={p} resp=2 lib-name={p} lib-ver={p}\n"
            ))
        }
        "SLOWLOG" => {
            let arguments = format!("*3\r\n{}{}{}", bulk(p), bulk("lock:a"), bulk(p));
            format!("*1\r\n*6\r\n:1\r\n:1700000000\r\n:90000\r\n{arguments}{}{}", bulk(p), bulk(p))
        }
        "ROLE" => format!("*3\r\n{}:0\r\n*0\r\n", bulk(p)),
        _ => bulk(p),
    };
    text.into_bytes()
}
