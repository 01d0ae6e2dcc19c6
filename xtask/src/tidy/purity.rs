//! The pure rooms ask for nothing: no clock, no environment, no randomness.
//!
//! Clippy refuses the calls, by the `clippy.toml` of each pure crate. Two gaps are closed here. Clippy reads only the
//! nearest such file, so it must repeat the root's thresholds. And a call can be banned only by its path, so the
//! crates that offer a clock, a random source or the system itself are not to be depended on at all.

use cargo_metadata::DependencyKind;

use super::members::Member;
use super::{Finding, Tree};

const PURE: &[&str] = &["tidegate-algorithms", "tidegate-policy", "tidegate-review"];

/// What each pure crate's `clippy.toml` bans at least.
const BANNED: &[(&str, &[&str])] = &[
    (
        "disallowed-methods",
        &[
            "std::time::Instant::now",
            "std::time::SystemTime::now",
            "std::env::args",
            "std::env::var",
            "std::env::var_os",
            "std::env::vars",
            "std::thread::sleep",
            "std::thread::spawn",
        ],
    ),
    (
        "disallowed-types",
        &["std::time::Instant", "std::time::SystemTime", "std::collections::hash_map::RandomState"],
    ),
];

/// Crates whose whole use is what a pure room does without.
const IMPURE: &[&str] =
    &["chrono", "fastrand", "getrandom", "jiff", "libc", "rand", "rand_core", "rustix", "time", "tokio"];

pub(crate) fn check(members: &[Member], tree: &Tree) -> Vec<Finding> {
    let pure = members.iter().filter(|member| PURE.contains(&member.name.as_str()));
    pure.flat_map(|member| [impure_needs(member), lax_rules(member, tree)].concat()).collect()
}

fn impure_needs(member: &Member) -> Vec<Finding> {
    let shipped = member.needs.iter().filter(|need| need.kind != DependencyKind::Development);
    shipped
        .filter(|need| IMPURE.contains(&need.package.as_str()))
        .map(|need| {
            let fault = format!("a pure crate depends on `{}`", need.package);
            Finding::new(&member.manifest, fault, "take what it would give as an argument")
        })
        .collect()
}

fn lax_rules(member: &Member, tree: &Tree) -> Vec<Finding> {
    let place = &format!("{}/clippy.toml", member.folder());
    let table = |path: &str| tree.text(path).and_then(|text| text.parse::<toml::Table>().ok());
    let Some(own) = table(place) else {
        return vec![Finding::new(
            place,
            "a pure crate without readable rules",
            "copy those of another pure crate",
        )];
    };
    let unbanned = BANNED.iter().flat_map(|(list, paths)| {
        let banned = banned_by(&own, list);
        let open: Vec<&str> = paths.iter().filter(|path| !banned.contains(path)).copied().collect();
        open.into_iter().map(move |path| {
            let remedy = format!("add it to `{list}` with its reason");
            Finding::new(place, format!("`{path}` is not banned"), remedy)
        })
    });
    let root = table("clippy.toml").unwrap_or_default();
    let forgotten = root
        .iter()
        .filter(|(key, value)| !value.is_array() && own.get(*key) != Some(*value))
        .map(|(key, _)| {
            let fault =
                format!("the root's `{key}` is not repeated, and clippy does not merge the two files");
            Finding::new(place, fault, format!("copy the root's line for `{key}`"))
        });
    unbanned.chain(forgotten).collect()
}

/// Returns the paths in one of clippy's lists, whose entries are a path or a table that has one.
fn banned_by<'a>(rules: &'a toml::Table, list: &str) -> Vec<&'a str> {
    let path = |entry: &'a toml::Value| entry.as_str().or_else(|| entry.get("path")?.as_str());
    let entries = rules.get(list).and_then(toml::Value::as_array).map(Vec::as_slice);
    entries.unwrap_or_default().iter().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::super::members::made_up::{member, with_kind};
    use super::*;

    const PLACE: &str = "crates/policy/clippy.toml";

    fn rules_without(path: &str) -> String {
        let list = |(list, paths): &(&str, &[&str])| {
            let kept: Vec<String> =
                paths.iter().filter(|it| **it != path).map(|it| format!("{it:?}")).collect();
            format!("{list} = [{}]\n", kept.join(", "))
        };
        BANNED.iter().map(list).collect()
    }

    fn found(rules: &str, root: &str) -> Vec<Finding> {
        check(&[member("tidegate-policy", &[])], &Tree::of(&[(PLACE, rules), ("clippy.toml", root)]))
    }

    #[test]
    fn each_ban_is_missed_where_it_is_not_there() {
        assert_eq!(found(&rules_without(""), ""), []);
        for (_, paths) in BANNED {
            for path in *paths {
                let found = found(&rules_without(path), "");
                assert_eq!(found.len(), 1, "{path}");
                assert_eq!(found[0].fault, format!("`{path}` is not banned"));
            }
        }
    }

    #[test]
    fn a_threshold_of_the_root_must_be_repeated() {
        let root = "too-many-lines-threshold = 60";
        let lax = format!("too-many-lines-threshold = 90\n{}", rules_without(""));
        assert_eq!(found(&lax, root).len(), 1);
        assert_eq!(found(&rules_without(""), root).len(), 1);
        assert_eq!(found(&format!("{root}\n{}", rules_without("")), root), []);
    }

    #[test]
    fn a_pure_crate_without_rules_is_found() {
        assert_eq!(check(&[member("tidegate-algorithms", &[])], &Tree::of(&[])).len(), 1);
    }

    #[test]
    fn a_random_source_is_found_unless_only_tests_use_it() {
        let tree = Tree::of(&[(PLACE, &rules_without(""))]);
        assert_eq!(check(&[member("tidegate-policy", &["getrandom"])], &tree).len(), 1);
        assert_eq!(
            check(&[with_kind("tidegate-policy", &["getrandom"], DependencyKind::Development)], &tree),
            []
        );
    }
}
