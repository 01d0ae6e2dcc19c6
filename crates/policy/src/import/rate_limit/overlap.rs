//! Which endpoints hold for the same paths: one alone counts there, the one that says more.

/// Returns whether a pattern also holds for another endpoint, which has numbers of its own.
pub(super) fn covers(pattern: &str, other: &str) -> bool {
    if !pattern.contains(['{', '*']) {
        return false;
    }
    let (mut own, mut others) = (pattern.split('/').skip(1), other.split('/').skip(1));
    loop {
        match (own.next(), others.next()) {
            (Some("**"), _) | (None, None) => return true,
            (Some(one), Some(another)) => {
                let is_any = one.starts_with('{') && another != "**";
                if !is_any && one != another {
                    return false;
                }
            }
            // `/a/**` holds for `/a` as well, and says so with its last segment.
            _ => return false,
        }
    }
}

/// Returns whether two endpoints hold for the same path, and neither says more than the other.
pub(super) fn is_undecided(one: &str, other: &str) -> bool {
    meets(one, other) && covers(one, other) == covers(other, one)
}

/// Returns whether there is a path for which both hold.
fn meets(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.split('/').skip(1), other.split('/').skip(1));
    loop {
        match (one.next(), other.next()) {
            (Some("**"), _) | (_, Some("**")) | (None, None) => return true,
            (Some(own), Some(others)) => {
                if own != others && !own.starts_with('{') && !others.starts_with('{') {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rules for one path would count it twice, where that service counts it once.
    #[test]
    fn a_pattern_leaves_out_what_has_numbers_of_its_own() {
        for (pattern, other, expected) in [
            ("/api/**", "/api/login", true),
            ("/api/**", "/api", true),
            ("/**", "/api/**", true),
            ("/api/**", "/**", false),
            ("/api/{id}", "/api/login", true),
            ("/api/{id}", "/api/login/x", false),
            ("/api/{id}", "/api/**", false),
            ("/api/login", "/api/login", false),
            ("/api/**", "/apis", false),
        ] {
            assert_eq!(covers(pattern, other), expected, "{pattern} {other}");
        }
    }

    /// Of two that leave each other out neither counts, and two that do not both count.
    #[test]
    fn two_patterns_that_meet_are_undecided_unless_one_says_more() {
        for (one, other, expected) in [
            ("/users/{id}", "/users/{name}", true),
            ("/a/{x}", "/{y}/b", true),
            ("/a/{x}/**", "/{y}/b", true),
            ("/a/{x}", "/b/{x}", false),
            ("/a/{x}", "/a/{x}/c", false),
            ("/a/**", "/a/{x}", false),
            ("/a/{x}", "/a/b", false),
            ("/a/{x}/**", "/{y}/**", false),
        ] {
            assert_eq!(
                (is_undecided(one, other), is_undecided(other, one)),
                (expected, expected),
                "{one} {other}"
            );
        }
    }
}
