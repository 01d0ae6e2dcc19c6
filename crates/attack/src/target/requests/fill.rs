//! What has to stand in a request so that limits find their keys and their costs.

use http::HeaderName;
use tidegate_policy::{Cost, KeySource, Limit, Reads, Rule};
use tidegate_review::{KeyKind, key_kind};

use super::json::{self, Tree};
use super::names::Form;
use super::phones::Phones;
use super::route::{self, Path, Segment};

/// Countries that subjects come from where limits tell countries apart.
const COUNTRIES: [&str; 8] = ["US", "GB", "FR", "DE", "ES", "IT", "BR", "IN"];

/// A rule that applies, with the pattern that matched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applying<'p> {
    pub(super) rule: &'p Rule,
    pub(super) route: &'p str,
}

/// A place of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Header(HeaderName),
    Query(String),
    /// A segment of the path.
    Path(usize),
    Json(Vec<String>),
    Form(String),
    Cookie(String),
    /// What nobody can write who makes requests: a ready-made value of this name.
    Ready(String),
}

/// What stands in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    /// Whom the request is about; in the caller's spelling where he writes it.
    Subject(Form),
    /// What the caller gets anew.
    Session,
    /// Always the same.
    Fixed(String),
}

/// A place and what stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) place: Place,
    pub(super) says: Says,
}

/// The kind of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Json,
    Form,
}

/// Everything that has to be filled.
#[derive(Debug, Clone)]
pub(super) struct Filling {
    pub(super) slots: Vec<Slot>,
    pub(super) body: Option<Body>,
    /// The document, where the body is one.
    pub(super) tree: Tree,
    pub(super) phones: Phones,
}

impl Slot {
    /// Returns whether the caller writes it, so that he can spell it otherwise.
    pub(super) fn is_spelled(&self) -> bool {
        let written =
            matches!(self.place, Place::Query(_) | Place::Path(_) | Place::Json(_) | Place::Form(_));
        written && matches!(self.says, Says::Subject(_))
    }
}

impl Filling {
    /// Finds out what has to be filled for rules that apply, the one that is attacked first; `trusted` says whether what
    /// trusted proxies write is believed.
    pub(super) fn of(applying: &[Applying<'_>], path: &Path, trusted: bool) -> Self {
        let mut filling =
            Self { slots: Vec::new(), body: body(applying), tree: Tree::default(), phones: phones(applying) };
        let limits = || applying.iter().flat_map(|one| one.rule.limits.iter().map(move |limit| (one, limit)));
        for (one, limit) in limits() {
            let room = Room { path, route: one.route, trusted };
            for places in limit.key.origins() {
                if let Some((place, at)) = filling.first(&places, room) {
                    filling.add(at, says(place));
                }
            }
        }
        for (one, limit) in limits() {
            filling.cost(&limit.cost, Room { path, route: one.route, trusted });
        }
        filling
    }

    /// Returns the first of alternatives that a request can have, unless that needs nothing.
    fn first<'k>(&self, places: &'k [KeySource<'k>], room: Room<'_>) -> Option<(&'k KeySource<'k>, Place)> {
        let spots = places.iter().map(|place| (place, self.spot(place, room)));
        match spots.into_iter().find(|(_, spot)| *spot != Spot::Nowhere)? {
            (place, Spot::At(at)) => Some((place, at)),
            (_, Spot::Given | Spot::Nowhere) => None,
        }
    }

    fn spot(&self, place: &KeySource<'_>, room: Room<'_>) -> Spot {
        let header = |name: &str| HeaderName::try_from(name).ok().map(Place::Header);
        let found = match &place.reads {
            Reads::TrustedHeader(_) if !room.trusted => None,
            Reads::Header(name) | Reads::TrustedHeader(name) => header(name),
            Reads::Query(name) => Some(Place::Query((*name).to_owned())),
            Reads::Path(name) => {
                let at = route::position(room.route, name);
                at.filter(|at| room.path.segments.get(*at) == Some(&Segment::Free)).map(Place::Path)
            }
            Reads::Json(pointer) if self.body == Some(Body::Json) => Some(Place::Json(json::steps(pointer))),
            Reads::Form(name) if self.body == Some(Body::Form) => Some(Place::Form((*name).to_owned())),
            Reads::Json(_) | Reads::Form(_) => None,
            Reads::Cookie(name) => Some(Place::Cookie((*name).to_owned())),
            Reads::Descriptor(name) => Some(Place::Ready((*name).to_owned())),
            Reads::Claim(_) => Some(Place::Ready(place.name.to_owned())),
            Reads::Everyone
            | Reads::Address { .. }
            | Reads::Method
            | Reads::Route
            | Reads::RequestPath
            | Reads::PhoneCountry
            | Reads::PhonePrefix => return Spot::Given,
        };
        found.map_or(Spot::Nowhere, Spot::At)
    }

    /// Fills a place, unless something is in it.
    fn add(&mut self, place: Place, says: Says) {
        if self.slots.iter().any(|slot| slot.place == place) {
            return;
        }
        let has_room = match &place {
            Place::Json(steps) => self.tree.put(steps, self.slots.len()),
            _ => true,
        };
        if has_room {
            self.slots.push(Slot { place, says });
        }
    }

    /// Fills what makes a request cost the least, where nothing else stands there.
    fn cost(&mut self, cost: &Cost, room: Room<'_>) {
        match cost {
            Cost::Items(items) if self.body == Some(Body::Json) => {
                self.tree.put_list(&json::steps(items.pointer()));
            }
            // A cost of nothing would be no request of anybody's.
            Cost::Header(header) if header.default_units() > 1 && room.trusted => {
                if let Ok(name) = HeaderName::try_from(header.field()) {
                    self.add(Place::Header(name), Says::Fixed("1".to_owned()));
                }
            }
            Cost::Table(table) => {
                let written = table.values().filter(|(value, _)| !value.starts_with("sha256:"));
                let least = written.min_by_key(|(_, units)| *units);
                let Some((value, _)) = least.filter(|(_, units)| *units < table.default_units()) else {
                    return;
                };
                if table.places().iter().any(is_of_number) {
                    return;
                }
                if let Some((_, place)) = self.first(&table.origins(), room) {
                    self.add(place, Says::Fixed(value.to_owned()));
                }
            }
            Cost::Units(_) | Cost::Items(_) | Cost::Header(_) => {}
        }
    }
}

/// Where a key's place is in a request.
#[derive(Debug, PartialEq, Eq)]
enum Spot {
    /// It has none: it would be in another kind of body, or is nobody's to write.
    Nowhere,
    /// It is there by itself.
    Given,
    /// There.
    At(Place),
}

/// What a rule leaves room for.
#[derive(Debug, Clone, Copy)]
struct Room<'a> {
    path: &'a Path,
    route: &'a str,
    trusted: bool,
}

