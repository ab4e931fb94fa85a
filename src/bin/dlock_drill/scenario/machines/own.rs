//! A world of a scenario's own: servers that it may break, and an exporter that watches nothing else. It must not touch the
//! server that all scenarios share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use crate::exporter::Access;
use crate::failure::Failure;
use crate::observed::Observed;
use crate::private::PrivateExporter;
use crate::resource::Resource;
use crate::servers::redis::Setup;
use crate::servers::wait::{at, password, private_dir};
use crate::stage::{Ended, Look, Stage};
use crate::world::World;

/// How long what is no finding about the exporter may take on a busy machine.
pub const SOON: Duration = Duration::from_secs(60);
/// A lease that no scenario outlives.
pub const LONG: Duration = Duration::from_secs(300);

/// The servers of a scenario and their password.
pub struct Own {
    /// What they are started by.
    pub program: PathBuf,
    /// Theirs all.
    pub password: String,
    dir: TempDir,
}

/// The exporter of such a world. It ends with it.
pub struct Watch {
    _exporter: PrivateExporter,
}

impl Own {
    /// Nothing runs yet; without a program to start as exporter nothing ever does.
    pub fn begin(stage: &mut Stage) -> Result<Self, Ended> {
        if stage.world().exporter_program.is_none() {
            return Err(Ended::NotRun(
                "it breaks servers of its own, which the exporter that was named does not watch; let the drill start one, \
                 --start-exporter PATH in place of --exporter"
                    .into(),
            ));
        }
        let program = stage.world().server_program.clone();
        let ran = std::process::Command::new(&program).arg("--version").output();
        if let Err(e) = ran {
            let program = program.display();
            return Err(Ended::NotRun(format!(
                "it needs servers of its own, and {program} does not run ({e}); name one with --redis-server PATH"
            )));
        }
        stage.note("it uses servers and an exporter of its own");
        Ok(Self { program, password: password()?, dir: private_dir()? })
    }

    /// A server that is to be started.
    pub fn server(&self) -> Setup {
        Setup::of(&self.program, &self.password)
    }

    /// Where a file of the scenario's can be.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts an exporter with this store, as lines of YAML without indentation, and these tables below it, and puts the
    /// stage into that world.
    pub async fn watch(
        &self,
        stage: &mut Stage,
        server: SocketAddr,
        store: &str,
        tables: &str,
        poll: Duration,
    ) -> Result<Watch, Ended> {
        let Some(program) = stage.world().exporter_program.clone() else {
            return Err(Failure::new("there is no exporter to start").into());
        };
        let secret = self.file("password");
        std::fs::write(&secret, &self.password).map_err(|e| at(&secret, e))?;
        let lines: String = store.lines().map(|l| format!("    {l}\n")).collect();
        let name = stage.world().store.clone();
        let yaml = format!(
            "poll_interval: {}ms\nstores:\n  {name}:\n    password_file: '{}'\n    response_timeout: 1s\n{lines}{tables}",
            poll.as_millis(),
            secret.display()
        );
        let mut exporter = PrivateExporter::start(&program, &yaml, self.dir.path())?;
        exporter.ready().await?;
        let world = World {
            server: server.to_string().parse().map_err(Failure::new)?,
            store: name,
            exporter: Observed::begin(&exporter.url, Access::default(), Duration::from_secs(15))
                .await?,
            resource: Resource::start(([127, 0, 0, 1], 0).into(), true).await?,
            dir: self.dir.path().into(),
            poll,
            slack: stage.world().slack,
            exporter_program: Some(program),
            server_program: self.program.clone(),
        };
        stage.enter(Arc::new(world));
        Ok(Watch { _exporter: exporter })
    }
}

/// The exporter's config of a lock of this name, one element of a list.
pub fn lock(name: &str, lease: Duration, more: &str) -> String {
    let key = crate::keys::lock_key(name);
    let lease = lease.as_millis();
    format!(
        "  - {{ name: {name}, key: '{key}', lease: {lease}ms, token: per_acquire, series: full, holder: '^(?P<worker>[^:]+):'{more} }}\n"
    )
}

/// A new token of the n-th worker of this lock.
pub fn token(stage: &mut Stage, n: u32) -> String {
    let worker = crate::keys::worker_name(stage.lock(), n);
    format!("{worker}:{:032x}", stage.random().u128(..))
}

/// The sum of all samples of that name with these labels, whatever lock or node they are of.
pub fn sum(look: &Look, name: &str, labels: &[(&str, &str)]) -> f64 {
    look.metrics().all(name, labels).map(|s| s.value).sum()
}

/// How many tenures of the store ended so: what a server did to its locks is counted there.
pub fn store_ends(look: &Look, evidence: &str) -> f64 {
    sum(look, "dlock_store_lease_ends_total", &[("evidence", evidence)])
}
