//! Whom limits tell apart, and whom they do not.

use tidegate_policy::{KeySource, Reads};

use super::Lint;
use super::draft::Draft;
use super::reach::{self, Kind};
use super::view::{Subject, View, loosest};
use crate::figures::spoken_count;
use crate::finding::Severity;
use crate::guess::DAY;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "verify-by-address-only",
        summary: "a sign-in is limited by address only, and whoever has many addresses has as many limits",
        find: by_address_only,
    },
    Lint {
        id: "counter-in-a-session",
        summary: "tries are counted on what the caller gets anew when he likes",
        find: in_a_session,
    },
    Lint {
        id: "one-address-tries-everybody",
        summary: "nothing limits how many accounts one address may try",
        find: one_address,
    },
    Lint {
        id: "key-not-normalized",
        summary: "each spelling of one name is a key of its own",
        find: not_normalized,
    },
    Lint {
        id: "ipv6-too-narrow",
        summary: "IPv6 clients are told apart by more than their network, of which each has very many addresses",
        find: too_narrow,
    },
    Lint {
        id: "address-too-wide",
        summary: "so many strangers share one key that one of them can keep the others out",
        find: too_wide,
    },
];

fn by_address_only(view: &View<'_>) -> Vec<Draft> {
    let is_only = |subject: &Subject<'_>| {
        let met = view.met_by(*subject);
        let named = |kind| met.iter().any(|limit| reach::has(&limit.key, kind));
        // Beside an address in one key an account holds nobody who has another address.
        named(Kind::Address) && !named(Kind::Renewable) && view.on_account(*subject).is_empty()
    };
    let draft = |subject: Subject<'_>| {
        let by_address =
            view.met_by(subject).into_iter().filter(|limit| reach::has(&limit.key, Kind::Address));
        let quotas: Vec<_> = by_address.map(loosest).collect();
        let (life, each) = match view.code(subject.rule) {
            Some((code, _)) => {
                (code.life.unwrap_or(DAY), if code.life.is_some() { "while it lives" } else { "in a day" })
            }
            None => (DAY, "in a day"),
        };
        let tries = quotas.iter().map(|quota| quota.most_from_idle(life)).min().unwrap_or(0);
        let tries = tries.saturating_mul(view.copies().into());
        let figure = view.code(subject.rule).and_then(|(_, guess)| {
            let sources = guess.sources_to_exhaust(tries)?;
            let tries = match sources {
                1 => "1 address tries".to_owned(),
                many => format!("{} addresses try", spoken_count(many)),
            };
            Some(format!("{tries} every code {each}"))
        });
        let figure = figure.unwrap_or_else(|| {
            format!("each address tries one account {} times {each}", spoken_count(tries))
        });
        Draft::of_rule(
            subject,
            Severity::Error,
            format!("{} is limited by address only: {figure}", subject.rule.name),
            "add a limit with the account as its key",
        )
    };
    view.sign_ins().filter(is_only).map(draft).collect()
}

fn in_a_session(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for subject in view.sign_ins().filter(|subject| view.on_account(*subject).is_empty()) {
        let renewable = |place: &KeySource<'_>| reach::kind(place) == Kind::Renewable;
        let renewed = view
            .met_by(subject)
            .into_iter()
            .find_map(|limit| limit.key.parts().flatten().find(renewable).map(|place| (limit, place.name)));
        let Some((limit, name)) = renewed else { continue };
        let message = format!(
            "{} counts on {name}, which the caller gets anew when he likes: {} tries each time, and no end",
            limit.name,
            loosest(limit).nominal()
        );
        let remedy = "add a limit with the account as its key beside it";
        drafts.push(Draft::of_rule(subject, Severity::Error, message, remedy));
    }
    drafts
}

