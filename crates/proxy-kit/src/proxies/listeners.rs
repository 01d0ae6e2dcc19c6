//! Whose a listening port is, by what Linux tells of sockets and of the files that processes have open.

use std::collections::BTreeSet;
use std::fs;

/// The state of a socket that listens, as the kernel's tables have it.
const LISTENS: &str = "0A";

/// Returns whether a process has a socket open that listens on a port, of IPv4 or IPv6. One whose open files nobody may see, as
/// of a program with capabilities, is believed to.
pub(super) fn holds(process: u32, port: u16) -> bool {
    let sockets = listening(port);
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return true };
    files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|file| file.to_str().is_some_and(|file| sockets.contains(file)))
}

/// Returns the sockets that listen on a port, as the links of open files name them.
fn listening(port: u16) -> BTreeSet<String> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let end = format!(":{port:04X}");
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(|line| socket(line, &end)).collect()
}

fn socket(line: &str, end: &str) -> Option<String> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let is = fields.get(1)?.ends_with(end) && *fields.get(3)? == LISTENS;
    is.then(|| fields.get(9).map(|inode| format!("socket:[{inode}]")))?
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;

    use super::holds;

    /// Guards tests against another's listener that is taken for the proxy they started.
    #[test]
    fn a_port_is_that_process_s_which_listens_on_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(holds(std::process::id(), port));
        assert!(!holds(other.id(), port));
        other.kill().unwrap();
        other.wait().unwrap();
        drop(listener);
        assert!(!holds(std::process::id(), port));
    }
}
