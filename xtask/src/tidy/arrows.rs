//! Which room may use which.
//!
//! An arrow that a design forbids is only forbidden if something refuses it. Normal and build dependencies follow
//! the table to the letter. A dev-dependency may also point to any room on a lower floor, since a test may lean on
//! what lies below it but never on what is built upon it, and to its own crate, to switch on a feature for tests.

use cargo_metadata::DependencyKind;

use super::Finding;
use super::members::{Member, Need};

/// The rooms of the house, lowest floor first.
const ROOMS: &[Room] = &[
    Room::new("tidegate-algorithms", 0, May::Only(&[]), "arithmetic that anything may be built upon"),
    Room::new("tidegate-shards", 0, May::Only(&[]), "locks alone, small enough for a model checker"),
    Room::new("tidegate-redis-kit", 0, May::Only(&[]), "servers for tests, which know nothing of the house"),
    Room::new("tidegate-proxy-kit", 0, May::Only(&[]), "proxies for tests, which know nothing of the house"),
    Room::new(
        "tidegate-browser-kit",
        0,
        May::Only(&[]),
        "a browser for tests, which knows nothing of the house",
    ),
    Room::new(
        "tidegate-store",
        1,
        May::Only(&["tidegate-algorithms", "tidegate-shards"]),
        "a store keeps states and never sees a rule, so it must not see the policy",
    ),
    Room::new(
        "tidegate-store-redis",
        2,
        May::Only(&["tidegate-store", "tidegate-algorithms"]),
        "a store keeps states and never sees a rule; the network it needs is nobody else's",
    ),
    Room::new(
        "tidegate-policy",
        1,
        May::Only(&["tidegate-algorithms"]),
        "reading a file needs no place to keep state",
    ),
    Room::new(
        "tidegate-review",
        2,
        May::Only(&["tidegate-policy", "tidegate-algorithms"]),
        "what a policy admits is told from the policy alone; the command, the server and the attack bench all tell it",
    ),
    Room::new(
        "tidegate",
        2,
        May::Only(&["tidegate-policy", "tidegate-store", "tidegate-algorithms"]),
        "the library joins rule and state, and knows no network",
    ),
    Room::new(
        "tidegate-trials",
        3,
        May::Only(&["tidegate-review"]),
        "where a trial may go and how its page is drawn know nothing of what is tried",
    ),
    Room::new(
        "tidegate-tower",
        3,
        May::Only(&["tidegate"]),
        "the layer gets by on what library users get, which keeps the library's face complete",
    ),
    Room::new(
        "tidegate-server",
        4,
        May::Only(&[
            "tidegate-tower",
            "tidegate",
            "tidegate-policy",
            "tidegate-review",
            "tidegate-store",
            "tidegate-store-redis",
        ]),
        "the network faces ask the limiter and do no arithmetic of their own",
    ),
    Room::new(
        "tidegate-attack",
        4,
        May::Only(&[
            "tidegate",
            "tidegate-policy",
            "tidegate-review",
            "tidegate-store",
            "tidegate-algorithms",
            "tidegate-trials",
        ]),
        "the bench attacks limits from outside: a gateway over the network, never by the server's own code",
    ),
    Room::new(
        "tidegate-loadtest",
        4,
        May::Only(&[
            "tidegate-policy",
            "tidegate-review",
            "tidegate-store",
            "tidegate-store-redis",
            "tidegate-algorithms",
            "tidegate-trials",
        ]),
        "the load test asks from outside, or a store itself: never by the server's own code, whose cost it measures",
    ),
    Room::new("tidegate-cli", 5, May::Any, "the one binary puts everything together"),
    Room::new(
        "xtask",
        6,
        May::Only(&["tidegate", "tidegate-store", "tidegate-store-redis"]),
        "the checks judge the house and do not live in it; only the benches, an optional feature, build what they measure",
    ),
];

struct Room {
    package: &'static str,
    floor: u8,
    may_use: May,
    why: &'static str,
}

enum May {
    /// Any other room.
    Any,
    /// The rooms named here.
    Only(&'static [&'static str]),
}

impl Room {
    const fn new(package: &'static str, floor: u8, may_use: May, why: &'static str) -> Self {
        Self { package, floor, may_use, why }
    }

    fn named(package: &str) -> Option<&'static Self> {
        ROOMS.iter().find(|room| room.package == package)
    }

    fn allows(&self, need: &Need) -> bool {
        let listed = match self.may_use {
            May::Any => Self::named(&need.package).is_some(),
            May::Only(rooms) => rooms.contains(&need.package.as_str()),
        };
        let below = Self::named(&need.package).is_some_and(|other| other.floor < self.floor);
        let for_tests = need.kind == DependencyKind::Development;
        listed || (for_tests && (below || need.package == self.package))
    }
}

/// Finds members that the table does not know, and arrows between members that it does not allow.
pub(crate) fn check(members: &[Member]) -> Vec<Finding> {
    members.iter().flat_map(of_member).collect()
}

fn of_member(member: &Member) -> Vec<Finding> {
    let Some(room) = Room::named(&member.name) else {
        let remedy =
            "add it to the table in xtask/src/tidy/arrows.rs, with the rooms it may use and the reason";
        return vec![Finding::new(
            &member.manifest,
            format!("`{}` is no room of the house", member.name),
            remedy,
        )];
    };
    let inside = member.needs.iter().filter(|need| need.by_path || Room::named(&need.package).is_some());
    inside
        .filter(|need| !room.allows(need))
        .map(|need| {
            let fault =
                format!("{} -> {} ({}) is not an arrow of the house", member.name, need.package, need.kind);
            Finding::new(&member.manifest, fault, format!("drop it: {}", room.why))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::members::made_up::{member, with_kind};
    use super::*;

    #[test]
    fn an_arrow_upwards_or_sideways_is_found_with_the_reason() {
        let found = check(&[member("tidegate-store", &["tidegate-algorithms", "tidegate-policy"])]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "crates/store/Cargo.toml");
        assert!(found[0].fault.starts_with("tidegate-store -> tidegate-policy"));
        assert!(found[0].remedy.contains("never sees a rule"));
    }

    #[test]
    fn a_build_dependency_is_held_to_the_table_too() {
        let member = with_kind("tidegate-tower", &["tidegate-store"], DependencyKind::Build);
        assert_eq!(check(&[member]).len(), 1);
    }

    #[test]
    fn a_dev_dependency_may_point_down_and_to_itself_but_neither_up_nor_sideways() {
        let dev = |name, to| check(&[with_kind(name, &[to], DependencyKind::Development)]).len();
        assert_eq!(dev("tidegate-tower", "tidegate-store"), 0);
        assert_eq!(dev("tidegate-store", "tidegate-store"), 0);
        assert_eq!(dev("tidegate-store", "tidegate-policy"), 1);
        assert_eq!(dev("tidegate-algorithms", "tidegate"), 1);
    }

    #[test]
    fn a_member_or_a_path_that_the_table_does_not_know_is_found() {
        assert_eq!(check(&[member("tidegate-extra", &[])]).len(), 1);
        assert_eq!(check(&[member("tidegate-cli", &["tidegate-elsewhere"])]).len(), 1);
    }

    #[test]
    fn the_table_itself_points_only_downwards() {
        for room in ROOMS {
            if let May::Only(rooms) = room.may_use {
                for other in rooms {
                    let below = Room::named(other).is_some_and(|other| other.floor < room.floor);
                    assert!(below, "{} -> {other}", room.package);
                }
            }
        }
    }
}
