//! What a blind guess achieves against codes and passwords.

use tidegate_algorithms::{Quota, Span};
use tidegate_policy::{Class, Code};

use super::Lint;
use super::draft::Draft;
use super::view::{Subject, View, is_long, loosest};
use crate::figures::{spoken_chance, spoken_count, spoken_time};
use crate::finding::Severity;
use crate::guess::{Allowance, DAY, Guess, GuessTimes, YEAR};

/// The longest that a code should be accepted.
const LONGEST_LIFE: Span = Span::from_secs(600);
/// The most codes that should be accepted at once: the present one, and those beside it.
const MOST_VALID: u32 = 3;
/// The most wrong passwords a day that nobody minds, and from where on they are many.
const PASSWORDS: (u128, u128) = (100, 1_000);

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "no-long-horizon-cap",
        summary: "limits hold for seconds or hours only, and whoever goes on for a year guesses the code",
        find: no_long_cap,
    },
    Lint {
        id: "attempts-die-with-the-code",
        summary: "tries are counted for one code, and each new code brings fresh ones",
        find: attempts_die,
    },
    Lint {
        id: "too-few-digits",
        summary: "the code is too short for what the limits let through in a year",
        find: too_few_digits,
    },
    Lint {
        id: "skew-too-wide",
        summary: "many codes are accepted at once, or one for a long time",
        find: too_wide,
    },
    Lint {
        id: "no-code-named",
        summary: "a rule that checks codes does not say which, so that nobody can say how long a guess takes",
        find: no_code,
    },
    Lint {
        id: "many-passwords-a-day",
        summary: "very many passwords may be tried at one account in a day",
        find: passwords,
    },
];

/// How a rule lets more guesses through than is borne.
struct Excess<'p> {
    subject: Subject<'p>,
    code: &'p Code,
    guess: Guess,
    /// The limits on one account, in their loosest terms.
    quotas: Vec<Quota>,
    tries: u128,
    chance: f64,
    /// The codes that one account can be sent in a year; `None` where nothing limits them.
    codes: Option<u128>,
}

/// Which finding an excess is: a cure for one cures the others.
#[derive(PartialEq)]
enum Cause {
    NoCap,
    Attempts,
    Digits,
}

impl Excess<'_> {
    fn cause(&self) -> Cause {
        match () {
            () if self.quotas.iter().any(is_long) => Cause::Digits,
            () if self.code.attempts.is_some() => Cause::Attempts,
            () => Cause::NoCap,
        }
    }
}

fn excesses<'p>(view: &View<'p>) -> Vec<Excess<'p>> {
    let (budget, _) = view.budget();
    let excess = |subject: Subject<'p>| {
        let (code, guess) = view.code(subject.rule)?;
        let quotas: Vec<Quota> = view.on_account(subject).into_iter().map(|(_, quota)| quota).collect();
        if quotas.is_empty() {
            // That there is none is found elsewhere.
            return None;
        }
        let tries = Allowance::of(&quotas).from_idle(YEAR).saturating_mul(view.copies().into());
        let codes = codes_a_year(view);
        let tries = match (code.attempts, code.carry_over, codes) {
            (Some(attempts), true, _) => tries.min(attempts.into()),
            (Some(attempts), false, Some(codes)) => tries.min(codes.saturating_mul(attempts.into())),
            _ => tries,
        };
        let chance = guess.chance_of(tries);
        (chance > budget).then_some(Excess { subject, code, guess, quotas, tries, chance, codes })
    };
    view.rules().filter_map(excess).collect()
}

/// Returns how many codes one person can be sent in a year, by whichever rule lets most through.
fn codes_a_year(view: &View<'_>) -> Option<u128> {
    let senders = view.rules().filter(|subject| subject.class() == Class::Send);
    let each = senders.map(|subject| {
        let quotas = view.on_account(subject);
        quotas.iter().map(|(_, quota)| quota.most_from_idle(YEAR)).min()
    });
    each.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten()
}

fn drafts(view: &View<'_>, cause: &Cause, say: impl Fn(&Excess<'_>) -> (String, String)) -> Vec<Draft> {
    let (budget, said) = view.budget();
    let fit = excesses(view).into_iter().filter(|excess| excess.cause() == *cause);
    fit.map(|excess| {
        let grave = said || excess.chance > 10.0 * budget;
        let severity = if grave { Severity::Error } else { Severity::Warning };
        let (message, remedy) = say(&excess);
        Draft::of_rule(excess.subject, severity, message, remedy)
    })
    .collect()
}

/// Returns what keeps the chance within what is borne, as a limit on an account.
fn cap(view: &View<'_>, guess: &Guess) -> String {
    let (budget, _) = view.budget();
    let a_day = guess.most_tries(budget) / 365 / u128::from(view.copies());
    if a_day == 0 {
        let digits =
            guess.length_for(365, budget).map_or_else(|| "more".to_owned(), |length| length.to_string());
        return format!("take codes of {digits} characters, and add a limit of one a day on the account");
    }
    format!(
        "add a limit of {} in 24h on the account (`sliding_log: {{ limit: {a_day}, window: 24h }}`, with `count: {{ failures: \
         true, … }}` for wrong ones only), which keeps it at {} a year",
        spoken_count(a_day),
        spoken_chance(guess.chance_of(a_day.saturating_mul(365).saturating_mul(view.copies().into()))),
    )
}