fn one_address(view: &View<'_>) -> Vec<Draft> {
    let is_free = |subject: &Subject<'_>| {
        let met = view.met_by(*subject);
        let named = met.iter().any(|limit| reach::has(&limit.key, Kind::Somebody));
        named && !met.iter().any(|limit| reach::holds_for_address(&limit.key))
    };
    let draft = |subject: Subject<'_>| {
        let met = view.met_by(subject).into_iter();
        let of_somebody = met.filter(|limit| reach::has(&limit.key, Kind::Somebody));
        let each = of_somebody.map(|limit| loosest(limit).nominal()).min().unwrap_or(1);
        let guesses = if each == 1 { "1 guess".to_owned() } else { format!("{each} guesses") };
        Draft::of_rule(
            subject,
            Severity::Warning,
            format!(
                "{} has no limit by address: one machine may try {guesses} at each of any number of accounts at once",
                subject.rule.name
            ),
            "add a limit with `client_ip` as its key, wide enough for those who share an address",
        )
    };
    view.sign_ins().filter(is_free).map(draft).collect()
}

fn not_normalized(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (subject, limit) in view.limits().filter(|(subject, _)| subject.class().is_guarded()) {
        for place in limit.key.parts().flatten() {
            let Some(field) = reach::field(&place) else { continue };
            let (why, remedy) = if reach::is_phone(&place) && !place.international {
                ("a phone number has many spellings (+1 555…, 001555…)", "normalize: [{ e164: US }]")
            } else if reach::is_person(&place) && !reach::is_phone(&place) && !place.lowercased {
                ("ADA, Ada and ada are three keys with a full limit each", "normalize: [trim, lowercase]")
            } else {
                continue;
            };
            let message = format!("{} counts on {field} as it is written: {why}", limit.name);
            let remedy =
                format!("write `{remedy}` with the key, unless the service tells the spellings apart");
            drafts.push(Draft::of_limit((subject, limit), Severity::Warning, message, remedy));
        }
    }
    drafts
}

/// Returns, of each limit, what is said of the prefixes of its addresses.
fn of_addresses(
    view: &View<'_>,
    say: impl Fn(u8, u8) -> Option<(Severity, String, &'static str)>,
) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (subject, limit) in view.limits() {
        let mut whole = false;
        let prefixes = limit.key.parts().flatten().find_map(|place| match place.reads {
            Reads::Address { ipv4, ipv6 } => Some((ipv4, ipv6)),
            // Envoy's entry is counted on as it is written.
            Reads::Descriptor(_) if place.entry_key() == Some("remote_address") => {
                whole = true;
                Some((32, 128))
            }
            _ => None,
        });
        let Some((severity, message, remedy)) = prefixes.and_then(|(ipv4, ipv6)| say(ipv4, ipv6)) else {
            continue;
        };
        let message = format!("{} {message}", limit.name);
        let remedy =
            if whole { "count on `client_ip`, which cuts the entry remote_address to /64" } else { remedy };
        drafts.push(Draft::of_limit((subject, limit), severity, message, remedy));
    }
    drafts
}

fn too_narrow(view: &View<'_>) -> Vec<Draft> {
    of_addresses(view, |_, ipv6| {
        let spare = ipv6.checked_sub(64).filter(|spare| *spare > 0)?;
        let keys = spoken_count(1_u128.checked_shl(spare.into())?);
        let message = format!(
            "tells IPv6 clients apart by /{ipv6}: whoever has one /64, as every customer does, has {keys} keys"
        );
        Some((Severity::Warning, message, "write `ipv6: 64`, or 56 where customers get that"))
    })
}

fn too_wide(view: &View<'_>) -> Vec<Draft> {
    of_addresses(view, |ipv4, ipv6| {
        let share = 1_u128.checked_shl(32_u32.saturating_sub(ipv4.into()))?;
        let message = match (ipv4 < 24, ipv6 < 48) {
            (true, _) => format!(
                "counts {} IPv4 addresses (a /{ipv4}) on one key: one of them uses it up for all",
                spoken_count(share)
            ),
            (_, true) => format!(
                "counts IPv6 by /{ipv6}, which holds many customers' networks: one of them uses it up for all"
            ),
            _ => return None,
        };
        Some((Severity::Note, message, "write `ipv4: 24` or longer and `ipv6: 48` or longer"))
    })
}
