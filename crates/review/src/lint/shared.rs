//! Counters that other programs count as well, and paths that whoever asks makes up.

use tidegate_algorithms::Quota;
use tidegate_policy::{Key, Limit, Reads, StoreChoice};

use super::Lint;
use super::draft::Draft;
use super::reach;
use super::view::{View, loosest};
use crate::figures::spoken_count;
use crate::finding::Severity;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "counter-per-path",
        summary: "whoever makes up paths has a fresh count for each of them",
        find: per_path,
    },
    Lint {
        id: "shared-counter-doubles",
        summary: "a counter that ends lets twice its limit through, less one",
        find: doubles,
    },
    Lint {
        id: "names-in-the-clear",
        summary: "keys in Redis tell whoever reads there who asked for what",
        find: in_the_clear,
    },
];

fn counts_by_path(key: &Key) -> bool {
    key.parts().flatten().any(|place| place.reads == Reads::RequestPath)
}

/// A limit that counts by the path that was asked for is none, unless another one counts the paths of one client together.
fn per_path(view: &View<'_>) -> Vec<Draft> {
    let by_path = view.limits().filter(|(_, limit)| counts_by_path(&limit.key) && view.refuses(limit));
    let alone = by_path.filter(|(subject, _)| {
        let beside = view.met_by(*subject);
        !beside.iter().any(|other| reach::holds_for_address(&other.key))
    });
    alone
        .map(|(subject, limit)| {
            let message = format!(
                "{} counts by the path that was asked for: whoever makes up paths gets {} requests on each of them, and is \
                 never refused",
                limit.name,
                spoken_count(loosest(limit).nominal().into())
            );
            let remedy = "add a limit with `client_ip` as its key, wide enough for all that one client does";
            Draft::of_limit((subject, limit), Severity::Warning, message, remedy)
        })
        .collect()
}

fn shared<'p>(view: &View<'p>) -> impl Iterator<Item = (super::view::Subject<'p>, &'p Limit)> + use<'p> {
    view.limits().filter(|(_, limit)| limit.shared_counter.is_some())
}

/// Of a sign-in another rule of the review says so.
fn doubles(view: &View<'_>) -> Vec<Draft> {
    let elsewhere = shared(view).filter(|(subject, _)| !subject.is_sign_in());
    elsewhere
        .filter_map(|(subject, limit)| {
            let Quota::FixedWindow(window) = limit.terms.quota else { return None };
            let (most, span) = (limit.terms.quota.most_in_half_open(window.window()), window.window());
            let message = format!(
                "{} lets {} through in some {span}, where {} is meant: all but one of a window at its end, and the next \
                 window's at its beginning",
                limit.name,
                spoken_count(most),
                spoken_count(window.limit().into())
            );
            let remedy = "take a `sliding_log` or a `token_bucket` where that is too much; nobody else can count in it then";
            (most > window.limit().into())
                .then(|| Draft::of_limit((subject, limit), Severity::Note, message, remedy))
        })
        .collect()
}

fn in_the_clear(view: &View<'_>) -> Vec<Draft> {
    if !matches!(view.policy.store, StoreChoice::Redis(_)) {
        return Vec::new();
    }
    let named = shared(view).filter(|(_, limit)| !limit.key.is_global());
    named
        .map(|(subject, limit)| {
            let name = limit.shared_counter.as_ref().map_or("", |counter| counter.name());
            let message = format!(
                "{} names its counters in Redis by {} in the clear (`{name}:…`): whoever reads there, or a copy of it, sees \
                 who asked for what",
                limit.name, limit.key
            );
            let remedy = "leave `shared_counter` out as soon as nobody else counts there: keys are hashed then";
            Draft::of_limit((subject, limit), Severity::Note, message, remedy)
        })
        .collect()
}
