//! A server whose clock a test moves.

use std::path::PathBuf;

use crate::Server;
use crate::server::temporary;
use crate::versions::Version;

/// A Valkey with a clock of its own, by the library faketime; Debian's Redis does not start under that.
#[derive(Debug)]
pub struct Clocked {
    /// The server.
    pub server: Server,
    offset: PathBuf,
}

impl Clocked {
    /// Starts a server whose clock tells this machine's time.
    pub fn start() -> Self {
        let offset = temporary("clock");
        std::fs::write(&offset, "+0\n").unwrap();
        let library = library();
        let environment = [
            ("LD_PRELOAD", library.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", &offset.to_string_lossy()),
            ("FAKETIME_NO_CACHE", "1"),
            // Its timers go on as they are.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        let server = Server::start_program(&Version::Valkey.program(), &[], &environment);
        Self { server, offset }
    }

    /// Steps the clock to so many seconds ahead of this machine's, or behind it; it runs on from there.
    pub fn step_to(&self, seconds: i64) {
        // Put in place whole: the server may read it at any moment.
        let new = self.offset.with_extension("new");
        std::fs::write(&new, format!("{seconds:+}\n")).unwrap();
        std::fs::rename(new, &self.offset).unwrap();
    }
}

impl Drop for Clocked {
    fn drop(&mut self) {
        self.server.kill();
        let _ = std::fs::remove_file(&self.offset);
    }
}

fn library() -> String {
    let folders = std::fs::read_dir("/usr/lib").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let mut libraries = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    let found = libraries.find(|path| path.exists());
    found
        .expect("libfaketime has to be installed: run ./test, which does that")
        .to_string_lossy()
        .into_owned()
}
