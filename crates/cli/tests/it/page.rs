//! Pages that say how something is done from nothing: their shell blocks are run as they stand, in their order.
//!
//! A page's ```` ```sh ```` blocks are one script, run by bash in an empty folder with this `tidegate` in its path. A block without
//! a language behind one is what comes out of it, line by line, whatever stands between; a line `…` stands for any. A port that a
//! page names is another in the test, so that pages can be run beside each other.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Waits until every address that a file in the folder listens on is listened on.
const WAIT: &str = r"
for port in $(grep -rohE 'listen:? *127[.]0[.]0[.]1:[0-9]+' . | grep -oE '[0-9]+$' | sort -u); do
  for _ in $(seq 200); do (: </dev/tcp/127.0.0.1/$port) 2>/dev/null && break; sleep 0.05; done
done
";

/// A block of a page.
#[derive(Debug, Clone)]
struct Block {
    language: String,
    text: String,
}

/// A page to be run.
pub(crate) struct Page {
    name: &'static str,
    blocks: Vec<Block>,
    /// The folders in front of the path, this command's the first.
    path: Vec<PathBuf>,
}

impl Page {
    /// Reads a page of the repository.
    pub(crate) fn read(name: &'static str) -> Self {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let text = fs::read_to_string(root.join(name)).unwrap();
        let path = vec![Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().unwrap().to_owned()];
        Self { name, blocks: blocks(&text), path }
    }

    /// Looks for programs in a folder as well.
    #[must_use]
    pub(crate) fn with_path(mut self, folder: impl Into<PathBuf>) -> Self {
        self.path.push(folder.into());
        self
    }

    /// Puts a free port in the place of each of these, wherever the page names it.
    #[must_use]
    pub(crate) fn on_free_ports<const N: usize>(mut self, named: [u16; N]) -> Self {
        // All are held at once, so that they differ.
        let held = named.map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let free = held.each_ref().map(|held| held.local_addr().unwrap().port());
        for block in &mut self.blocks {
            block.text = renumbered(&block.text, &named, &free);
        }
        self
    }

    /// Runs the page, and holds what comes out against what it shows. A block that leaves something running is waited for until
    /// what a file of the folder says `listen` of is listened on.
    pub(crate) fn runs(&self) {
        let folder = Folder::new();
        let (mut script, mut expected) =
            ("trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\nset -e\n".to_owned(), Vec::new());
        let mut blocks = self.blocks.iter().peekable();
        let mut shell = 0_usize;
        while let Some(block) = blocks.next() {
            if block.language != "sh" {
                continue;
            }
            let shown = blocks.next_if(|next| next.language.is_empty()).map(|next| next.text.clone());
            expected.push(shown);
            script.push_str(&block.text);
            if block.text.lines().any(|line| line.trim_end().ends_with('&')) {
                script.push_str(WAIT);
            }
            writeln!(script, r"printf '\n--- block {shell}\n'").unwrap();
            shell += 1;
        }
        assert!(shell > 0, "{}: nothing to run", self.name);
        let mut path = std::env::join_paths(&self.path).unwrap();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let output = Command::new("timeout")
            .args(["120", "bash", "-c", &script])
            .current_dir(&folder.0)
            .env("PATH", path)
            .env_remove("RUST_LOG")
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let mut rest = &out[..];
        for (number, shown) in expected.iter().enumerate() {
            let end = format!("\n--- block {number}\n");
            let Some((said, after)) = rest.split_once(&end) else {
                panic!("{}: block {number} did not end well\n{script}\n{out}\n{err}", self.name);
            };
            rest = after;
            if let Some(shown) = shown {
                self.holds(number, shown, said, &err);
            }
        }
        assert!(output.status.success(), "{}: {:?}\n{out}\n{err}", self.name, output.status);
    }

    /// Holds every line that is shown against what came out, in its order.
    fn holds(&self, number: usize, shown: &str, said: &str, err: &str) {
        let mut rest = said.lines().map(str::trim);
        for line in shown.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "…") {
            let parts: Vec<&str> = line.split('…').collect();
            let is = |said: &str| {
                let mut left = said;
                parts.iter().all(|part| {
                    let found = left.find(part.trim());
                    left = found.and_then(|at| left.get(at + part.trim().len()..)).unwrap_or_default();
                    found.is_some()
                })
            };
            assert!(
                rest.any(is),
                "{}: block {number} does not say, or says earlier: {line}\n{said}\n{err}",
                self.name
            );
        }
    }
}

/// Puts numbers in the place of others, whole ones and at once: a free port may have the digits of one that is named.
fn renumbered(text: &str, named: &[u16], free: &[u16]) -> String {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let pieces = text.as_bytes().chunk_by(|a, b| is_digit(a) == is_digit(b));
    let pieces = pieces.map(|piece| {
        let piece = String::from_utf8_lossy(piece);
        let place = named.iter().position(|named| *piece == named.to_string());
        place.map_or_else(|| piece.into_owned(), |place| free[place].to_string())
    });
    pieces.collect()
}

/// Returns the fenced blocks of a page.
fn blocks(text: &str) -> Vec<Block> {
    let mut all = Vec::new();
    let mut open: Option<Block> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some(Block { language: language.trim().to_owned(), text: String::new() });
            }
            (Some(_), Some("")) => all.extend(open.take()),
            (Some(block), _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    all
}

/// An empty folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tidegate-page-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