/// Returns the name in the request of what anybody writes there; `None` for everything else.
pub(super) fn field<'k>(place: &'k KeySource<'k>) -> Option<&'k str> {
    match &place.reads {
        Reads::Query(name) | Reads::Path(name) | Reads::Form(name) => Some(name),
        Reads::Json(pointer) => Some(pointer),
        _ => None,
    }
}

fn says(place: &KeySource<'_>) -> Says {
    match key_kind(place) {
        KeyKind::Renewable => Says::Session,
        KeyKind::Somebody | KeyKind::Address | KeyKind::Few => Says::Subject(Form::of(place)),
    }
}

fn is_of_number(place: &KeySource<'_>) -> bool {
    matches!(place.reads, Reads::PhoneCountry | Reads::PhonePrefix)
}

/// Returns the kind of body that limits read: first what one has to have, then what one has in its first place, then what a
/// cost is read from.
fn body(applying: &[Applying<'_>]) -> Option<Body> {
    let kind = |place: &KeySource<'_>| match place.reads {
        Reads::Json(_) => Some(Body::Json),
        Reads::Form(_) => Some(Body::Form),
        _ => None,
    };
    let limits = || applying.iter().flat_map(|one| &one.rule.limits);
    let parts = || limits().flat_map(|limit| limit.key.origins());
    let alone = parts().filter(|places| places.len() == 1).find_map(|places| kind(places.first()?));
    let first = || parts().find_map(|places| kind(places.first()?));
    let cost = |limit: &Limit| match &limit.cost {
        Cost::Items(_) => Some(Body::Json),
        Cost::Table(table) => table.origins().first().and_then(kind),
        Cost::Units(_) | Cost::Header(_) => None,
    };
    alone.or_else(first).or_else(|| limits().find_map(cost))
}

/// Returns whose phone numbers subjects have: of the country where they cost least, or of several where limits tell
/// countries apart, the cheapest first.
pub(super) fn phones(applying: &[Applying<'_>]) -> Phones {
    let limits = || applying.iter().flat_map(|one| &one.rule.limits);
    let tables = || {
        limits().filter_map(|limit| match &limit.cost {
            Cost::Table(table) if table.places().iter().any(|place| place.reads == Reads::PhoneCountry) => {
                Some(table)
            }
            _ => None,
        })
    };
    let listed = tables().flat_map(|table| table.values().map(|(region, _)| region));
    let mut regions: Vec<&str> = Vec::new();
    for region in COUNTRIES.into_iter().chain(listed) {
        if !regions.contains(&region) {
            regions.push(region);
        }
    }
    regions.sort_by_key(|region| {
        let price = tables().map(|table| {
            let listed = table.values().find(|(value, _)| value == region);
            u64::from(listed.map_or(table.default_units(), |(_, units)| units))
        });
        price.fold(0, u64::saturating_add)
    });
    let reads_country =
        |limit: &Limit| limit.key.parts().flatten().any(|place| place.reads == Reads::PhoneCountry);
    if !limits().any(reads_country) {
        regions.truncate(1);
    }
    Phones::of(&regions)
}
