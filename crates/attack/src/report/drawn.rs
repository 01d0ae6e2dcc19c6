//! What is drawn of attacks: which rows are worth a drawing, and the places of their figures.

use tidegate_algorithms::Span;
use tidegate_review::{DAY, YEAR, spoken_chance, spoken_count, spoken_time};

use super::plot::{
    Axis, Bar, Drawing, Joined, Line, Lines, Passed, Spot, Told, Unit, Upright, Windows, bars, lines,
    scatter, short_time, windows,
};
use super::{LimitShown, Row, RuleReport, Trade};
use crate::measure::InSpan;

/// So many adversaries are told apart in one drawing of lines, and in one of bars.
const MOST_LINES: usize = 4;
const MOST_BARS: usize = 12;
/// So many windows of the clock are drawn.
const WINDOWS: u64 = 5;
const MICROS: f64 = 1e6;

/// Returns the drawings of a rule; `id` begins their names on the page.
pub(super) fn of_rule(rule: &RuleReport, id: &str) -> Vec<Drawing> {
    let named = |name: &str| format!("{id}-{name}");
    let drawn = [
        passed_in_windows(rule, &named("windows")),
        cumulative(rule, &named("envelope")),
        side_by_side(rule, &named("fullest")),
        guessed(rule, &named("guess")),
        traded(&rule.trades, &named("trade")),
    ];
    drawn.into_iter().flatten().collect()
}

/// Returns the span by which an adversary's fullest is told: the window of the limit that he goes for, or of the first one.
pub(super) fn window_of(rule: &RuleReport, row: &Row) -> Option<u64> {
    let own = rule.limits.iter().find(|limit| Some(&limit.name) == row.limit.as_ref());
    own.or(rule.limits.first()).map(|limit| limit.window_micros)
}

/// Returns what was seen in spans of a length.
pub(super) fn in_span(spans: &[InSpan], micros: u64) -> Option<&InSpan> {
    spans.iter().find(|span| span.micros == micros)
}

/// Draws what passed against time, for the adversary who got most into a window of the clock.
fn passed_in_windows(rule: &RuleReport, id: &str) -> Option<Drawing> {
    let clocked: Vec<&LimitShown> = rule.limits.iter().filter(|limit| limit.by_the_clock).collect();
    let pairs = rule.rows.iter().filter_map(|row| {
        let limit = match &row.limit {
            Some(name) => clocked.iter().find(|limit| limit.name == *name),
            None => clocked.first(),
        }?;
        let peak = in_span(&row.worst.peaks, limit.window_micros)?;
        Some((row, *limit, *peak)).filter(|_| !points(row).is_empty())
    });
    // By what is possible rather than in numbers: a hundred addresses get more, and show less.
    let ratio = |peak: &InSpan| peak.bound.map_or(0.0, |bound| float(peak.seen.into()) / float(bound.max(1)));
    let worth = |row: &Row, peak: &InSpan| (ratio(peak), row.limit.is_some());
    let (row, limit, peak) = pairs.max_by(|(a, _, x), (b, _, y)| {
        worth(a, x).partial_cmp(&worth(b, y)).unwrap_or(std::cmp::Ordering::Equal)
    })?;
    let window = limit.window_micros;
    let passed = stamps(points(row));
    let (from, count) = fullest(&passed, window)?;
    // The drawing begins with the window before the one in which the fullest span does.
    let first = row.start_micros.saturating_add(from) / window;
    let begins = first.saturating_sub(1).saturating_mul(window);
    let ends = begins.saturating_add(window.saturating_mul(WINDOWS));
    let after = |at: u64| seconds(row.start_micros.saturating_add(at).saturating_sub(begins));
    let inside = |at: u64| (begins..ends).contains(&row.start_micros.saturating_add(at));
    let drawn = passed.iter().filter(|(at, _)| inside(*at));
    let plot = Windows {
        window: seconds(window),
        windows: u32::try_from(WINDOWS).unwrap_or(1),
        passed: drawn.map(|(at, count)| Passed { at: after(*at), count: *count }).collect(),
        fullest: Some((after(from), count)),
    };
    let span = short_time(seconds(window));
    let caption = format!(
        "{} at {}, whose windows begin by the clock: the fullest {span} held {}{}. Bands are those windows, with how many \
         passed in each; the bracket spans the fullest {span}, which keeps to none of them.",
        row.adversary,
        limit.name,
        spoken_count(peak.seen.into()),
        by_the_forms(&peak),
    );
    let told = Told { id, title: "What passed, and in which window.", caption: &caption };
    Some(windows(told, &plot))
}

