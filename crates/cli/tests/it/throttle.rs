//! `docs/throttle.md`, run.

use crate::page::Page;

#[test]
fn the_page_on_throttling_runs() {
    Page::read("docs/throttle.md").on_free_ports([8085]).runs();
}
