//! The programs that measurements need: which are missing, what to do about it, and the two that are built here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// A program that a part starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tool {
    Redis,
    Nginx,
    Wrk,
    /// The program that keeps another on one processor.
    Taskset,
    /// The program that keeps a server from outliving this one.
    Setpriv,
    /// The compiler of messages that the peer's build needs, where it has to be built.
    Protoc,
    /// What this repository builds.
    Tidegate,
    /// The peer that decides over the network.
    ThrottlecrabServer,
}

/// The version of the peer's server that is measured, as of its crate.
pub(super) const THROTTLECRAB: &str = "0.4.40";
const PEERS: &str = "target/peers";

impl Tool {
    /// Returns where it is, if it is anywhere.
    pub(super) fn find(self) -> Option<PathBuf> {
        match self {
            Self::Redis => in_path("redis-server"),
            // `./test` takes one out of its package, which has no libraries of its own.
            Self::Nginx => in_path("nginx").or_else(|| file("target/proxies/usr/sbin/nginx")),
            Self::Wrk => in_path("wrk"),
            Self::Taskset => in_path("taskset"),
            Self::Setpriv => in_path("setpriv"),
            Self::Protoc => in_path("protoc"),
            Self::Tidegate => beside("tidegate"),
            Self::ThrottlecrabServer => file(&format!("{PEERS}/bin/throttlecrab-server")),
        }
    }

    /// Returns where it is.
    ///
    /// # Errors
    /// When it is nowhere; [`ready`] has seen to that before anything is measured.
    pub(super) fn path(self) -> Result<PathBuf> {
        self.find().with_context(|| format!("{self:?} is not there"))
    }

    /// Returns the variable that names its libraries, of a program that lies beside them.
    pub(super) fn libraries(self) -> Option<(&'static str, String)> {
        let beside = self.find()?.starts_with("target/proxies");
        let folders = ["usr/lib", "lib"].map(|lib| Path::new("target/proxies").join(lib));
        let all = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
        let own = all.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with("-gnu"));
        let joined: Vec<String> = own.map(|path| path.display().to_string()).collect();
        (beside && !joined.is_empty()).then(|| ("LD_LIBRARY_PATH", joined.join(":")))
    }

    /// Returns the Debian package that has it, of those that come from there.
    fn package(self) -> Option<&'static str> {
        match self {
            Self::Redis => Some("redis-server"),
            Self::Nginx => Some("nginx-light"),
            Self::Wrk => Some("wrk"),
            Self::Taskset | Self::Setpriv => Some("util-linux"),
            Self::Protoc => Some("protobuf-compiler"),
            Self::Tidegate | Self::ThrottlecrabServer => None,
        }
    }
}

/// Returns the program of that name that cargo put where it put this one: not everybody builds into `target`.
fn beside(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name(name);
    program.is_file().then_some(program)
}

/// Builds what is built here, and makes sure that the rest is there.
///
/// # Errors
/// When a program is missing, with all that are and the remedy; or when a build fails.
pub(super) fn ready(needs: impl Iterator<Item = &'static Tool>) -> Result<()> {
    let mut needs: BTreeSet<Tool> = needs.copied().collect();
    if needs.contains(&Tool::Taskset) {
        needs.insert(Tool::Setpriv);
    }
    if needs.contains(&Tool::ThrottlecrabServer) && Tool::ThrottlecrabServer.find().is_none() {
        needs.insert(Tool::Protoc);
    }
    let missing: Vec<&str> =
        needs.iter().filter(|tool| tool.find().is_none()).filter_map(|tool| tool.package()).collect();
    ensure!(
        missing.is_empty(),
        "programs are missing; on Debian: apt-get install --no-install-recommends {}",
        missing.join(" ")
    );
    if needs.contains(&Tool::Taskset) {
        let cores = std::thread::available_parallelism()?;
        ensure!(cores.get() > 1, "there is one processor: servers and those who ask them need one each");
    }
    if needs.contains(&Tool::Tidegate) {
        cargo(&["build", "--release", "--package", "tidegate-cli"])?;
    }
    if needs.contains(&Tool::ThrottlecrabServer) && Tool::ThrottlecrabServer.find().is_none() {
        let version = ["--version", THROTTLECRAB, "throttlecrab-server"];
        cargo(&[&["install", "--locked", "--root", PEERS], &version[..]].concat())?;
    }
    Ok(())
}

/// Returns the folder of the repository.
pub(super) fn root() -> Result<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(own.parent().context("the repository's folder")?.to_owned())
}

fn cargo(arguments: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(arguments).status().context("starting cargo")?;
    if !status.success() {
        bail!("cargo {} ended with {status}", arguments.join(" "));
    }
    Ok(())
}

fn file(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(path);
    path.is_file().then_some(path)
}

/// Looks for a program where a shell would, and where an administrator's shell would.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}