/// Writes what closed forms allow, to stand behind what was seen.
fn by_the_forms(span: &InSpan) -> String {
    span.bound.map_or_else(String::new, |bound| format!(" ({} by the closed form)", spoken_count(bound)))
}

/// Draws how much passed in all, below the envelope of what was seen and what the closed forms allow.
fn cumulative(rule: &RuleReport, id: &str) -> Option<Drawing> {
    let bounded = rule.rows.iter().filter(|row| row.worst.bounds.len() > 1 && row.worst.curve.len() > 1);
    // Of those at one key, to which the rate is that of; else of all.
    let one_key = |row: &&Row| {
        row.worst.most_per_day.is_some_and(|most| most <= row.worst.rate_per_second * secs(DAY) * 1.01)
    };
    let row = bounded.max_by_key(|row| (one_key(row), row.worst.envelope, row.worst.admitted))?;
    let measured = &row.worst;
    let passed = since_first(row);
    let end = went_on(row).max(60.0);
    let rate = measured.rate_per_second;
    let first = 1.0_f64.min(end / 10.0);
    let over = (0..=48_u8).map(|step| first * (end / first).powf(f64::from(step) / 48.0));
    let envelope = over.map(|at| (at, float(measured.envelope.into()) + rate * at)).collect();
    let bounds: Vec<(f64, f64)> =
        measured.bounds.iter().map(|(at, bound)| (seconds(*at), float(*bound))).collect();
    let top = bounds.iter().chain(&passed).map(|(_, count)| *count).fold(10.0, f64::max);
    let plot = Lines {
        x: Axis::log("time since the first request", first, end, Unit::Seconds),
        y: Axis::log("requests that passed", 1.0, top * 1.3, Unit::Count),
        lines: vec![
            Line {
                name: format!("passed: {}", name(row)),
                points: passed,
                joined: Joined::Holding,
                marks: true,
            },
            Line {
                name: "the most by the closed forms".to_owned(),
                points: bounds,
                joined: Joined::Rising,
                marks: false,
            },
            Line {
                name: "envelope σ + ρ·t of what was seen".to_owned(),
                points: envelope,
                joined: Joined::Straight,
                marks: false,
            },
        ],
        uprights: Vec::new(),
        beyond: None,
    };
    let caption = format!(
        "{} got {} through in {}. No span t of it held more than σ + ρ·t, with σ = {} and ρ = {} a day, the rate of the long \
         run: two numbers by which unlike algorithms compare.",
        name(row),
        spoken_count(measured.admitted.into()),
        spoken_time(went_on(row)),
        spoken_count(measured.envelope.into()),
        a_day(rate),
    );
    let told =
        Told { id, title: "Everything that passed, against the envelope and the bound.", caption: &caption };
    Some(lines(told, &plot))
}

/// Draws the fullest window of every adversary.
fn side_by_side(rule: &RuleReport, id: &str) -> Option<Drawing> {
    let window = rule.limits.first()?.window_micros;
    let mut rows: Vec<(&Row, InSpan)> = rule
        .rows
        .iter()
        .filter_map(|row| Some((row, *in_span(&row.worst.peaks, window)?)))
        .filter(|(_, peak)| peak.seen > 0)
        .collect();
    rows.sort_by_key(|(_, peak)| std::cmp::Reverse(peak.seen));
    let more = rows.len().saturating_sub(MOST_BARS);
    let bar = |(row, peak): &(&Row, InSpan)| Bar {
        name: name(row),
        seen: float(peak.seen.into()),
        bound: peak.bound.map(float),
        figures: of_bound(peak),
        is_exceeded: peak.is_exceeded(),
    };
    let drawn: Vec<Bar> = rows.iter().take(MOST_BARS).map(bar).collect();
    let (most, _) = rows.first()?;
    let span = short_time(seconds(window));
    let mut caption = format!(
        "The most that passed in any {span}, with the most that the closed forms allow for the keys that were touched. {} got \
         the most.",
        name(most),
    );
    if more > 0 {
        caption.push_str(&format!(" {more} more stand in the table."));
    }
    let title = format!("Adversaries side by side: the fullest {span}.");
    let told = Told { id, title: &title, caption: &caption };
    Some(bars(told, &drawn, ("seen", "the most by the closed form")))
}

