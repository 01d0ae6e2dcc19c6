//! `docs/tower.md` from nothing: its files are written, its commands run, and what they show comes out. The other code of the
//! page is tried with the documentation's.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PORT: &str = "127.0.0.1:3000";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A fenced block, with the file that the line before it names.
struct Block {
    file: Option<String>,
    lines: Vec<String>,
}

/// Returns the blocks of the page's part `From nothing`.
fn blocks(page: &str) -> Vec<Block> {
    let (_, part) = page.split_once("\n## From nothing\n").unwrap();
    let (part, _) = part.split_once("\n## ").unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let (mut inside, mut file) = (false, None);
    for line in part.lines() {
        if line.starts_with("```") {
            inside = !inside;
            if inside {
                blocks.push(Block { file: file.take(), lines: Vec::new() });
            }
        } else if inside {
            blocks.last_mut().unwrap().lines.push(line.to_owned());
        } else if !line.is_empty() {
            file = line.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")).map(str::to_owned);
        }
    }
    assert!(!inside, "a block is not closed");
    blocks
}

/// A process group of the page's, ended with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // Cargo has started the service, and would leave it behind.
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// A folder that goes with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Where the page's commands run, and what of them goes on.
struct Shell {
    folder: PathBuf,
    address: String,
    started: Vec<Started>,
}

impl Shell {
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", line]).current_dir(&self.folder);
        // What is built for the workspace is built, and what it is built from is here: nothing is fetched.
        command.env("CARGO_TARGET_DIR", root().join("target")).env("CARGO_NET_OFFLINE", "true");
        command
    }

    /// Runs a command, and returns what it says.
    fn run(&mut self, line: &str) -> String {
        if let Some(folder) = line.strip_prefix("cd ") {
            self.folder.push(folder);
            return String::new();
        }
        if let Some(line) = line.strip_suffix(" &") {
            // Built first, so that whether it compiles is told from whether it serves.
            self.run("cargo build --quiet");
            let child = self.command(line).process_group(0).stdout(Stdio::null()).spawn().unwrap();
            self.started.push(Started(child));
            self.wait();
            return String::new();
        }
        let output = self.command(line).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {}\n{said}{complaint}", output.status);
        said
    }

    /// Waits until the service can be connected to.
    fn wait(&mut self) {
        let end = Instant::now() + Duration::from_mins(4);
        while TcpStream::connect(&self.address).is_err() {
            for started in &mut self.started {
                assert!(started.0.try_wait().unwrap().is_none(), "the service has ended");
            }
            assert!(Instant::now() < end, "the service does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Returns whether a line came out as the page shows it: a time may have run down a little, and an ellipsis stands for what
/// the page leaves out.
fn shows(shown: &str, said: &str) -> bool {
    let said = said.trim_end_matches('\r');
    let (start, end) = shown.split_once('…').unwrap_or((shown, ""));
    if shown.contains('…') {
        return said.starts_with(start) && said.ends_with(end);
    }
    let mut expected = shown.split_inclusive(|char: char| !char.is_ascii_digit());
    let mut found = said.split_inclusive(|char: char| !char.is_ascii_digit());
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return true,
            (Some(expected), Some(found)) if expected == found || nearly(expected, found) => {}
            _ => return false,
        }
    }
}

/// Returns whether two numbers of seconds, of an hour and so, are one that has run down to the other.
fn nearly(expected: &str, found: &str) -> bool {
    let number = |text: &str| text.trim_end_matches(|char: char| !char.is_ascii_digit()).parse::<u64>().ok();
    let rest = |text: &str| text.trim_start_matches(|char: char| char.is_ascii_digit()).to_owned();
    let both = number(expected).zip(number(found));
    both.is_some_and(|(expected, found)| expected >= 3_600 && (expected - 60..=expected).contains(&found))
        && rest(expected) == rest(found)
}

fn run_commands(shell: &mut Shell, block: &Block) -> usize {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    for line in &block.lines {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command.replace(PORT, &shell.address), Vec::new())),
            None => commands.last_mut().unwrap().1.push(line.clone()),
        }
    }
    for (command, shown) in &commands {
        let said = shell.run(command);
        let mut rest = said.lines();
        for line in shown {
            assert!(rest.any(|said| shows(line, said)), "{command}\ndoes not say: {line}\n{said}");
        }
    }
    commands.len()
}

/// Guards against a first page that nobody can follow.
#[test]
fn from_nothing_to_a_limited_axum_service() {
    let page = fs::read_to_string(root().join("docs/tower.md")).unwrap();
    let scratch = Scratch(std::env::temp_dir().join(format!("tidegate-page-{}", std::process::id())));
    let folder = &scratch.0;
    fs::create_dir(folder).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let mut shell = Shell { folder: folder.clone(), address, started: Vec::new() };
    let (mut files, mut commands) = (0, 0);
    for block in blocks(&page) {
        let Some(file) = &block.file else {
            commands += run_commands(&mut shell, &block);
            continue;
        };
        // The page's checkout is this one.
        let crates = root().join("crates").to_string_lossy().into_owned();
        let text =
            block.lines.join("\n").replace("../tidegate/crates", &crates).replace(PORT, &shell.address);
        fs::write(folder.join(file), text + "\n").unwrap();
        if file.ends_with("Cargo.toml") {
            fs::copy(root().join("Cargo.lock"), folder.join(file).with_file_name("Cargo.lock")).unwrap();
        }
        files += 1;
    }
    assert_eq!((files, commands), (2, 7));
}

/// Guards the front pages against five lines that do not compile any more: those of the layer are tried with its
/// documentation, and the others show the same.
#[test]
fn the_front_pages_show_the_five_lines_that_compile() {
    let mut layer = String::new();
    fs::File::open(root().join("crates/tower/src/lib.rs")).unwrap().read_to_string(&mut layer).unwrap();
    let (_, block) = layer.split_once("```no_run\n").unwrap();
    let (block, _) = block.split_once("//! ```").unwrap();
    let lines: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("//! "))
        .filter(|line| !line.starts_with("# "))
        .collect();
    let calls: Vec<&&str> =
        lines.iter().filter(|line| !line.starts_with("use ") && !line.is_empty()).collect();
    assert_eq!(calls.len(), 5, "{calls:?}");
    for (page, before) in [("crates/tidegate/src/lib.rs", "//! "), ("README.md", "")] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for line in &calls {
            assert!(
                text.lines().any(|shown| shown.strip_prefix(before) == Some(line)),
                "{page} lacks: {line}"
            );
        }
    }
}
