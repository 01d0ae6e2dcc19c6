use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use tidegate_browser_kit::{Browser, Page, Scheme};

use super::super::{comparison_page, sample};
use super::*;

/// A text that tries to be markup wherever it stands.
const HOSTILE: &str = "</title><script>document.title='gone'</script>\"'&<b>";

/// Returns the names of the elements of a page, having checked that each that begins also ends where it has to.
fn elements(page: &str) -> Vec<String> {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let (mut open, mut all): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = page;
    while let Some((_, from)) = rest.split_once('<') {
        let (tag, after) = from.split_once('>').unwrap_or_else(|| panic!("a tag does not end: {from}"));
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "an element ends that is not the last that began");
            continue;
        }
        let name = tag.split_whitespace().next().unwrap_or_default().trim_end_matches('/').to_owned();
        assert_eq!(tag.matches('"').count() % 2, 0, "an attribute does not end: {tag}");
        if !VOID.contains(&name.as_str()) && !tag.ends_with('/') {
            open.push(name.clone());
        }
        all.push(name);
    }
    assert!(open.is_empty(), "not ended: {open:?}");
    all
}

/// Guards whoever opens a page of a policy that somebody else wrote.
#[test]
fn what_a_policy_says_never_becomes_markup() {
    let known: BTreeSet<String> = elements(&page(&sample::report("policy.yaml"))).into_iter().collect();
    let mut report = sample::report(HOSTILE);
    for rule in &mut report.rules {
        rule.rule = HOSTILE.to_owned();
        rule.code = Some(HOSTILE.to_owned());
        rule.skipped = rule.skipped.is_some().then(|| HOSTILE.to_owned());
        rule.trades.iter_mut().for_each(|trade| trade.what = HOSTILE.to_owned());
        rule.exposed.iter_mut().for_each(|exposed| exposed.says = HOSTILE.to_owned());
        for limit in &mut rule.limits {
            (limit.name, limit.says, limit.numbers) = (HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
        }
        for row in &mut rule.rows {
            row.limit = row.limit.is_some().then(|| HOSTILE.to_owned());
            row.with = Some(HOSTILE.to_owned());
            row.money = Some((7, HOSTILE.to_owned()));
        }
    }
    let page = page(&report);
    for element in elements(&page) {
        assert!(known.contains(&element), "<{element}> comes from the policy");
    }
    assert!(!page.contains("<script"));
    assert!(page.contains(
        "&lt;/title&gt;&lt;script&gt;document.title=&#39;gone&#39;&lt;/script&gt;&quot;&#39;&amp;&lt;b&gt;"
    ));
}

/// Guards the page against other files: whoever is sent it has only this one.
#[test]
fn the_page_needs_nothing_else() {
    let page = page(&sample::report("policy.yaml"));
    for outside in ["http://", "https://", "src=", "@import", "url(", "<script", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
}

/// Guards readers who do not see drawings: each says in words what it shows, and no two have the same name.
#[test]
fn every_drawing_has_a_caption_a_title_and_a_name_of_its_own() {
    let page = page(&sample::report("policy.yaml"));
    let figures: Vec<&str> =
        page.split("<figure>").skip(1).filter_map(|rest| rest.split("</figure>").next()).collect();
    assert_eq!(figures.len(), 8, "one of all; four of verify; of login, which has no windows, three");
    for figure in &figures {
        assert!(figure.contains("<figcaption><strong>") && figure.contains("role=\"img\""), "{figure}");
        assert!(figure.contains("<title id=") && figure.contains("<desc id="), "{figure}");
    }
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    for used in page.split("aria-labelledby=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(used.split(' ').all(|id| ids.contains(&id)), "{used}");
    }
    for to in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(ids.contains(&to), "{to}");
    }
}

/// Guards the figures: those of the straddler at five in thirty seconds are ten in a window, and those of a day are known.
#[test]
fn the_figures_of_the_attacks_stand_in_the_table_and_in_the_captions() {
    let page = page(&sample::report("policy.yaml"));
    assert!(page.contains("boundary-straddler"));
    assert!(page.contains("<strong>10 of 10 in 30 s</strong>"), "the straddler's window");
    assert!(page.contains("the fullest 30 s of all plays held 10 (10 by the closed form)"));
    assert!(page.contains(">10 in 30 s</text>"), "the bracket over the fullest span");
    // Sixteen days are ln 2 / 3e-6 guesses at five in thirty seconds.
    assert!(page.contains("16.04 days") || page.contains("16.05 days"));
    assert!(page.contains("Nothing was played: it refuses every request."));
    assert!(page.contains("<code>aligned-window-on-sign-in</code>"));
    assert!(!page.contains("More passed than can"));
}

/// Guards whoever has to act on it: a fault of the bench itself comes first and is marked in its row.
#[test]
fn more_than_can_be_is_told_first() {
    let mut report = sample::report("policy.yaml");
    let row = &mut report.rules[0].rows[0];
    row.is_exceeded = true;
    row.worst.peaks.iter_mut().for_each(|peak| peak.bound = Some(3));
    let page = page(&report);
    let (told, table) = (page.find("More passed than can"), page.find("At a glance"));
    assert!(told.is_some() && told < table);
    assert!(
        page.contains("6 of 3 in 30 s: more than can be") || page.contains("of 3 in 30 s: more than can be")
    );
    assert!(page.contains("class=\"bar exceeded\""));
}

/// Guards "did no worse in any column" against who keeps out most people, where another refuses a larger share of tries.
#[test]
fn whoever_keeps_most_people_out_stands_at_a_glance() {
    let mut report = sample::report("policy.yaml");
    let rule = &mut report.rules[0];
    while rule.rows.len() < FEW + 2 {
        let next = rule.rows[0].clone();
        rule.rows.push(next);
    }
    let last = rule.rows.len() - 1;
    rule.rows[last - 1].adversary = "one-out-of-one";
    rule.rows[last - 1].worst.people = PeopleSeen { tries: 500, denied: 500, people: 1, shut_out: 1 };
    rule.rows[last].adversary = "most-out-of-many";
    rule.rows[last].worst.people = PeopleSeen { tries: 500, denied: 490, people: 68, shut_out: 68 };
    let page = page(&report);
    let glance = page.split("At a glance").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(glance.contains("one-out-of-one") && glance.contains("98 %; 68 of 68 never got in"), "{glance}");
}

/// Tells how many tables are wider than their place.
const SIDEWAYS: &str =
    "[...document.querySelectorAll('.wide')].filter((it) => it.scrollWidth > it.clientWidth + 1).length";

/// Guards against last columns that nobody sees: at the width of a desk tables are not moved sideways.
#[test]
fn tables_are_shown_whole_on_a_desk() {
    let mut report = sample::report("policy.yaml");
    for row in report.rules.iter_mut().flat_map(|rule| &mut rule.rows) {
        row.with = Some("10,000 numbers from 100 addresses".to_owned());
        row.limit = Some("verify/per-challenge".to_owned());
        row.money = Some((123_456_789, "cents".to_owned()));
        row.worst.people = PeopleSeen { tries: 500, denied: 490, people: 1_068, shut_out: 1_068 };
    }
    let browser = Browser::start();
    for page in [page(&report), comparison_page(&sample::comparison())] {
        let (file, shown) = (File::of("attack-page-wide", &page), browser.page());
        shown.screen(1_200, Scheme::Light);
        shown.open(&file.0);
        assert_eq!(shown.value(SIDEWAYS), 0);
    }
}

/// Tells the height in pixels of the smallest letters of drawings.
const SMALLEST: &str = "Math.min(...[...document.querySelectorAll('svg text')].map((text) =>
    parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))";