/// Draws the chance that a guess has hit by a time, for those who are ahead and the lone client.
fn guessed(rule: &RuleReport, id: &str) -> Option<Drawing> {
    let chance = rule.chance_of_one?;
    let mut rows: Vec<&Row> =
        rule.rows.iter().filter(|row| row.worst.guesses > 0 && row.guess.is_some()).collect();
    let median = |row: &Row| row.guess.and_then(|guess| guess.p50).unwrap_or(f64::INFINITY);
    rows.sort_by(|a, b| median(a).total_cmp(&median(b)));
    // Two lines that lie upon each other are one.
    rows.dedup_by(|next, kept| (median(next) / median(kept) - 1.0).abs() < 0.01);
    // The lone client is what the others are told by.
    let lone = rows.iter().position(|row| row.adversary == "greedy").filter(|at| *at >= MOST_LINES);
    if let Some(lone) = lone {
        let lone = rows.remove(lone);
        rows.insert(MOST_LINES - 1, lone);
    }
    rows.truncate(MOST_LINES);
    let slowest = rows.iter().map(|row| median(row)).filter(|at| at.is_finite()).fold(0.0, f64::max);
    let end = (slowest * 10.0).clamp(secs(YEAR) * 1.6, secs(YEAR) * 1e5);
    let row = |row: &&Row| Line {
        name: chances(row),
        points: over_time(row, chance, end),
        joined: Joined::Straight,
        marks: true,
    };
    let drawn: Vec<Line> = rows.iter().map(row).collect();
    let from = drawn.iter().filter_map(|line| line.points.iter().find(|(_, chance)| *chance > 0.005));
    let from = from.map(|(at, _)| *at).fold(3_600.0, f64::min).max(1.0);
    let longest = rows.iter().map(|row| went_on(row)).fold(1.0, f64::max);
    let plot = Lines {
        x: Axis::log("time since the first guess", from, end, Unit::Seconds),
        y: Axis::linear("chance that a guess has hit", 1.0, Unit::Chance),
        lines: drawn,
        uprights: vec![
            Upright { at: secs(DAY), label: "1 day".to_owned() },
            Upright { at: secs(YEAR), label: "1 year".to_owned() },
        ],
        beyond: Some(Upright { at: longest, label: "by the sustained rate".to_owned() }),
    };
    let first = rows.first()?;
    let caption = format!(
        "One guess hits with {} ({}). {}: {}. The shaded part lies beyond what was played, and goes on at the rate that was \
         sustained.",
        spoken_chance(chance),
        rule.code.as_deref().unwrap_or("the code"),
        name(first),
        first.guess.map_or_else(String::new, |guess| format!(
            "half of all attacks have hit after {}, and {} have within a year",
            guess.p50.map_or_else(|| "no time at all".to_owned(), spoken_time),
            spoken_chance(guess.chance_year)
        )),
    );
    let told = Told { id, title: "How soon a blind guess hits.", caption: &caption };
    Some(lines(told, &plot))
}

fn chances(row: &Row) -> String {
    let Some(guess) = row.guess else { return name(row) };
    let (day, year) = (spoken_chance(guess.chance_day), spoken_chance(guess.chance_year));
    format!("{}: {day} in a day, {year} in a year", name(row))
}

/// Returns the chance that a guess has hit over time: by what passed, and beyond by the sustained rate.
fn over_time(row: &Row, chance: f64, end: f64) -> Vec<(f64, f64)> {
    let measured = &row.worst;
    let each = float(measured.guesses.into()) / float(measured.admitted.max(1).into());
    let hit = |guesses: f64| -(guesses * (-chance).ln_1p()).exp_m1();
    let mut over: Vec<(f64, f64)> =
        since_first(row).into_iter().map(|(at, passed)| (at, hit(passed * each))).collect();
    let (played, made) = (went_on(row).max(1.0), float(measured.guesses.into()));
    let rate = measured.guesses_per_day(Span::from_micros(row.length_micros)) / secs(DAY);
    let beyond = (0..=96_u8).map(|step| played * (end / played).powf(f64::from(step) / 96.0));
    over.extend(beyond.map(|at| (at, hit(made + (at - played) * rate))));
    over
}

