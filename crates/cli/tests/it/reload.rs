//! `tidegate serve` while its policy's files change, in every way that people and tools replace a file.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use serde_json::Value;

use crate::http::{get, post, send};
use crate::process::{Folder, Running, text, tidegate};
use crate::upstream::Upstream;

/// A policy whose one limit allows so many a day, so that the limit in force can be asked for.
fn policy(upstream: &Upstream, limit: u32) -> String {
    format!(
        "tidegate: 1
gateway: {{ listen: 127.0.0.1:0, upstream: \"http://{}\" }}
api: {{ listen: 127.0.0.1:0 }}
admin: {{ listen: 127.0.0.1:0 }}
health: {{ listen: 127.0.0.1:0 }}
rules:
  - name: everything
    class: api
    client_sees: all
    match: {{ path: /** }}
    limits:
      - name: all
        says: Up to {limit} in any day, for everyone together.
        key: global
        sliding_log: {{ limit: {limit}, window: 24h }}
",
        upstream.address
    )
}

/// A command that watches its policy.
struct Served {
    running: Running,
    api: std::net::SocketAddr,
    admin: std::net::SocketAddr,
    health: std::net::SocketAddr,
}

impl Served {
    fn start(file: &Path, more: &[&str]) -> Self {
        let mut command = tidegate(["serve", "--log", "json"]);
        command.args(more).arg(file);
        let mut running = Running::start(command);
        let api = running.address("decision API");
        let admin = running.address("the operator's endpoint");
        let health = running.address("health");
        Self { running, api, admin, health }
    }

    /// Waits for a line of the log; a line that never comes is ended by the runner.
    fn log(&mut self, needle: &str) -> Value {
        serde_json::from_str(&self.running.log(needle)).unwrap()
    }

    /// The number of the limit in force.
    fn limit(&self) -> u64 {
        let policy = get(self.api, "/v1/policy").json();
        policy["rules"][0]["limits"][0]["quota"]["limit"].as_u64().unwrap_or_else(|| panic!("{policy}"))
    }

    /// The value of a metric.
    fn metric(&self, name: &str) -> u64 {
        let metrics = get(self.admin, "/metrics").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
    }

    fn reloads(&self) -> (u64, u64) {
        let of = |result| self.metric(&format!("tidegate_reloads_total{{result=\"{result}\"}}"));
        (of("applied"), of("refused"))
    }

    fn ready(&self) -> Value {
        get(self.health, "/readyz").json()
    }
}

/// Renames a new file over another, as editors and deployments do.
fn rename_over(folder: &Folder, file: &Path, text: &str) {
    fs::rename(folder.file("new.yaml", text), file).unwrap();
}

/// Guards every way to replace a file: by name, by content; and what is no replacement.
#[test]
fn a_file_is_taken_up_however_it_is_replaced_and_not_when_it_is_touched() {
    let (folder, upstream) = (Folder::new("replaced"), Upstream::start());
    let file = folder.file("policy.yaml", policy(&upstream, 1));
    let mut served = Served::start(&file, &[]);
    let before = served.ready()["policy"]["version"].clone();

    rename_over(&folder, &file, &policy(&upstream, 2));
    served.log("was reloaded: 1 changed (everything/all)");
    assert_eq!((served.limit(), served.reloads()), (2, (1, 0)));
    assert_ne!(served.ready()["policy"]["version"], before);

    fs::write(&file, policy(&upstream, 3)).unwrap();
    served.log("was reloaded");
    assert_eq!(served.limit(), 3);

    // The same bytes under another name and date are the same policy.
    rename_over(&folder, &file, &policy(&upstream, 3));
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    fs::remove_file(&file).unwrap();
    let gone = served.log("cannot be read any more");
    assert_eq!(gone["level"], "ERROR");
    assert_eq!((served.limit(), served.reloads()), (3, (2, 1)), "the touch was no reload");
    assert!(served.ready()["reload_error"].as_str().unwrap().contains("put it back"));

    folder.file("policy.yaml", policy(&upstream, 4));
    served.log("was reloaded");
    assert_eq!((served.limit(), served.reloads()), (4, (3, 1)));
    assert_eq!(served.ready()["reload_error"], Value::Null);
}

/// Guards the way Kubernetes replaces a volume: the file is a link into `..data`, and that is led elsewhere.
#[test]
fn a_volume_of_kubernetes_is_taken_up() {
    let (folder, upstream) = (Folder::new("volume"), Upstream::start());
    let version = |name: &str, limit| {
        fs::create_dir(folder.path(name)).unwrap();
        fs::write(folder.path(name).join("policy.yaml"), policy(&upstream, limit)).unwrap();
    };
    version("..first", 1);
    symlink("..first", folder.path("..data")).unwrap();
    let file = folder.path("policy.yaml");
    symlink("..data/policy.yaml", &file).unwrap();
    let mut served = Served::start(&file, &[]);
    version("..second", 2);
    symlink("..second", folder.path("..new")).unwrap();
    fs::rename(folder.path("..new"), folder.path("..data")).unwrap();
    fs::remove_dir_all(folder.path("..first")).unwrap();
    served.log("was reloaded");
    assert_eq!(served.limit(), 2);
}

/// Guards against a policy that is cut off in the middle of being written and is, alas, still a policy.
#[test]
fn a_truncated_file_changes_nothing_unless_it_is_asked_for() {
    let (folder, upstream) = (Folder::new("truncated"), Upstream::start());
    let whole = policy(&upstream, 1)
        + "      - name: second\n        says: Up to 9 in any day, for everyone together.\n        key: global\n        \
           sliding_log: { limit: 9, window: 24h }\n";
    let file = folder.file("policy.yaml", &whole);
    let mut served = Served::start(&file, &[]);
    for cut in [policy(&upstream, 1), String::new(), whole[..whole.len() / 2].to_owned()] {
        fs::write(&file, &cut).unwrap();
        let refused = served.log("holds only the beginning of what it held");
        assert!(refused["message"].as_str().unwrap().contains("SIGHUP"), "{refused}");
        assert_eq!(get(served.api, "/v1/policy").json()["rules"][0]["limits"].as_array().unwrap().len(), 2);
    }
    fs::write(&file, &whole).unwrap();
    served.log("again what is in force");
    assert_eq!(served.reloads(), (0, 3));

    fs::write(&file, policy(&upstream, 1)).unwrap();
    served.log("holds only the beginning");
    served.running.signal(Signal::HUP);
    served.log("was reloaded: 1 dropped (everything/second), 1 limit as before");
}

/// Guards the old policy against a bad one, and the log against being told the same twice a second.
#[test]
fn a_bad_file_keeps_the_old_policy_and_is_told_once_with_everything_that_is_wrong() {
    let (folder, upstream) = (Folder::new("bad"), Upstream::start());
    let file = folder.file("policy.yaml", policy(&upstream, 5));
    let mut served = Served::start(&file, &[]);
    fs::write(&file, policy(&upstream, 6).replace("rules:", "rulse:").replace("health", "heatlh")).unwrap();
    let told = served.log("the policy in force stays");
    let told = told["message"].as_str().unwrap();
    assert!(told.contains("did you mean \"rules\"") && told.contains("did you mean \"health\""), "{told}");
    assert_eq!((served.limit(), served.reloads()), (5, (0, 1)));

    // Asked for, it is told again.
    served.running.signal(Signal::HUP);
    served.log("the policy in force stays");
    // What cannot be changed while running is refused whole.
    fs::write(
        &file,
        policy(&upstream, 6).replace("api: { listen: 127.0.0.1:0", "api: { listen: 127.0.0.1:9"),
    )
    .unwrap();
    served.log("api.listen changed: that needs a restart; nothing was changed");
    assert_eq!((served.limit(), served.reloads()), (5, (0, 3)));
    fs::write(&file, policy(&upstream, 6)).unwrap();
    served.log("was reloaded");
    assert_eq!((served.limit(), served.reloads()), (6, (1, 3)));
    served.running.signal(Signal::TERM);
    assert_eq!(served.running.end().code(), Some(0));
    let stays = served.running.logged.iter().filter(|line| line.contains("the policy in force stays"));
    assert_eq!(stays.count(), 3, "{:#?}", served.running.logged);
}

/// Guards what is under way against a reload, in the process that people run.
#[test]
fn a_slow_request_ends_under_the_policy_it_began_with() {
    let (folder, old, new) = (Folder::new("slow"), Upstream::start(), Upstream::start());
    let file = folder.file("policy.yaml", policy(&old, 5));
    let mut command = tidegate(["serve", "--log", "json", "--no-watch"]);
    command.arg(&file);
    let mut running = Running::start(command);
    let gateway = running.address("gateway");
    let slow = send(gateway, "GET", "/slow", "");
    old.wait();
    fs::write(&file, policy(&new, 9)).unwrap();
    running.signal(Signal::HUP);
    running.log("was reloaded");
    new.release();
    let next = get(gateway, "/");
    old.release();
    let slow = slow.answer();
    assert_eq!((slow.status, slow.body.as_str()), (200, "finished"));
    let remaining = |answer: &crate::http::Answer| answer.header("ratelimit").unwrap().contains("r=4;");
    assert!(remaining(&slow) && !remaining(&next), "{slow:?} {next:?}");
    assert!(next.header("ratelimit").unwrap().contains("r=7;"), "{next:?}");
}

#[test]
fn a_service_manager_is_told_of_reloads() {
    let (folder, upstream) = (Folder::new("notified"), Upstream::start());
    let path = folder.path("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let told = || {
        let mut message = [0; 256];
        let length = manager.recv(&mut message).unwrap();
        text(&message[..length]).trim_end().to_owned()
    };
    let file: PathBuf = folder.file("policy.yaml", policy(&upstream, 1));
    let mut command = tidegate(["serve"]);
    command.arg(&file).env("NOTIFY_SOCKET", &path);
    let mut running = Running::start(command);
    assert_eq!(told(), "READY=1");
    for text in [policy(&upstream, 2), "tidegate: 2\n".to_owned()] {
        fs::write(&file, text).unwrap();
        running.signal(Signal::HUP);
        let reloading = told();
        assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
        assert_eq!(told(), "READY=1", "also of a policy that is refused");
    }
    running.signal(Signal::TERM);
    assert_eq!(running.end().code(), Some(0));
}

/// Guards the files that a policy refers to: a change of theirs is a change, and a slip in one that is not yet in force is
/// mended by mending it.
#[test]
fn an_included_file_is_watched_also_while_it_is_wrong() {
    let (folder, upstream) = (Folder::new("included"), Upstream::start());
    let team = |limit: u32| {
        format!(
            "tidegate: 1\nrules:\n  - name: orders\n    class: api\n    match: {{ path: /orders }}\n    limits:\n      - name: all\n        \
             says: Up to {limit} in any day, for everyone together.\n        key: global\n        sliding_log: {{ limit: {limit}, window: 24h }}\n"
        )
    };
    let file = folder.file("policy.yaml", policy(&upstream, 1));
    let mut served = Served::start(&file, &[]);
    folder.file("team.yaml", team(2).replace("orders\n    class", "orders\n    clas"));
    let including = policy(&upstream, 1).replace("rules:", "include: { shop: team.yaml }\nrules:");
    fs::write(&file, including).unwrap();
    let told = served.log("the policy in force stays");
    assert!(told["message"].as_str().unwrap().contains("team.yaml:"), "{told}");
    folder.file("team.yaml", team(2));
    served.log("was reloaded: 1 added (shop/orders/all), 1 limit as before");
    folder.file("team.yaml", team(3));
    served.log("was reloaded: 1 changed (shop/orders/all), 1 limit as before");
    fs::remove_file(folder.path("team.yaml")).unwrap();
    served.log("team.yaml cannot be read any more");
    assert_eq!(served.reloads(), (2, 2));
}

/// Guards against a pipe in a file's place, which nobody writes to: whoever opens it waits for ever, and with it every
/// later reload.
#[test]
fn a_pipe_in_the_place_of_a_file_holds_up_nothing() {
    let (folder, upstream) = (Folder::new("pipe"), Upstream::start());
    let file = folder.file("policy.yaml", policy(&upstream, 1));
    let mut served = Served::start(&file, &[]);
    let pipe = folder.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    fs::rename(&pipe, &file).unwrap();
    served.log("cannot be read any more");
    let refused = post(served.admin, "/reload", "");
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("a pipe or a device"), "{}", refused.body);
    rename_over(&folder, &file, &policy(&upstream, 2));
    served.log("was reloaded");
    assert_eq!(served.limit(), 2);
}
