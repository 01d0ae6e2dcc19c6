//! What a policy takes from other files: secrets, and the keys that tokens are signed with.

use crate::Reading;
use crate::file::{Fields, Node, Report};
use crate::secret::Identities;

/// The most bytes of a file with a secret.
const MOST_SECRET: usize = 4 << 10;

/// A file that was read, and its path as the policy writes it.
pub(super) struct Outside<'n> {
    pub(super) path: &'n str,
    pub(super) bytes: Vec<u8>,
}

/// Reads the file that a node names; one that cannot be read, or is larger than such a file is, is reported there.
pub(super) fn file<'n>(
    node: &'n Node,
    what: &str,
    most: usize,
    reading: Reading<'_>,
    report: &mut Report,
) -> Option<Outside<'n>> {
    let path = node.text(what, report)?;
    if path.contains("://") {
        let message = format!("{what} is a URL, and policies take nothing from the network");
        report.add(node.place, message, "fetch it into a file beside the policy, and write the file's path");
        return None;
    }
    match reading.surroundings.file(path) {
        Ok(bytes) if bytes.len() <= most => Some(Outside { path, bytes }),
        Ok(bytes) => {
            let message = format!("\"{path}\" has {} bytes, and {what} takes at most {most}", bytes.len());
            report.add(node.place, message, "check whether it is the right file");
            None
        }
        Err(why) => {
            let remedy = "write its path as it is from the policy's folder";
            report.add(node.place, format!("\"{path}\" {why}"), remedy);
            None
        }
    }
}

/// Reads the secret under which identities leave the process.
pub(super) fn identities(
    top: &mut Fields<'_>,
    reading: Reading<'_>,
    report: &mut Report,
) -> Option<Identities> {
    let node = top.get("key_secret_file")?;
    let outside = file(node, "key_secret_file", MOST_SECRET, reading, report)?;
    match Identities::from_file(&outside.bytes) {
        Ok(identities) => Some(identities),
        Err(why) => {
            let remedy = "write 32 random bytes into it, such as `openssl rand -hex 32` gives";
            report.add(node.place, format!("\"{}\" {why}", outside.path), remedy);
            None
        }
    }
}
