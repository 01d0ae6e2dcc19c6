use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tidegate_browser_kit::{Browser, Scheme};

use super::*;
use crate::plan::{Expected, Plan, Shape, sample};
use crate::run::{Control, run};

/// A real test of a memory store, short.
fn report(shape: Shape) -> Report {
    let expected = Expected { min_rate: Some(1e9), ..Expected::default() };
    let plan = Plan { expected, ..sample(shape) };
    let stop = Arc::new(AtomicBool::new(false));
    run(&plan, Control { told: &|_| (), stop: &stop }).unwrap()
}

/// Guards whoever opens the page of a test of somebody else's: what it names never becomes markup, and it loads nothing.
#[test]
fn a_page_says_the_verdict_and_what_was_missed_and_needs_nothing_else() {
    let mut report = report(Shape::OneKeyFlood);
    assert!(!report.is_as_expected());
    report.target = "http://a/<script>x</script>".to_owned();
    let page = page(&report);
    for line in &report.verdict {
        assert!(page.contains(&*tidegate_trials::html::escape(line)), "{line}");
    }
    assert!(page.contains("not so") && page.contains("--min-rate"));
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("href=\"http"), "{page}");
    for id in ["percentiles", "rates", "tails"] {
        assert!(page.contains(&format!("id=\"{id}-title\"")), "{id}");
    }
}

/// Guards readers in light and dark, and on a phone.
#[test]
fn a_browser_shows_the_page_in_both_schemes_without_a_sideways_scroll() {
    let file = std::env::temp_dir().join(format!("tidegate-loadtest-{}.html", std::process::id()));
    std::fs::write(&file, page(&report(Shape::Mix))).unwrap();
    let browser = Browser::start();
    let shown = browser.page();
    shown.open(&file);
    for scheme in [Scheme::Light, Scheme::Dark] {
        for width in [390, 1_280] {
            shown.screen(width, scheme);
            let (contrast, text) = shown.lowest_contrast();
            assert!(contrast >= 7.0, "{contrast:.1} to 1 in {scheme:?} at {width}: {text}");
            assert_eq!(shown.overflowing(), [""; 0], "{scheme:?} at {width}");
        }
    }
    std::fs::remove_file(&file).unwrap();
}
