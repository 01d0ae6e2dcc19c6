//! Where the programs are: in the folder that `./test` takes them out of their packages to, else where the system has them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the programs, as `.cargo/config.toml` names it.
const FOLDER: &str = "TIDEGATE_PROXIES";
const PLACES: [&str; 4] = ["usr/sbin", "usr/bin", "sbin", "bin"];

/// Returns the command that runs a program.
pub(super) fn find(program: &str) -> Command {
    let folder = env::var_os(FOLDER).map(PathBuf::from);
    let own = folder.as_deref().and_then(|folder| Some((folder, in_folder(folder, program)?)));
    if let Some((folder, path)) = own {
        let mut command = Command::new(path);
        let libraries = libraries(folder);
        // An empty one would name the folder that the program runs in.
        if !libraries.is_empty() {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        return command;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = places.map(|place| place.join(program)).find(|path| path.is_file());
    Command::new(
        found.unwrap_or_else(|| panic!("{program} has to be installed: run ./test, which does that")),
    )
}

fn in_folder(folder: &Path, program: &str) -> Option<PathBuf> {
    PLACES.iter().map(|place| folder.join(place).join(program)).find(|path| path.is_file())
}

/// Returns the folders of libraries beside the programs, which lie below the name of the machine's kind.
fn libraries(folder: &Path) -> OsString {
    let mut found = Vec::new();
    for lib in ["usr/lib", "lib"] {
        let entries = fs::read_dir(folder.join(lib)).into_iter().flatten().flatten();
        found.extend(
            entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with("-gnu")),
        );
    }
    env::join_paths(found).expect("no folder has a colon in its name")
}