/// Tells texts of drawings that lie upon each other or reach out of their drawing.
const CLASHES: &str = "[...document.querySelectorAll('figure svg[role=img]')].flatMap((svg) => {
    const area = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
    const out = texts.filter(([, at]) => at.left < area.left - 1 || at.right > area.right + 1 || at.bottom > area.bottom + 1);
    const upon = texts.flatMap(([text, a], index) => texts.slice(index + 1).filter(([, b]) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4).map(([other]) => `${text} | ${other}`));
    return out.map(([text]) => `out: ${text}`).concat(upon);
})";

/// Tells the colours of the page, of a text, a line and an area of drawings.
const COLOURS: &str = "['body', 'svg text', '.stroke', '.bar'].map((which) => {
    const style = getComputedStyle(document.querySelector(which));
    return [style.backgroundColor, style.color, style.fill, style.stroke];
})";

/// Guards against pictures that are the same with drawings and without.
fn pictured(shown: &Page<'_>) {
    let hide = |how: &str| {
        format!("document.querySelectorAll('svg').forEach((svg) => svg.style.visibility = '{how}')")
    };
    let with = shown.picture();
    shown.value(&hide("hidden"));
    let without = shown.picture();
    shown.value(&hide("visible"));
    assert_ne!(with, without);
    assert!(with.starts_with(b"\x89PNG") && with.len() > without.len());
}

