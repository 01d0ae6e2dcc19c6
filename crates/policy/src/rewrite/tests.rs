use super::*;
use crate::{Nowhere, Surroundings};

const HEAD: &str = "tidegate: 1\ngateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }\n";

fn written(rules: &str, wins: &[&str]) -> Result<Rewritten, RewriteError> {
    let wins: Vec<String> = wins.iter().map(|name| (*name).to_owned()).collect();
    rewrite(Reading::of(&Nowhere), "policy.yaml", &format!("{HEAD}{rules}"), &wins)
}

fn rules(rewritten: &Rewritten) -> &str {
    rewritten.text.strip_prefix(HEAD).unwrap()
}

/// An edit that moved a comment or a member would make people do it by hand.
#[test]
fn a_sentence_is_written_above_the_numbers_and_nothing_else_moves() {
    let before = "\
rules:
  - name: verify  # a comment
    match: { path: /verify }
    limits:
      - name: per-account
        key: { json: /account }   # another

        token_bucket: { capacity: 4, refill: 1 per 10s }
      - { name: all, key: global, sliding_log: { limit: 10, window: 1m } }
";
    let rewritten = written(before, &[]).unwrap();
    let [first, second] = rewritten.written.as_slice() else { panic!("{rewritten:?}") };
    assert_eq!((first.limit.as_str(), second.limit.as_str()), ("verify/per-account", "verify/all"));
    let after = before
        .replace("        token_bucket", &format!("        says: \"{}\"\n        token_bucket", first.says))
        .replace("sliding_log", &format!("says: \"{}\", sliding_log", second.says));
    assert_eq!(rules(&rewritten), after);
    // There is nothing left to write.
    let again = rewrite(Reading::of(&Nowhere), "policy.yaml", &rewritten.text, &[]).unwrap();
    assert_eq!((again.text, again.written), (rewritten.text, Vec::new()));
}