/// Draws what shutting somebody out costs, against how long a guess takes.
pub(super) fn traded(trades: &[Trade], id: &str) -> Option<Drawing> {
    let spots: Vec<Spot> = trades
        .iter()
        .filter(|trade| trade.requests_an_hour > 0.0)
        .map(|trade| Spot {
            name: format!(
                "{}: {} requests an hour, half guessed {}",
                trade.what,
                an_hour(trade.requests_an_hour),
                trade.p50.map_or_else(|| "never".to_owned(), |p50| format!("after {}", spoken_time(p50)))
            ),
            x: trade.p50.unwrap_or(f64::INFINITY),
            y: trade.requests_an_hour,
        })
        .collect();
    let finite = || spots.iter().map(|spot| spot.x).filter(|x| x.is_finite());
    let (least, most) = (finite().fold(f64::INFINITY, f64::min), finite().fold(1.0, f64::max));
    let high = spots.iter().map(|spot| spot.y).fold(1.0, f64::max);
    let low = spots.iter().map(|spot| spot.y).fold(f64::INFINITY, f64::min);
    spots.first()?;
    let x =
        Axis::log("time by which half of all guesses hit", (least / 5.0).max(1.0), most * 5.0, Unit::Seconds);
    let y = Axis::log("requests an hour that keep somebody out", low / 3.0, high * 3.0, Unit::Count);
    let caption = "The fewest requests an hour that leave no gap for a day. Further right a guess takes longer; further up it is dearer to keep somebody out on purpose. A tighter limit \
                   goes right and down: what keeps both is another key, or a way in for whom you know.";
    let told =
        Told { id, title: "What shutting somebody out costs, against how long a guess takes.", caption };
    Some(scatter(told, (&x, &y), &spots))
}

fn an_hour(requests: f64) -> String {
    if requests < 9.5 { format!("{requests:.2}") } else { spoken_count(whole(requests)) }
}

/// Returns for how many seconds a row's long play went on.
fn went_on(row: &Row) -> f64 {
    secs(row.worst.went_on(Span::from_micros(row.length_micros)))
}

/// Writes whom a row is about: `distributed, 100 addresses (login/per-ip)`.
pub(super) fn name(row: &Row) -> String {
    let mut name = row.adversary.to_owned();
    for part in [&row.with, &row.limit].into_iter().flatten() {
        name.push_str(", ");
        name.push_str(part);
    }
    name
}

/// Writes what was seen in a span with what can be: `10 of 10`.
pub(super) fn of_bound(span: &InSpan) -> String {
    let seen = spoken_count(span.seen.into());
    match span.bound {
        Some(bound) => format!("{seen} of {}", spoken_count(bound)),
        None => format!("{seen}, unlimited"),
    }
}

/// Returns what passed, as instants after the start with the count so far: closely while a short play went on.
fn points(row: &Row) -> &[(u64, u64)] {
    if row.close_up.is_empty() { &row.worst.curve } else { &row.close_up }
}

/// Returns the count so far over seconds since the first that passed: of the short play, which is known closely, and then of
/// the long one that began where it did.
fn since_first(row: &Row) -> Vec<(f64, f64)> {
    let (near, far) = (&row.close_up, &row.worst.curve);
    let end = near.last().map_or(0, |(at, _)| *at);
    let beyond = far.iter().filter(|(at, _)| *at > end || near.is_empty());
    let first = near.first().or(far.first()).map_or(0, |(at, _)| *at);
    let mut most = 0;
    let rising = near.iter().chain(beyond).map(|(at, count)| {
        most = most.max(*count);
        (seconds(at.saturating_sub(first)), float(most.into()))
    });
    rising.collect()
}

/// Returns instants with how much passed at each, of counts so far.
fn stamps(points: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut before = 0;
    let stamp = points.iter().map(|(at, count)| {
        let passed = count.saturating_sub(before);
        before = *count;
        (*at, passed)
    });
    stamp.collect()
}

/// Returns when the fullest half-open span of a length begins, and how much passed in it.
fn fullest(stamps: &[(u64, u64)], span: u64) -> Option<(u64, u64)> {
    let mut best: Option<(u64, u64)> = None;
    let (mut first, mut holds) = (0, 0_u64);
    for (at, passed) in stamps {
        holds = holds.saturating_add(*passed);
        while let Some((begin, left)) =
            stamps.get(first).filter(|(begin, _)| at.saturating_sub(*begin) >= span)
        {
            debug_assert!(begin <= at);
            holds = holds.saturating_sub(*left);
            first += 1;
        }
        if best.is_none_or(|(_, most)| holds > most) {
            best = stamps.get(first).map(|(begin, _)| (*begin, holds));
        }
    }
    best
}

fn a_day(rate: f64) -> String {
    let day = rate * secs(DAY);
    if day < 9.95 { format!("{day:.2}") } else { spoken_count(whole(day)) }
}

fn secs(span: Span) -> f64 {
    seconds(span.as_micros())
}

/// Returns microseconds as seconds.
pub(super) fn seconds(micros: u64) -> f64 {
    float(micros.into()) / MICROS
}

#[expect(clippy::cast_precision_loss, reason = "the figure is only shown, in a few digits")]
fn float(count: u128) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
fn whole(number: f64) -> u128 {
    number.round() as u128
}
