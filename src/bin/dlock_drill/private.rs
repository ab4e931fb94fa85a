//! An exporter of the drill's own, on a free port of the loopback and gone with it: for newcomers, tests and CI.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dlock_exporter::clock::mono;

use crate::bound;
use crate::children::Group;
use crate::failure::Failure;
use crate::files::write;
use crate::lockserver::{Address, PASSWORD};

/// Longest start.
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

/// The drill's own user and password as lines of the config of an exporter of its own; the directory is nobody else's.
pub fn credentials(server: &Address, scratch: &Path) -> Result<String, Failure> {
    let mut lines = String::new();
    if let Some(user) = server.user() {
        lines.push_str(&format!("    username: '{}'\n", user.replace('\'', "''")));
    }
    if let Ok(password) = std::env::var(PASSWORD) {
        let file = scratch.join("password");
        write(&file, password.as_bytes())?;
        lines.push_str(&format!("    password_file: '{}'\n", file.display()));
    }
    Ok(lines)
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