/// Each plan and each override has its own sentence.
#[test]
fn plans_and_overrides_get_their_own() {
    let rewritten = written(
        "\
keys: { org: { json: /org }, tier: { json: /tier } }
rules:
  - name: api
    match: { path: /api }
    limits:
      - name: per-org
        key: org
        plan: { by: tier, default: free, values: { one: free, two: premium } }
        plans:
          free: { sliding_counter: { limit: 10, window: 1m } }
          premium:
            # Paid for.
            token_bucket: { capacity: 100, refill: 10 per 1s }
        overrides:
          - value: acme
            because: contract
            fixed_window: { limit: 1000, window: 1h }
",
        &[],
    );
    let rewritten = rewritten.unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = rewritten.written.iter().map(|one| one.limit.as_str()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(names[..2], ["api/per-org, free", "api/per-org, premium"]);
    let policy = crate::parse("policy.yaml", &rewritten.text).unwrap();
    assert!(policy.unread.is_empty(), "{:?}", policy.unread);
}

/// Whoever says that the numbers are meant gets a sentence that agrees, whatever the old one looked like.
#[test]
fn a_contradicting_sentence_gives_way_where_it_is_said() {
    let sentences = [
        "Five a minute for everyone together.",
        "'Five a minute for everyone together.'",
        "\"Five a minute for \\\n          everyone together.\"",
        ">-\n          Five a minute\n          for everyone together.\n",
    ];
    for says in sentences {
        let rules = format!(
            "rules:\n  - name: r\n    match: {{ path: /a }}\n    limits:\n      - name: l\n        says: {says}\n        key: global\n        sliding_log: {{ limit: 10, window: 1m }}\n"
        );
        let kept = written(&rules, &[]).unwrap_or_else(|error| panic!("{says}: {error}"));
        assert!(kept.left[0].problem.message.contains("says \"Five a minute"), "{kept:?}");
        assert_eq!(kept.text, format!("{HEAD}{rules}"));
        let rewritten = written(&rules, &["r/l"]).unwrap_or_else(|error| panic!("{says}: {error}"));
        let [one] = rewritten.written.as_slice() else { panic!("{rewritten:?}") };
        assert_eq!(one.before.as_deref(), Some("Five a minute for everyone together."), "{says}");
        let policy = crate::parse("policy.yaml", &rewritten.text).unwrap();
        assert_eq!(policy.rules[0].limits[0].terms.says, one.says);
    }
    let error = written("rules: []\n", &["r/l"]).unwrap_err();
    assert!(matches!(&error, RewriteError::UnknownLimit(name) if name == "r/l"), "{error}");
}

/// A parser's span of a quoted scalar reaches over the comment behind it.
#[test]
fn a_comment_behind_a_sentence_stays_whatever_its_quotes() {
    for says in ["Five a minute.", "'It''s five # a minute.'", "\"Five \\\" a minute.\"", "\"?\""] {
        let rules = format!(
            "rules:\n  - name: r\n    match: {{ path: /a }}\n    limits:\n      - name: l\n        says: {says}  # why\n        key: global\n        sliding_log: {{ limit: 10, window: 1m }}\n"
        );
        let rewritten = written(&rules, &["r/l"]).unwrap_or_else(|error| panic!("{says}: {error}"));
        let [one] = rewritten.written.as_slice() else { panic!("{rewritten:?}") };
        assert_eq!(rewritten.text, format!("{HEAD}{rules}").replace(says, &format!("\"{}\"", one.says)));
    }
}

/// One wrong sentence must neither stop the others nor be told of as another limit's.
#[test]
fn missing_ones_are_written_beside_others_that_are_wrong() {
    let before = "\
rules:
  - name: r
    match: { path: /a }
    limits:
      - { name: a, key: global, sliding_log: { limit: 10, window: 1m } }
      - name: wrong
        says: Five a minute for everyone together.  # keep
        key: global
        sliding_log: { limit: 10, window: 1m }
      - name: unread
        says: \"As agreed.\"  # keep
        key: global
        sliding_log: { limit: 10, window: 1m }
      - name: nothing
        says:   # later
        key: global
        sliding_log: { limit: 10, window: 1m }
";
    let sentence = "\"Never more than 10 requests in any minute, for everyone together.\"";
    let after = before
        .replace("global, sliding", &format!("global, says: {sentence}, sliding"))
        .replace("says:   # later", &format!("says: {sentence}   # later"));
    let rewritten = written(before, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(rules(&rewritten), after);
    let left: Vec<_> =
        rewritten.left.iter().map(|one| (one.limit.as_str(), one.problem.place.line)).collect();
    assert_eq!(left, [("r/wrong", 9), ("r/unread", 13)]);
    let rewritten = written(before, &["r/unread"]).unwrap_or_else(|error| panic!("{error}"));
    let told: Vec<_> =
        rewritten.written.iter().map(|one| (one.limit.as_str(), one.before.as_deref())).collect();
    assert_eq!(told, [("r/a", None), ("r/unread", Some("As agreed.")), ("r/nothing", None)]);
    assert_eq!(rules(&rewritten), after.replace("\"As agreed.\"", sentence));
}

/// A file with other mistakes is told of at the places that its author sees.
#[test]
fn other_problems_stand_where_the_file_has_them() {
    let error = written(
        "\
rules:
  - name: r
    match: { path: /a }
    limits:
      - name: l
        key: global
        sliding_log: { limit: 10, window: 1m }
      - name: l
        key: nobody
        sliding_log: { limit: 10, window: 1m }
",
        &[],
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("policy.yaml:11:14: "), "{error}");
}

/// A comment before the numbers must not make braces of lines, nor lines of braces: the file would be no YAML afterwards.
#[test]
fn a_comment_before_the_numbers_does_not_hide_what_they_stand_in() {
    let before = "\
rules:
  - name: r
    match: { path: /a }
    limits:
      - { name: braces,
          key: global, # a comment
          sliding_log: { limit: 10, window: 1m }, # another
        }
      - &anchored { name: anchored, key: global, # a comment
          sliding_log: { limit: 10, window: 1m } }
      - name: lines
        key: global # of all, each,
        sliding_log: { limit: 10, window: 1m }
";
    let rewritten = written(before, &[]).unwrap();
    let names: Vec<&str> = rewritten.written.iter().map(|one| one.limit.as_str()).collect();
    assert_eq!(names, ["r/braces", "r/anchored", "r/lines"]);
    let says = format!("says: \"{}\"", rewritten.written[0].says);
    let after = before
        .replace("          sliding_log", &format!("          {says}, sliding_log"))
        .replace("\n        sliding_log", &format!("\n        {says}\n        sliding_log"));
    assert_eq!(rules(&rewritten), after);
}

/// A file that lacks nothing but its sentences must not be answered with what it lacks by the command that writes them.
#[test]
fn where_no_sentence_can_be_written_it_is_told_instead_of_that_one_is_missing() {
    let error = written(
        "\
rules:
  - name: r
    match: { path: /a }
    limits:
      - ? name
        : l
        ? key
        : global
        ? sliding_log
        : { limit: 10, window: 1m }
",
        &[],
    );
    let error = error.unwrap_err();
    assert!(matches!(error, RewriteError::Unsafe(_)), "{error}");
}

/// Who writes `says:` and leaves the sentence to the command must get it, however nothing is written.
#[test]
fn a_sentence_is_written_where_says_stands_with_nothing_behind_it() {
    for nothing in ["", " # of all", " ~", " null # of all", " \"\"", " ''   # of all"] {
        let limit = "key: global\n        sliding_log: { limit: 10, window: 1m }\n";
        let before = format!(
            "rules:\n  - name: r\n    match: {{ path: /a }}\n    limits:\n      - name: l\n        says:{nothing}\n        {limit}"
        );
        let rewritten = written(&before, &[]).unwrap_or_else(|error| panic!("{nothing:?}: {error}"));
        let comment = nothing.find('#').map_or("", |at| nothing.get(at..).unwrap());
        let line = rewritten.text.lines().find(|line| line.contains("says:")).unwrap();
        assert!(
            line.starts_with("        says: \"Never more than 10 requests in any minute, for everyone"),
            "{line}"
        );
        assert!(line.ends_with(comment), "{line}");
    }
}

/// One file, by whatever path.
struct Team(String);

impl Surroundings for Team {
    fn file(&self, _path: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone().into_bytes())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

/// A file whose own sentences could be written must not be called unwritable for what a team's file lacks.
#[test]
fn a_sentence_that_an_included_file_lacks_is_told_of_in_that_file() {
    let rule = "rules:\n  - name: r\n    match: { path: /a }\n    limits:\n      - name: l\n        key: global\n        \
                sliding_log: { limit: 10, window: 1m }\n";
    let team = format!("tidegate: 1\n{rule}");
    let text = format!("{HEAD}include: {{ team: team.yaml }}\n{rule}");
    let error = rewrite(Reading::of(&Team(team)), "policy.yaml", &text, &[]).unwrap_err();
    assert!(matches!(&error, RewriteError::Problems(_)), "{error}");
    assert!(error.to_string().contains("team.yaml:6:9: the limit has no `says`"), "{error}");
}