/// A page in a file that goes with it.
struct File(PathBuf);

impl File {
    fn of(name: &str, page: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tidegate-{name}-{}.html", std::process::id()));
        fs::write(&path, page).unwrap();

        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Guards whoever chooses a limit: each stands with what it comes to, and a promise with what keeps it.
#[test]
fn a_comparison_shows_every_limit_in_its_table_and_in_its_drawings() {
    let page = comparison_page(&sample::comparison());
    elements(&page);
    for numbers in
        ["fixed_window: { limit: 5, window: 30s }", "token_bucket: { capacity: 4, refill: 1 per 10s }"]
    {
        assert!(page.contains(&format!("<small>{numbers}</small>")), "{numbers}");
    }
    assert!(page.contains("To promise never more than 5 in any 30 s"));
    assert_eq!(page.matches("<figcaption><strong>").count(), 4);
    assert_eq!(page.matches("role=\"img\"").count(), 4);
}

/// Guards against a page that is cut off on a phone, or that cannot be read at night.
#[test]
fn a_browser_shows_pages_in_light_and_dark_on_a_phone_and_on_a_desk() {
    let pages = [page(&sample::report("policy.yaml")), comparison_page(&sample::comparison())];
    let titles = ["What policy.yaml lets through", "Limits side by side"];
    let browser = Browser::start();
    for (page, title) in pages.iter().zip(titles) {
        let (file, shown) = (File::of("attack-page", page), browser.page());
        shown.open(&file.0);
        assert_eq!(shown.value("document.title"), title);
        is_readable(&shown);
        shown.paper(Scheme::Dark);
        assert_eq!(shown.value("getComputedStyle(document.body).color"), "rgb(27, 31, 36)", "paper is white");
    }
}

fn is_readable(shown: &Page<'_>) {
    let mut looks = BTreeSet::new();
    let schemes = |width| [(width, Scheme::Light), (width, Scheme::Dark)];
    for (width, scheme) in [390, 1280].into_iter().flat_map(schemes) {
        shown.screen(width, scheme);
        assert_eq!(shown.overflowing(), [""; 0], "at {width} pixels");
        let (contrast, text) = shown.lowest_contrast();
        assert!(contrast >= 7.0, "{contrast:.1} to 1 in {scheme:?} at {width}: {text}");
        let smallest = shown.value(SMALLEST).as_f64().unwrap();
        assert!(smallest >= 10.5, "letters of {smallest:.1} pixels at {width}");
        assert_eq!(shown.value(CLASHES).to_string(), "[]", "at {width}");
        looks.insert(shown.value(COLOURS).to_string());
        pictured(shown);
    }
    assert_eq!(looks.len(), 2, "one look in light and another in dark: {looks:?}");
}
