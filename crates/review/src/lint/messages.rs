//! What sends messages: who gets them, and who pays.

use tidegate_policy::{Class, Limit, Reads, Rule};

use super::Lint;
use super::draft::Draft;
use super::reach::{self, Kind};
use super::view::{HOUR, Subject, View, loosest};
use crate::figures::spoken_count;
use crate::finding::Severity;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "send-without-destination-cap",
        summary: "nothing limits how many messages one person is sent",
        find: no_destination,
    },
    Lint {
        id: "send-without-country-cap",
        summary: "nothing limits how many messages a country or a block of numbers is sent",
        find: no_country,
    },
    Lint {
        id: "send-without-global-cap",
        summary: "nothing limits how many messages are sent in all",
        find: no_global,
    },
];

fn senders<'p>(view: &View<'p>) -> impl Iterator<Item = Subject<'p>> + use<'p> {
    view.rules().filter(|subject| subject.class() == Class::Send && subject.rule.refuse.is_none())
}

fn no_destination(view: &View<'_>) -> Vec<Draft> {
    let is_free = |subject: &Subject<'_>| {
        !view
            .met_by(*subject)
            .iter()
            .any(|limit| reach::has(&limit.key, Kind::Somebody) && reach::holds_for_one(&limit.key))
    };
    let draft = |subject: Subject<'_>| {
        let everyone = hourly(&view.met_by(subject), reach::is_everyone);
        let most = everyone
            .map_or_else(|| "any number".to_owned(), |most| format!("{} an hour", spoken_count(most)));
        Draft::of_rule(
            subject,
            Severity::Error,
            format!("{} has no limit by destination: one person can be sent {most}", subject.rule.name),
            "add a limit with the phone number, mail address or account as its key, such as 3 at once, then 1 per 10m",
        )
    };
    senders(view).filter(is_free).map(draft).collect()
}

fn no_country(view: &View<'_>) -> Vec<Draft> {
    let is_free = |subject: &Subject<'_>| {
        let met = view.met_by(*subject);
        let places = || met.iter().flat_map(|limit| limit.key.parts().flatten());
        let coarse = places().any(|place| matches!(place.reads, Reads::PhoneCountry | Reads::PhonePrefix));
        let phones = places().any(|place| reach::is_phone(&place));
        phones && !coarse
    };
    let draft = |subject: Subject<'_>| {
        let met = view.met_by(subject);
        let each = hourly(&met, |key| reach::has(key, Kind::Somebody)).unwrap_or(0);
        let figure = format!(
            "ten thousand neighbouring numbers may get {} messages an hour",
            spoken_count(each.saturating_mul(10_000))
        );
        let spend = spend(subject.rule, each.saturating_mul(10_000));
        Draft::of_rule(
            subject,
            Severity::Warning,
            format!(
                "{} limits neither countries nor blocks of numbers, which is where pumped traffic goes: {figure}{spend}",
                subject.rule.name
            ),
            "add limits on `{ phone_country: … }` and `{ phone_prefix: … }`",
        )
    };
    senders(view).filter(is_free).map(draft).collect()
}

fn no_global(view: &View<'_>) -> Vec<Draft> {
    let is_free =
        |subject: &Subject<'_>| !view.met_by(*subject).iter().any(|limit| reach::is_everyone(&limit.key));
    let draft = |subject: Subject<'_>| {
        let met = view.met_by(subject);
        let each = hourly(&met, reach::holds_for_address).or_else(|| hourly(&met, |_| true)).unwrap_or(0);
        let thousand = each.saturating_mul(1_000);
        Draft::of_rule(
            subject,
            Severity::Warning,
            format!(
                "{} has no limit for everyone together: a thousand addresses or accounts send {} messages an hour{}, a million a \
                 thousand times as many",
                subject.rule.name,
                spoken_count(thousand),
                spend(subject.rule, thousand)
            ),
            "add a limit with `key: global`, by cost where messages cost differently, and `alert_at`",
        )
    };
    senders(view).filter(is_free).map(draft).collect()
}

/// Returns the most that the tightest of some limits lets through in an hour.
fn hourly(limits: &[&Limit], which: impl Fn(&tidegate_policy::Key) -> bool) -> Option<u128> {
    let fit = limits.iter().filter(|limit| which(&limit.key));
    fit.map(|limit| loosest(limit).most_from_idle(HOUR)).min()
}

/// Returns what so many messages cost, for the end of a sentence.
fn spend(rule: &Rule, messages: u128) -> String {
    let cost = rule.price.as_ref().map(|price| (messages.saturating_mul(price.each.into()), &price.unit));
    cost.map_or_else(String::new, |(cost, unit)| format!(" for {} {unit}", spoken_count(cost)))
}
