//! One browser, as a process that ends with its handle.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::page::Page;

/// The names that the browser goes by.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The browser speaks on descriptors 3 and 4, which a shell makes of the standard ones.
const PLUMBING: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2"#;

/// A running browser.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    profile: PathBuf,
    pipe: RefCell<Pipe>,
}

/// The way to a browser and back: messages of JSON, each ended by a zero byte.
#[derive(Debug)]
struct Pipe {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    sent: u64,
    /// What it told of its own accord, and nobody has asked for yet.
    events: Vec<Value>,
}

impl Browser {
    /// Starts one with a profile of its own.
    pub fn start() -> Self {
        let profile = profile();
        let mut process = Command::new("sh")
            .args(["-c", PLUMBING])
            .arg(program())
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
                "--hide-scrollbars",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = process.stdin.take().unwrap();
        let from = BufReader::new(process.stdout.take().unwrap());
        Self { process, profile, pipe: RefCell::new(Pipe { to, from, sent: 0, events: Vec::new() }) }
    }

    /// Opens an empty page.
    pub fn page(&self) -> Page<'_> {
        let target = self.call(None, "Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call(None, "Target.attachToTarget", &attach);
        Page::new(self, session["sessionId"].as_str().unwrap().to_owned())
    }

    /// Calls a method, and returns its result.
    pub(crate) fn call(&self, session: Option<&str>, method: &str, params: &Value) -> Value {
        self.pipe.borrow_mut().call(session, method, params)
    }

    /// Waits for an event of a session that comes or has come since it was last waited for.
    pub(crate) fn event(&self, session: &str, name: &str) -> Value {
        self.pipe.borrow_mut().event(session, name)
    }
}

impl Pipe {
    fn call(&mut self, session: Option<&str>, method: &str, params: &Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        self.to.flush().unwrap();
        loop {
            let mut answer = self.next();
            if answer["id"] != json!(self.sent) {
                self.events.push(answer);
                continue;
            }
            assert!(answer["error"].is_null(), "{method} was refused: {}", answer["error"]);
            return answer["result"].take();
        }
    }

    fn event(&mut self, session: &str, name: &str) -> Value {
        let is_it = |event: &Value| event["method"] == name && event["sessionId"] == session;
        if let Some(at) = self.events.iter().position(is_it) {
            return self.events.remove(at);
        }
        loop {
            let event = self.next();
            if is_it(&event) {
                return event;
            }
            self.events.push(event);
        }
    }

    fn next(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&message).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already, and its folder may still be written to by what has not: neither is a fault of a test.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// Returns the browser of this machine.
fn program() -> PathBuf {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|path| path.is_file())
        .expect("this test needs a browser: install Debian's package `chromium`, or run ./test, which does")
}

fn profile() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tidegate-browser-{}-{number}", std::process::id()))
}