fn no_long_cap(view: &View<'_>) -> Vec<Draft> {
    drafts(view, &Cause::NoCap, |excess| {
        let longest = excess.quotas.iter().map(Quota::window).max();
        let longest = longest.map(|window| window.to_string()).unwrap_or_default();
        let times = GuessTimes::of(&excess.guess, Allowance::of(&excess.quotas));
        let half = times.p50.map_or_else(|| "never".to_owned(), spoken_time);
        let message = format!(
            "{} limits an account over {longest} at most: {} tries a year at {}, which succeed with {}, half of them after {half}",
            excess.subject.rule.name,
            spoken_count(excess.tries),
            excess.guess,
            spoken_chance(excess.chance),
        );
        (message, cap(view, &excess.guess))
    })
}

fn attempts_die(view: &View<'_>) -> Vec<Draft> {
    drafts(view, &Cause::Attempts, |excess| {
        let attempts = excess.code.attempts.unwrap_or_default();
        let codes = excess.codes.map_or_else(
            || "any number of codes".to_owned(),
            |codes| format!("{} codes", spoken_count(codes)),
        );
        let message = format!(
            "{attempts} tries end a code, and the next one brings {attempts} more: {codes} a year give {} tries, which succeed \
             with {}",
            spoken_count(excess.tries),
            spoken_chance(excess.chance)
        );
        (
            message,
            format!(
                "go on counting when a code is sent (`carry_over: true`), or {}",
                cap(view, &excess.guess)
            ),
        )
    })
}

fn too_few_digits(view: &View<'_>) -> Vec<Draft> {
    let (budget, _) = view.budget();
    drafts(view, &Cause::Digits, |excess| {
        let length = excess.guess.length_for(excess.tries, budget);
        let message = format!(
            "{}: {} tries a year at {} succeed with {}, and {} is borne",
            excess.subject.rule.name,
            spoken_count(excess.tries),
            excess.guess,
            spoken_chance(excess.chance),
            spoken_chance(budget)
        );
        let longer =
            length.map(|length| format!("take codes of {length} characters, or ")).unwrap_or_default();
        (message, format!("{longer}{}", cap(view, &excess.guess)))
    })
}

fn too_wide(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for subject in view.rules() {
        let Some((code, guess)) = view.code(subject.rule) else { continue };
        let valid = guess.valid();
        if valid > MOST_VALID {
            let one = Guess::new(code.alphabet, code.digits, 1).map_or(0.0, |one| one.chance_of_one());
            let message = format!(
                "the code {} is right in {valid} ways at once: a try hits with {} instead of {}",
                code.name,
                spoken_chance(guess.chance_of_one()),
                spoken_chance(one)
            );
            let remedy = "accept one step on either side (`skew_steps: 1`), and one code at a time";
            drafts.push(Draft::of_rule(subject, Severity::Warning, message, remedy));
        }
        if let Some(life) = code.life.filter(|life| *life > LONGEST_LIFE) {
            let message = format!(
                "the code {} is accepted for {life}: that long it lies in an inbox, and can be guessed at",
                code.name
            );
            drafts.push(Draft::of_rule(
                subject,
                Severity::Warning,
                message,
                "let it live for ten minutes at most",
            ));
        }
    }
    drafts
}

/// A recovery may end in a link rather than a code, so only many tries at it are asked about.
fn no_code(view: &View<'_>) -> Vec<Draft> {
    let checks = |class| matches!(class, Class::Verify | Class::Recovery);
    let unnamed = view.sign_ins().filter(|subject| checks(subject.class()) && subject.rule.guesses.is_none());
    let drafts = unnamed.filter_map(|subject| {
        let tries = view.on_account(subject).iter().map(|(_, quota)| quota.most_from_idle(DAY)).min();
        let are_many = tries.is_none_or(|tries| tries > PASSWORDS.0);
        if subject.class() == Class::Recovery && !are_many {
            return None;
        }
        let severity = if are_many { Severity::Warning } else { Severity::Note };
        let tries = tries.map_or_else(|| "any number of".to_owned(), spoken_count);
        let message = format!(
            "{} does not say which code it guards: {tries} tries a day at an account mean nothing without its length",
            subject.rule.name
        );
        let remedy = "declare it under `codes`, and name it as `guesses`";
        Some(Draft::of_rule(subject, severity, message, remedy))
    });
    drafts.collect()
}

fn passwords(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let logins =
        view.sign_ins().filter(|subject| subject.class() == Class::Login && subject.rule.guesses.is_none());
    for subject in logins {
        let tightest =
            view.on_account(subject).into_iter().min_by_key(|(_, quota)| quota.most_from_idle(DAY));
        let Some((limit, _)) = tightest else { continue };
        let tries = loosest(limit).most_from_idle(DAY).saturating_mul(view.copies().into());
        if tries <= PASSWORDS.0 {
            continue;
        }
        let severity = if tries > PASSWORDS.1 { Severity::Warning } else { Severity::Note };
        let message = format!(
            "{} lets {} passwords a day be tried at one account: the {} most used ones in a year",
            subject.rule.name,
            spoken_count(tries),
            spoken_count(tries.saturating_mul(365))
        );
        let remedy = "add a limit over a day on the account, of failures only, such as 100 in 24h";
        drafts.push(Draft::of_rule(subject, severity, message, remedy));
    }
    drafts
}
