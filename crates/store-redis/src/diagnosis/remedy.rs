//! What to do about a server that does not do what it is asked, by what it said or what was seen of it.

/// Words that tell what is wrong, in lower case, and what to do then; the first that fits holds.
const REMEDIES: [(&str, &str); 12] = [
    ("refused", "start it, or mend the host and the port in the policy's url"),
    (
        "wrongpass",
        "mend username and password_file; or the user is gone, as after a restart without an aclfile: see Rights in \
         docs/redis.md",
    ),
    ("noauth", "write username and password_file in the policy: it asks for a password"),
    ("unknownissuer", "name in ca_file who has signed its certificate"),
    (
        "not valid for name",
        "write a host in the url that its certificate names, or give it one that names this host",
    ),
    ("certificate", "give it a certificate that holds now, signed by an authority in ca_file"),
    ("reset by peer", "write rediss:// in the url if it speaks TLS; else look what answers there"),
    ("dns", "mend the host in the policy's url, or the resolver of this machine"),
    ("lookup", "mend the host in the policy's url, or the resolver of this machine"),
    ("oom", "raise maxmemory, or find out what fills it"),
    ("misconf", "free its disk, or turn persistence off"),
    ("noreplicas", "bring its replicas back, or lower min-replicas-to-write"),
];

/// Returns what to do about a server, by its words.
pub(super) fn remedy(why: &str, is_tls: bool) -> &'static str {
    let words = why.to_lowercase();
    let known = REMEDIES.iter().find(|(sign, _)| words.contains(sign)).map(|(_, remedy)| *remedy);
    match known {
        Some(remedy) => remedy,
        // A server that waits for the rest of a command keeps a handshake waiting.
        None if is_tls && (words.contains("timed out") || words.contains("in time")) => {
            "look whether it speaks TLS there (else write redis://), whether it hangs, and whether the network drops what is \
             sent"
        }
        None if words.contains("timed out") || words.contains("in time") => {
            "look whether it hangs, and whether the network drops what is sent to it"
        }
        None => "the tables in docs/redis.md say what each error means",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A remedy for something else costs an operator the time in which sign-in is down.
    #[test]
    fn what_was_seen_has_its_own_remedy() {
        for (why, is_tls, words) in [
            ("a:1: connecting: Connection refused (os error 111)", false, "start it"),
            ("a:1: connecting: \"WRONGPASS\": invalid username-password pair", false, "password_file"),
            ("a:1: connecting: invalid peer certificate: UnknownIssuer", true, "ca_file"),
            ("a:1: invalid peer certificate: certificate not valid for name \"b\"", true, "write a host"),
            ("a:1: invalid peer certificate: certificate expired", true, "holds now"),
            ("a:1: connecting: Connection reset by peer (os error 104)", false, "rediss://"),
            ("a:1: connecting: timed out", true, "write redis://"),
            ("a:1: connecting: timed out", false, "hangs"),
            (
                "set fails: \"OOM\": command not allowed when used memory > 'maxmemory'.",
                false,
                "raise maxmemory",
            ),
            ("something new", false, "docs/redis.md"),
        ] {
            assert!(remedy(why, is_tls).contains(words), "{why}: {}", remedy(why, is_tls));
        }
    }
}
