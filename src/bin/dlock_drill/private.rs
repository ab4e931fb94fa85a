//! A lock server and an exporter of the drill's own, on free ports of the loopback and gone with it: for newcomers, tests and CI.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dlock_exporter::clock::mono;

use crate::bound;
use crate::children::Group;
use crate::failure::Failure;
use crate::lockserver::Address;

/// Longest start of either.
const START: Duration = Duration::from_secs(30);

/// The program of an exporter. One that is named without a directory is the one beside this program, where that is there.
pub fn exporter_program(named: &Path) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = own.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    find(named, places.into_iter().chain(std::env::split_paths(&path)))
}

fn find(named: &Path, mut places: impl Iterator<Item = PathBuf>) -> Result<PathBuf, Failure> {
    if named.components().count() > 1 {
        return match named.is_file() {
            true => Ok(named.into()),
            false => Err(Failure::new(format!(
                "--start-exporter: there is no program {}",
                named.display()
            ))),
        };
    }
    places.find_map(|dir| Some(dir.join(named)).filter(|p| p.is_file())).ok_or_else(|| {
        Failure::new(format!(
            "{} is neither beside this program nor in PATH; give --start-exporter PATH",
            named.display()
        ))
    })
}

/// A port that nobody had a moment ago.
pub fn free_port() -> Result<u16, Failure> {
    let told = |e| Failure::new(format!("no free port of the loopback can be had: {e}"));
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(told)?;
    Ok(listener.local_addr().map_err(told)?.port())
}

/// A lock server.
pub struct PrivateServer {
    /// Where it is.
    pub address: Address,
    _group: Group,
}

impl PrivateServer {
    /// Starts `program` without persistence, with keyspace events, and waits until it answers.
    pub async fn start(program: &Path, dir: &Path) -> Result<Self, Failure> {
        let port = free_port()?.to_string();
        let mut command = bound::command(program)?;
        command.args(["--bind", "127.0.0.1", "--port", &port, "--save", "", "--appendonly", "no"]);
        command.args(["--notify-keyspace-events", "KEA", "--dir"]).arg(dir);
        let mut group = Group::start("redis-server", &mut command, dir)?;
        let address: Address = format!("127.0.0.1:{port}").parse().map_err(Failure::new)?;
        let begun = mono();
        while address.connect().and_then(|mut s| s.call::<()>(&["PING"])).is_err() {
            if group.has_ended() || mono().since(begun) > START {
                let tail = group.log_tail();
                return Err(Failure::new(format!("{} does not answer: {tail}", program.display())));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Self { address, _group: group })
    }
}

/// An exporter.
pub struct PrivateExporter {
    /// Where it is.
    pub url: String,
    group: Group,
}

impl PrivateExporter {
    /// Starts `program` with this config. Whoever scrapes it waits until it answers.
    pub fn start(program: &Path, yaml: &str, dir: &Path) -> Result<Self, Failure> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let config: PathBuf = dir.join("dlock.yml");
        std::fs::write(&config, yaml)
            .map_err(|e| Failure::new(format!("{} cannot be written: {e}", config.display())))?;
        let mut command = bound::command(program)?;
        // What overrides the user's own config is not for this one.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("DLOCK__") {
                command.env_remove(name);
            }
        }
        command.arg("--config.file").arg(&config);
        command.args(["--web.listen-address", &address.to_string()]);
        let group = Group::start("dlock_exporter", &mut command, dir)?;
        Ok(Self { url: format!("http://{address}"), group })
    }

    /// Waits until it is ready.
    pub async fn ready(&mut self) -> Result<(), Failure> {
        let begun = mono();
        let url = format!("{}/-/ready", self.url);
        loop {
            if matches!(crate::http::get(&url, Duration::from_secs(2)).await, Ok((200, _))) {
                return Ok(());
            }
            if self.group.has_ended() || mono().since(begun) > START {
                let tail = self.group.log_tail();
                return Err(Failure::new(format!(
                    "the exporter that was started is not ready: {tail}"
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exporter_is_found_beside_or_in_path_and_else_asked_for() {
        let (beside, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let places = || [beside.path().to_path_buf(), other.path().to_path_buf()].into_iter();
        let name = Path::new("dlock_exporter");
        let none = find(name, places()).unwrap_err().to_string();
        assert!(none.contains("give --start-exporter PATH"), "{none}");
        let second = other.path().join(name);
        std::fs::write(&second, "").unwrap();
        assert_eq!(find(name, places()).unwrap(), second);
        let first = beside.path().join(name);
        std::fs::write(&first, "").unwrap();
        assert_eq!(find(name, places()).unwrap(), first);
        assert_eq!(find(&second, places()).unwrap(), second);
        assert!(find(&other.path().join("no"), places()).is_err());
    }
}
