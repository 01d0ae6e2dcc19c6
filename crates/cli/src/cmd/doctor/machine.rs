//! What is looked at on this machine: ports, files, descriptors.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use tidegate::files::read_regular;
use tidegate::policy_file::{Policy, SnapshotChoice, StoreChoice};
use tidegate_server::api::Token;
use tidegate_server::net::tls::Certified;
use tidegate_store_redis::{Finding, Level};

use super::told;
use crate::descriptors;

/// How long a process that may be ours may take to say that it lives.
const PATIENCE: Duration = Duration::from_millis(300);

/// Looks at everything that does not wait for somebody else.
pub(super) fn look(policy: &Policy) -> Vec<Finding> {
    let mut findings = listeners(policy);
    findings.extend(files(policy));
    findings.push(open_files(policy));
    if let StoreChoice::Memory(memory) = &policy.store {
        if policy.instances > 1 {
            let found =
                format!("{} instances count each in their own memory, and limits multiply", policy.instances);
            findings.push(Finding::doubtful("store", found, "count together: store: { redis: { url: … } }"));
        }
        findings.push(match &memory.snapshot {
            Some(snapshot) => of_snapshot(snapshot),
            None => Finding::fine("store", "counts are in memory, and a restart begins with none"),
        });
    }
    findings
}

/// Binds every address, and lets go of it.
fn listeners(policy: &Policy) -> Vec<Finding> {
    let health = policy.health.as_ref().map(|face| face.listen);
    // Held until all are bound: two faces may be meant for one address.
    let mut held = Vec::new();
    let mut findings = Vec::new();
    let mut runs = None;
    for (face, address) in policy.listens().into_iter().filter_map(|(face, address)| Some((face, address?))) {
        let error = match TcpListener::bind(address) {
            Ok(listener) => {
                held.push(listener);
                findings.push(Finding::fine("listen", format!("{face}: {address} is free")));
                continue;
            }
            Err(error) => error,
        };
        let in_use = error.kind() == ErrorKind::AddrInUse;
        if in_use && *runs.get_or_insert_with(|| health.is_some_and(lives)) {
            let found =
                format!("{face}: {address} is in use, and a Tidegate runs here by its health endpoint");
            findings.push(Finding::fine("listen", found));
            continue;
        }
        let remedy = match error.kind() {
            ErrorKind::AddrInUse => {
                "stop what listens there, unless that is Tidegate itself, or choose another listen"
            }
            ErrorKind::PermissionDenied => {
                "choose a port from 1024 up, or give the process CAP_NET_BIND_SERVICE"
            }
            ErrorKind::AddrNotAvailable => "choose an address of this machine",
            _ => "choose another listen",
        };
        findings.push(Finding::wrong("listen", format!("{face}: {address}: {error}"), remedy));
    }
    findings
}

/// Returns whether a Tidegate answers on a health endpoint.
fn lives(address: SocketAddr) -> bool {
    let asked = || {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /livez HTTP/1.1\r\nhost: doctor\r\nconnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        // What came before the time was over is enough.
        let _ = stream.take(4 << 10).read_to_end(&mut answer);
        std::io::Result::Ok(answer)
    };
    asked().is_ok_and(|answer| String::from_utf8_lossy(&answer).contains(r#""status":"alive""#))
}

/// Reads every file that serving reads, as serving does.
fn files(policy: &Policy) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (face, path) in policy.token_files() {
        if let Some(Err(error)) = path.map(Token::read) {
            findings.push(told("files", Level::Wrong, format!("{face}: {error}")));
        }
    }
    if let Some(tls) = policy.gateway.as_ref().and_then(|face| face.tls.as_ref())
        && let Err(error) = Certified::read(&tls.certificate, &tls.key)
    {
        findings.push(told("files", Level::Wrong, format!("gateway: {error}")));
    }
    // Those of the store are told where it is connected to.
    let unreadable = policy.files().filter(|path| read_regular(path).is_err()).count();
    let all = policy.files().count();
    if findings.is_empty() && unreadable == 0 && all > 0 {
        findings.push(Finding::fine("files", format!("all {all} can be used")));
    }
    findings
}

fn open_files(policy: &Policy) -> Finding {
    let asked = policy.gateway.as_ref().map_or(0, |face| face.max_connections);
    match descriptors::fit_again(&mut policy.clone()) {
        Some((limit, carried)) => Finding::doubtful(
            "descriptors",
            format!("{limit} files may be open, which carries {carried} of {asked} connections"),
            "raise the limit to more than twice max_connections (LimitNOFILE= of the unit, ulimit -n), or lower it",
        ),
        None if asked == 0 => Finding::fine("descriptors", "there is no gateway that needs many"),
        None => Finding::fine("descriptors", format!("enough files may be open for {asked} connections")),
    }
}

/// Looks whether a snapshot can be written where the policy says.
fn of_snapshot(snapshot: &SnapshotChoice) -> Finding {
    let file = &snapshot.file;
    if file.exists()
        && let Err(error) = read_regular(file)
    {
        let found = format!("the snapshot {} cannot be read: {error}", file.display());
        return Finding::wrong("snapshot", found, "give the process the right to read and replace it");
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let trial = folder.join(format!(".tidegate-doctor-{}", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).open(&trial);
    let written = written.and_then(|_| std::fs::remove_file(&trial));
    match written {
        Ok(()) => Finding::fine("snapshot", format!("{} can be written", file.display())),
        Err(error) => {
            let found = format!("{} cannot be written: {error}", file.display());
            let remedy = format!("make the folder {}, and let the process write in it", folder.display());
            Finding::wrong("snapshot", found, remedy)
        }
    }
}
