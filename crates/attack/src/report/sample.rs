//! A report for tests of pages, of plays of real limits.

use std::sync::Arc;

use tidegate::{Anchor, Quota, Rate};
use tidegate_algorithms::{Span, Timestamp};
use tidegate_review::{DAY, Guess};

use super::{GuessSeen, LimitShown, Report, Row, RuleReport, Trade};
use crate::act::{Act, Actor, Answer, Chance, Seat, Who};
use crate::adversary::{Adversary, Aim, Exposed, Means, Need, Play, address, at_victim};
use crate::bench::{Effort, Options};
use crate::compare::{Comparison, compare};
use crate::stage::Stage;
use crate::target::Bare;

/// Four in the afternoon of a day, 17 seconds into a window of thirty.
const START: Timestamp = Timestamp::saturating_from_micros(2_209_132_817_000_000);

/// Six digits, three of them valid at once.
fn six_digits() -> Guess {
    Guess::new(10, 6, 3).unwrap()
}

fn fixed() -> Quota {
    Quota::fixed_window(5, Span::from_secs(30), Anchor::Clock).unwrap()
}

fn bucket() -> Quota {
    Quota::token_bucket(4, Rate::new(1, Span::from_secs(10)).unwrap()).unwrap()
}

/// Returns a report on a policy of that name with two rules that were attacked and one that was not.
pub(super) fn report(policy: &str) -> Report {
    let verify = [
        row(&Schedule::greedy(), fixed(), None),
        row(&Schedule::straddler(), fixed(), Some("verify/per-account")),
        row(&Schedule::denying(), fixed(), Some("verify/per-account")),
    ];
    let login = [row(&Schedule::greedy(), bucket(), None), row(&Schedule::spread(), bucket(), None)];
    let guess = six_digits();
    let trades = [
        ("verify/per-account", fixed()),
        ("token_bucket: { capacity: 4, refill: 1 per 10s }", bucket()),
        ("sliding_log: { limit: 9, window: 24h }", Quota::sliding_log(9, DAY).unwrap()),
        (
            "lockout: { attempts: 10, within: 30m, lock: 1h }",
            Quota::lockout(10, Span::from_secs(1800), Span::from_secs(3600)).unwrap(),
        ),
    ];
    let exposed = Exposed {
        finding: Some("aligned-window-on-sign-in"),
        says:
            "Around a window's end 10 guesses passed within a second, where the limit's name says 5 in 30s."
                .to_owned(),
    };
    let mut verify = rule("verify", fixed(), verify.into(), vec![exposed]);
    verify.trades = trades.iter().filter_map(|(what, quota)| Trade::of(what, quota, &guess)).collect();
    let spread = Exposed {
        finding: None,
        says: format!("100 keys let {} requests through in a day.", login[1].worst.admitted),
    };
    let login = rule("login", bucket(), login.into(), vec![spread]);
    let mut closed = rule("closed", bucket(), Vec::new(), Vec::new());
    (closed.limits, closed.skipped) = (Vec::new(), Some("it refuses every request".to_owned()));
    let rules = vec![verify, login, closed];
    let requests = rules.iter().flat_map(|rule| &rule.rows).map(|row| row.worst.requests).sum();
    Report { policy: policy.to_owned(), seed: 7, requests, rules }
}

/// Returns a comparison of two limits, of few and short plays.
pub(super) fn comparison() -> Comparison {
    let effort =
        Effort { phases: 1, short_requests: 300, length: DAY, long_requests: 2_000, ..Effort::default() };
    let options = Options { effort, ..Options::default() };
    compare(&[fixed(), bucket()], None, &six_digits(), &options, &|_| {}).unwrap()
}

fn rule(name: &str, quota: Quota, rows: Vec<Row>, exposed: Vec<Exposed>) -> RuleReport {
    let limit =
        LimitShown::of(&format!("{name}/per-account"), "Five per thirty seconds, per account.", &quota);
    RuleReport {
        rule: name.to_owned(),
        class: "verify",
        limits: vec![limit],
        code: Some(six_digits().to_string()),
        chance_of_one: Some(six_digits().chance_of_one()),
        trades: Vec::new(),
        skipped: None,
        rows,
        exposed,
    }
}

