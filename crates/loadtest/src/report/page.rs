//! A report as one page that needs nothing else: no network, no script.

mod drawn;
#[cfg(test)]
mod tests;

use tidegate_review::spoken_count;
use tidegate_trials::html::{Cell, Html};

use super::words::{about, share, time};
use super::{ClassReport, Expectation, Phase, Report};

/// Writes a report as a page.
pub fn page(report: &Report) -> String {
    let mut html = Html::new(&format!("Load test of {}: {}", report.target, report.shape.name()));
    if report.generator_limited {
        html.alarm(
            "The generator was the bottleneck",
            "What is told below is in part, or wholly, what this load test could not do. Of the target it says that it is at least as \
             fast.",
        );
    }
    for line in &report.verdict {
        html.element("p", line);
    }
    expected(&mut html, &report.expectations);
    let drawings = drawn::of(report);
    if !drawings.is_empty() {
        html.raw("<div class=\"plots\">\n");
        for drawing in &drawings {
            drawing.put(&mut html);
        }
        html.raw("</div>\n");
    }
    phases(&mut html, report);
    generator(&mut html, report);
    settings(&mut html, report);
    html.finish()
}

fn expected(html: &mut Html, all: &[Expectation]) {
    if all.is_empty() {
        return;
    }
    html.element("h2", "What was expected");
    let rows = all.iter().map(|one| {
        let held =
            if one.held { Cell::Text("so it is".to_owned()) } else { Cell::Gravest("not so".to_owned()) };
        vec![heading(one.option), Cell::Text(one.says.clone()), held]
    });
    html.table("Expectations", &["Option", "What", "Held"], &[(String::new(), rows.collect())]);
}

fn heading(text: &str) -> Cell {
    Cell::Heading { text: text.to_owned(), to: None, below: None }
}

fn phases(html: &mut Html, report: &Report) {
    html.element("h2", "Phase by phase");
    let columns = [
        "Traffic",
        "Came a second",
        "Decided a second",
        "Admitted",
        "Refused",
        "Without a decision",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "Longest",
        "p99 from when it was sent",
    ];
    let groups = report.phases.iter().map(|phase| {
        let rows = phase.classes().map(|(name, class)| row(name, class));
        (phase.name.clone(), rows.collect())
    });
    html.table(
        "Latencies count from when a request was meant to be sent, but in the last column. Users' own limits fill as a test goes on, so \
         that of two phases the later refuses more of them, with a flood or without.",
        &columns,
        &groups.collect::<Vec<_>>(),
    );
}

fn row(name: &str, class: &ClassReport) -> Vec<Cell> {
    let count = |count: u64| Cell::Figure(spoken_count(count.into()));
    let took = |micros: f64| Cell::Figure(time(micros));
    let latency = &class.latency_us;
    let errors = match class.errors {
        0 => Cell::Figure("0".to_owned()),
        errors => Cell::Gravest(spoken_count(errors.into())),
    };
    vec![
        heading(name),
        Cell::Figure(about(class.offered_rate)),
        Cell::Figure(about(class.rate)),
        count(class.admitted),
        count(class.refused),
        errors,
        took(latency.p50),
        took(latency.p90),
        took(latency.p99),
        took(latency.p999),
        took(latency.max),
        took(class.service_us.p99),
    ]
}

fn generator(html: &mut Html, report: &Report) {
    html.element("h2", "Beside it");
    let columns = [
        "Phase",
        "Generator busy",
        "Late against its schedule, p99",
        "At worst",
        "Processor of the server a decision",
        "Store calls a decision",
    ];
    let rows = report.phases.iter().map(beside).collect();
    html.table("The generator, and what was read of the server", &columns, &[(String::new(), rows)]);
}

fn beside(phase: &Phase) -> Vec<Cell> {
    let generator = &phase.generator;
    let busy = share(generator.busy);
    let busy = if generator.limited_by.is_some() { Cell::Gravest(busy) } else { Cell::Figure(busy) };
    let unknown = || "–".to_owned();
    let cpu = phase.server.as_ref().map_or_else(unknown, |server| time(server.cpu_us_per_request));
    let calls = phase.store.as_ref().map_or_else(unknown, |store| format!("{:.3}", store.calls_per_request));
    vec![
        heading(&phase.name),
        busy,
        Cell::Figure(time(generator.slip_p99_us)),
        Cell::Figure(time(generator.slip_max_us)),
        Cell::Figure(cpu),
        Cell::Figure(calls),
    ]
}

fn settings(html: &mut Html, report: &Report) {
    let settings = &report.settings;
    html.element("h2", "How it was asked");
    let number = |number: Option<f64>| number.map_or("–".to_owned(), about);
    let rows = [
        ("target", format!("{} ({})", report.target, report.kind)),
        ("shape", report.shape.name().to_owned()),
        ("loop", report.loop_kind.to_owned()),
        ("rate of users", number(settings.rate)),
        ("rate of the flood", number(settings.flood_rate)),
        ("connections a class", settings.connections.to_string()),
        ("users", spoken_count(settings.users.into())),
        ("threads, of processors", format!("{} of {}", settings.threads, settings.processors)),
        ("a phase's duration", time(settings.duration_seconds * 1e6)),
        ("timeout", time(settings.timeout_seconds * 1e6)),
        ("seed", settings.seed.to_string()),
        ("program", report.tool.to_owned()),
    ];
    let rows = rows.into_iter().map(|(name, value)| vec![heading(name), Cell::Text(value)]);
    html.table("Settings", &["Setting", "Value"], &[(String::new(), rows.collect())]);
}
