//! What becomes of a sentence in a policy: where it is told of, and what it keeps from being in force.

use tidegate_policy::parse;

const POLICY: &str = r#"
tidegate: 1
gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }
rules:
  - name: all
    match: { path: /** }
    limits:
      - name: exception
        says: Ten a minute, per client, except for partners.
        key: client_ip
        sliding_log: { limit: 10, window: 1m }
      - name: boundary
        key: client_ip
        says: "Up to ten a minute, per client."
        sliding_counter: { limit: 10, window: 1m }
      - name: fine
        says: Never more than ten in any minute, per client.
        key: client_ip
        sliding_log: { limit: 10, window: 1m }
"#;

/// Guards against words that cause an outage, and against a review that cannot say where they stand.
#[test]
fn what_cannot_be_read_or_misleads_is_kept_with_its_place_and_is_in_force() {
    let policy = parse("policy.yaml", POLICY).unwrap();
    let told = |problems: &[tidegate_policy::Problem]| -> Vec<String> {
        let told = problems.iter().map(|one| format!("{}:{}: {one}", policy.file_of(one.place), one.place));
        told.collect()
    };
    assert_eq!(
        told(&policy.unread),
        [
            "policy.yaml:9:15: the words of all/exception cannot be read: \"except\" begins what no limit carries out: say it \
             in `note`, or as a rule of its own; write `says: Never more than 10 requests in any minute, per client IP.`"
        ]
    );
    assert_eq!(
        told(&policy.misleading),
        [
            "policy.yaml:14:15: all/boundary says \"ten a minute\", and up to 20 are admitted within 1 minute, around the \
             boundary of two windows; add \"at most 20 in any minute\", or take a `sliding_log` or a `token_bucket`"
        ]
    );
}

/// Guards the comparison of policies against a sentence that moved to another line.
#[test]
fn a_sentence_that_stands_elsewhere_is_the_same() {
    let (one, moved) = (parse("a.yaml", POLICY).unwrap(), parse("b.yaml", &format!("\n\n{POLICY}")).unwrap());
    assert_eq!(one.rules, moved.rules);
    assert_ne!(one.unread, moved.unread);
}