fn row(schedule: &Schedule, quota: Quota, limit: Option<&str>) -> Row {
    let (aim, means) = (Aim::at(quota), Means::default());
    let stage = Stage::new(Arc::new(Bare::of(quota)), 7, Some(six_digits()));
    let play = |length| Play { start: START, length, jitter: Span::ZERO, means };
    let close_up = stage.play(schedule, &aim, &play(Span::from_secs(120))).unwrap();
    let worst = stage.play(schedule, &aim, &play(DAY)).unwrap();
    Row {
        adversary: schedule.name,
        what: "Does what the sample has him do.",
        needs: Vec::new(),
        with: (schedule.subjects > 1).then(|| format!("{} accounts", schedule.subjects)),
        limit: limit.map(str::to_owned),
        plays: 2,
        start_micros: START.as_micros(),
        length_micros: DAY.as_micros(),
        between: (close_up.guesses, close_up.guesses),
        close_up: close_up.curve,
        guess: (!schedule.people).then(|| GuessSeen::of(&six_digits(), &worst, DAY)),
        money: None,
        is_exceeded: worst.is_exceeded(),
        worst,
    }
}

/// Somebody who asks at fixed instants.
struct Schedule {
    name: &'static str,
    /// The time between two times that he asks.
    every: Span,
    /// How many requests at once.
    requests: u32,
    /// How many keys he goes round.
    subjects: u32,
    /// Whether half of the requests come a microsecond before each second end of a window, and half with it.
    straddles: bool,
    /// Whether somebody wants his own beside him.
    people: bool,
}

impl Schedule {
    fn greedy() -> Self {
        let every = Span::from_secs(4);
        Self { name: "greedy", every, requests: 1, subjects: 1, straddles: false, people: false }
    }

    fn straddler() -> Self {
        let every = Span::from_secs(60);
        Self { name: "boundary-straddler", every, requests: 5, straddles: true, ..Self::greedy() }
    }

    fn spread() -> Self {
        Self { name: "spray", every: Span::from_secs(4), subjects: 100, ..Self::greedy() }
    }

    fn denying() -> Self {
        Self { name: "lockout", every: Span::from_secs(5), people: true, ..Self::greedy() }
    }
}

impl Adversary for Schedule {
    fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self) -> &'static str {
        "Asks at fixed instants."
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn fits(&self, _aim: &Aim) -> bool {
        true
    }

    fn seats(&self, _aim: &Aim, play: &Play) -> Vec<Seat> {
        let asks = |every, requests, subjects| Asks {
            at: play.start,
            every,
            requests,
            subjects,
            turn: 0,
            half: None,
        };
        let mut own = asks(self.every, self.requests, self.subjects);
        if self.straddles {
            // The first end of a window after the start.
            let into = play.start.as_micros() % 30_000_000;
            own.at = play.start.saturating_add(Span::from_micros(30_000_000 - into - 1));
            own.half = Some(false);
        }
        let person = self.people.then(|| Seat::person(asks(Span::from_secs(97), 1, 1)));
        std::iter::once(Seat::adversary(own)).chain(person).collect()
    }
}

struct Asks {
    at: Timestamp,
    every: Span,
    requests: u32,
    subjects: u32,
    turn: u32,
    /// Whether it is the second half of what comes around a window's end.
    half: Option<bool>,
}

impl Actor for Asks {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let who = Who { subject: self.turn % self.subjects, address: address(0), ..at_victim() };
        let act = Act::one(self.at, who).times(self.requests);
        self.turn = self.turn.wrapping_add(1);
        let step = match &mut self.half {
            Some(half) => {
                *half = !*half;
                if *half { Span::from_micros(1) } else { Span::from_micros(self.every.as_micros() - 1) }
            }
            None => self.every,
        };
        self.at = self.at.saturating_add(step);
        Some(act)
    }
}
