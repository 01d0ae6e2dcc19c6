//! Members of a policy beside the section that are not spelled as there: all else in such a file is somebody else's, and they
//! would be passed over with it.

use super::BESIDE;
use super::members::plain;
use crate::file::{Entry, Node, Report, Value, nearest};

/// What a member of a policy has within, by which one that is misspelt is known from somebody else's of a name like it.
const WITHIN: [&str; 9] =
    ["listen", "upstream", "token_file", "redis", "memory", "webhook", "regions", "forward_auth", "proxies"];

/// Reports what is meant for Tidegate and misspelt.
pub(super) fn refuse(root: &Node, report: &mut Report) {
    let Value::Map(entries) = &root.value else { return };
    for entry in entries.iter().filter(|entry| !BESIDE.contains(&entry.key.as_str())) {
        if let Some(meant) = meant(entry) {
            let message = format!("`{}` beside a `rate-limit` section is not read", entry.key);
            report.add(entry.place, message, format!("did you mean \"{meant}\"?"));
        }
    }
}

/// Returns the member of a policy that was meant.
fn meant(entry: &Entry) -> Option<&'static str> {
    let respelled = BESIDE.into_iter().find(|known| plain(known) == plain(&entry.key));
    // A name of one word may be anybody's whatever its case, one of two is nobody else's.
    respelled.filter(|known| known.contains('_')).or_else(|| {
        let meant = respelled.or_else(|| nearest(&entry.key, BESIDE))?;
        let is_ours = meant.contains('_') || WITHIN.iter().any(|member| entry.value.member(member).is_some());
        is_ours.then_some(meant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::load;

    /// Guards against a gateway that is not there for a letter, and against members of somebody else that keep a file from
    /// being served.
    #[test]
    fn a_misspelt_member_of_ours_is_told_and_nobody_else_s_is() {
        for (text, expected) in [
            ("gatway: { listen: 1, upstream: x }", Some("gateway")),
            ("Gateway: { listen: 1 }", Some("gateway")),
            ("stor: { redis: { url: x } }", Some("store")),
            ("trusted-proxies: [10.0.0.0/8]", Some("trusted_proxies")),
            ("keySecretFile: x", Some("key_secret_file")),
            ("key_secret_fil: x", Some("key_secret_file")),
            ("app: { name: shop }", None),
            ("stores: [berlin]", None),
            ("server: { port: 80 }", None),
            ("gateway: { listen: 1 }", None),
        ] {
            let (root, mut report) = (load(text, 0, &mut Report::default()).unwrap(), Report::default());
            refuse(&root, &mut report);
            let told = report.into_problems().to_string();
            let found = expected.is_some_and(|name| told.contains(&format!("did you mean \"{name}\"?")));
            assert_eq!(found, expected.is_some(), "{text}: {told}");
            assert_eq!(told.contains("did you mean"), expected.is_some(), "{text}: {told}");
        }
    }
}
