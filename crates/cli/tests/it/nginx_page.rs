//! `docs/nginx.md`, run from its first block to its last.

use std::env;
use std::path::{Path, PathBuf};

use crate::page::Page;

/// Guards the page against a step that it leaves out, and against an output that nobody has seen.
#[test]
fn from_nothing_to_nginx_limited_by_tidegate() {
    // Where `./test` puts it, else where the system has it, which is in no user's path.
    let own = env::var_os("TIDEGATE_PROXIES").map(|folder| PathBuf::from(folder).join("usr/sbin"));
    let folder = own.filter(|folder| folder.join("nginx").is_file());
    let folder = folder.unwrap_or_else(|| Path::new("/usr/sbin").to_owned());
    Page::read("docs/nginx.md").with_path(folder).on_free_ports([8000, 8081, 3000]).runs();
}
