//! What README.md and docs/*.md show and say about policies, held against the parser.
//!
//! A block of YAML opens with `yaml` and perhaps one word that says what it is:
//!
//! | opening | what it holds | what is added before it is parsed |
//! |---|---|---|
//! | `yaml` | a whole policy | nothing |
//! | `yaml top` | members of the policy | the version, [`KEYS`], and a face and a rule where it has none |
//! | `yaml rule` | members of one rule | name, match and limits where it has none |
//! | `yaml limit` | members of one limit | name, says, key and algorithm where it has none |
//! | `yaml team` | the file of a team | nothing; a policy includes it, with [`KEYS`] |
//! | `yaml refused` | a whole policy that is refused | nothing; the next `text` block holds the problems, word by word |
//! | `yaml other` | no policy | nothing; it only has to be YAML |

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_policy::{
    Class, ClientSees, OnMissingKey, OnStoreFailure, Policy, Reading, Request, Surroundings, parse, words,
};

#[path = "../../../algorithms/examples/bounds.rs"]
#[allow(dead_code, reason = "the example's main prints what is compared here")]
mod bounds;

const GATEWAY: &str = "gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }\n";
const ALGORITHM: &str = "sliding_log: { limit: 10, window: 1m }\n";
const RULE: &str = "rules: [{ name: any, match: { path: /** }, limits: [{ name: all, says: In words., \
                    key: global, sliding_log: { limit: 10, window: 1m } }] }]\n";
/// What fragments may name.
const KEYS: &str = "\
keys:
  account: { json: /account, normalize: [trim, lowercase] }
  challenge: { json: /challenge }
codes:
  otp: { digits: 6, step: 30s, skew_steps: 1 }
";

/// The file of every team that the pages name.
const TEAM: &str = "tidegate: 1\nrules: [{ name: any, match: { path: /payments/a }, limits: [{ name: all, says: In \
                    words., key: global, sliding_log: { limit: 10, window: 1m } }] }]\n";

/// One fenced block.
struct Block {
    place: String,
    opening: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the fenced blocks of a page, in order.
fn blocks(name: &str) -> Vec<Block> {
    let text = read(name);
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()) {
        match line.strip_prefix("```") {
            Some(opening) if !open => {
                let (place, opening) = (format!("{name}:{number}"), opening.to_owned());
                blocks.push(Block { place, opening, text: String::new() });
                open = true;
            }
            Some(_) => open = false,
            None if open => blocks.last_mut().unwrap().text.extend([line, "\n"]),
            None => {}
        }
    }
    assert!(!open, "{name}: a block is not closed");
    blocks
}

fn pages() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let mut pages: Vec<String> =
        docs.map(|entry| format!("docs/{}", entry.unwrap().file_name().to_str().unwrap())).collect();
    pages.retain(|page| Path::new(page).extension().is_some_and(|extension| extension == "md"));
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

/// Returns whether a text has the member at its first level.
fn has(text: &str, member: &str) -> bool {
    text.lines().any(|line| line.starts_with(member) && line[member.len()..].starts_with(':'))
}

/// Adds a member where none of `instead` is there.
fn complete(text: &mut String, instead: &[&str], member: &str) {
    if !instead.iter().any(|name| has(text, name)) {
        text.push_str(member);
    }
}

/// Returns a text as one item of a list, its lines indented by `by` spaces.
fn item(text: &str, by: usize) -> String {
    let margin = " ".repeat(by);
    let lines: String = text.lines().flat_map(|line| [&margin, line, "\n"]).collect();
    format!("{}- {}", " ".repeat(by - 2), lines.trim_start())
}

fn top(mut text: String) -> String {
    let (keys, codes) = KEYS.split_at(KEYS.find("codes").unwrap());
    complete(&mut text, &["gateway", "api", "health"], GATEWAY);
    complete(&mut text, &["keys"], keys);
    complete(&mut text, &["codes"], codes);
    complete(&mut text, &["rules", "fallback"], RULE);
    format!("tidegate: 1\n{text}")
}

fn rule(mut text: String) -> String {
    complete(&mut text, &["name"], "name: any\n");
    complete(&mut text, &["match"], "match: { path: /** }\n");
    let limit =
        format!("limits: [{{ name: all, says: In words., key: global, {} }}]\n", ALGORITHM.trim_end());
    complete(&mut text, &["limits", "refuse"], &limit);
    top(format!("rules:\n{}", item(&text, 4)))
}

fn limit(mut text: String) -> String {
    complete(&mut text, &["name"], "name: all\n");
    complete(&mut text, &["says"], "says: In words.\n");
    complete(&mut text, &["key"], "key: global\n");
    let algorithms =
        ["fixed_window", "sliding_log", "sliding_counter", "token_bucket", "leaky_bucket", "lockout"];
    complete(&mut text, &algorithms, ALGORITHM);
    rule(format!("limits:\n{}", item(&text, 4)))
}

/// The files that the pages name.
struct Around;

impl Surroundings for Around {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        let text = match path {
            "issuer-keys.json" => include_str!("../../src/key/jwt/vectors/keys.json"),
            path if path.starts_with("teams/") => TEAM,
            "identities.secret" => "0123456789abcdef0123456789abcdef\n",
            "redis-password" => "opensesame\n",
            _ => return Err("is not there".to_owned()),
        };
        Ok(text.as_bytes().to_vec())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// A file of a team.
struct Team<'a>(&'a str);

impl Surroundings for Team<'_> {
    fn file(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// Refuses sentences that cannot be read, but those that are added here: whoever copies one has it refused.
fn readable(place: &str, policy: Policy) -> Policy {
    let limits = policy.limits().flat_map(|limit| limit.variants().map(move |(_, terms)| (limit, terms)));
    let unread = limits.filter_map(|(limit, terms)| match words::read(&terms.says, &limit.meaning(terms)) {
        words::Reading::Unclear(unclear) if terms.says != "In words." => {
            Some(format!("{place}: {}: {}; {}", terms.says, unclear.why, unclear.sentence))
        }
        _ => None,
    });
    let unread: Vec<String> = unread.collect();
    assert!(unread.is_empty(), "{}", unread.join("\n"));
    policy
}

fn accept_team(place: &str, text: &str) -> Policy {
    let including = top("include: { team: team.yaml }\n".to_owned());
    let read = Reading::of(&Team(text)).parse(place, &including);
    readable(place, read.unwrap_or_else(|problems| panic!("{problems}\n{text}")))
}

fn accept(place: &str, text: &str) -> Policy {
    let read = Reading::of(&Around).parse(place, text);
    readable(place, read.unwrap_or_else(|problems| panic!("{problems}\n{text}")))
}

/// Guards the documentation against showing a policy that this version does not read as shown.
#[test]
fn every_block_of_yaml_is_what_it_says_it_is() {
    let mut shown = 0;
    for page in pages() {
        let blocks = blocks(&page);
        for (index, block) in blocks.iter().enumerate() {
            let Some(kind) = block.opening.strip_prefix("yaml") else { continue };
            let text = block.text.clone();
            match kind.trim_start() {
                "" => drop(accept(&block.place, &text)),
                "top" => drop(accept(&block.place, &top(text))),
                "rule" => drop(accept(&block.place, &rule(text))),
                "limit" => drop(accept(&block.place, &limit(text))),
                "team" => drop(accept_team(&block.place, &text)),
                "refused" => {
                    let said = blocks.get(index + 1).filter(|next| next.opening == "text");
                    let said = said.unwrap_or_else(|| panic!("{}: no text follows", block.place));
                    let problems = parse("policy.yaml", &text).unwrap_err();
                    assert_eq!(format!("{problems}\n"), said.text, "{}", said.place);
                }
                "other" => assert!(
                    saphyr_parser::Parser::new_from_str(&text).all(|event| event.is_ok()),
                    "{} is not YAML",
                    block.place
                ),
                other => panic!("{}: nobody knows what `yaml {other}` is", block.place),
            }
            shown += 1;
        }
    }
    assert!(shown > 20, "only {shown} blocks found");
}

/// Policies with one member that nobody knows in every mapping; the answer lists those that are known.
const STRANGERS: [&str; 4] = [
    include_str!("../strangers/first.yaml"),
    include_str!("../strangers/more.yaml"),
    include_str!("../strangers/stores.yaml"),
    include_str!("../strangers/examined.yaml"),
];

/// Guards the reference against leaving out a field that the parser knows.
#[test]
fn every_field_the_parser_knows_stands_in_the_reference() {
    let reference = read("docs/policy.md");
    for strangers in STRANGERS {
        let problems = parse("strangers.yaml", strangers).unwrap_err();
        let known: Vec<&str> =
            problems.list().iter().filter_map(|problem| problem.remedy.strip_prefix("it knows ")).collect();
        assert_eq!(known.len(), strangers.matches("zzzzzzzzz").count(), "{problems}");
        let missing: Vec<&str> = known
            .iter()
            .flat_map(|names| names.split(", "))
            .filter(|name| !reference.contains(&format!("`{name}`")))
            .collect();
        assert!(missing.is_empty(), "docs/policy.md does not name {missing:?}");
    }
}

fn time(time: Duration) -> String {
    format!("{}s", time.as_secs())
}

fn size(bytes: usize) -> String {
    format!("{}KiB", bytes / 1024)
}

/// Guards the defaults in the reference and in the gateway's page against those of the code.
#[test]
fn the_defaults_of_the_gateway_stand_in_the_docs() {
    let gateway = accept("defaults", &top(String::new())).gateway.unwrap();
    let reference = read("docs/policy.md");
    for (field, default) in [
        ("max_key_body", size(gateway.max_key_body)),
        ("max_header_bytes", size(gateway.max_header_bytes)),
        ("max_connections", gateway.max_connections.to_string()),
        ("idle_timeout", time(gateway.idle_timeout)),
        ("upstream_timeout", time(gateway.upstream_timeout)),
        ("drain_timeout", time(gateway.drain_timeout)),
        ("proxy_protocol", gateway.proxy_protocol.to_string()),
        ("upstream_http2", gateway.upstream_http2.to_string()),
    ] {
        let row = reference.lines().find(|line| line.starts_with(&format!("| `{field}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/policy.md has no row for {field}"));
        assert!(row.contains(&format!("| `{default}` |")), "the default is {default}: {row}");
    }
}

/// Guards the table of what a class decides.
#[test]
fn the_defaults_of_every_class_stand_in_the_reference() {
    let reference = read("docs/policy.md");
    for (class, name) in Class::ALL {
        let text = |more: &str| rule(format!("class: {name}\n{more}"));
        let read = accept(name, &text("on_store_failure: allow\n"));
        let read = &read.rules[0];
        let missing = match read.on_missing_key {
            OnMissingKey::Refuse => "`refuse`",
            OnMissingKey::Skip => "`skip`",
            OnMissingKey::Shared => "`shared`",
        };
        let failure = match parse(name, &text("")).map(|policy| policy.rules[0].on_store_failure) {
            Ok(OnStoreFailure::Allow) => "`allow`",
            Ok(OnStoreFailure::Deny) => "`deny`",
            Ok(OnStoreFailure::Local) => "`local`",
            Err(_) => "has to be said",
        };
        let sees = match read.client_sees {
            ClientSees::All => "`all`",
            ClientSees::RetryAfter => "`retry_after`",
            ClientSees::Nothing => "`nothing`",
        };
        let case = if read.matches[0].loose { "`ignore`" } else { "`sensitive`" };
        assert_eq!(read.class, class);
        let row = format!("| `{name}` | {missing} | {failure} | {sees} | {case} |");
        assert!(reference.contains(&row), "docs/policy.md lacks {row}");
    }
}

/// Guards the figures of docs/algorithms.md against differing from what the command beside them prints.
#[test]
fn the_figures_in_the_docs_are_those_of_the_closed_forms() {
    let page = read("docs/algorithms.md");
    for table in bounds::report().unwrap().split("\n\n") {
        assert!(page.contains(table.trim_end()), "docs/algorithms.md lacks\n{table}");
    }
}

/// Returns the cells of the table under a heading line, without backticks.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let text = read(page);
    let rows =
        text.lines().skip_while(|line| *line != heading).skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let inner = line.trim_matches('|').split('|');
        inner.map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    assert!(rows.len() > 5, "{page} has no table under {heading}");
    rows
}

/// Guards the worked examples of how a client's address is found.
#[test]
fn the_clients_in_the_docs_are_those_that_are_found() {
    for row in table("docs/policy.md", "| `trusted_proxies` | peer | `X-Forwarded-For` | client |") {
        let [trusted, peer, forwarded, client] = &row[..] else { panic!("{row:?}") };
        let policy = accept("clients", &top(format!("trusted_proxies: {trusted}\n")));
        let mut headers = http::HeaderMap::new();
        if !forwarded.is_empty() {
            headers.insert("x-forwarded-for", forwarded.parse().unwrap());
        }
        let found = policy.trusted.client(peer.parse().unwrap(), &headers).address;
        assert_eq!(found.to_string(), *client, "{row:?}");
    }
}

/// Guards the examples of how a path is compared.
#[test]
fn the_paths_in_the_docs_are_compared_as_they_say() {
    let policy = accept("paths", &top(String::new()));
    let headers = http::HeaderMap::new();
    for row in table("docs/policy.md", "| sent | compared as |") {
        let [path, compared] = &row[..] else { panic!("{row:?}") };
        let (host, query, peer, body) = (None, None, None, None);
        let request = Request { method: "GET", host, path, query, headers: &headers, peer, body };
        match policy.see(&request) {
            Ok(seen) => assert_eq!(seen.path(), compared, "{row:?}"),
            Err(_) => assert_eq!(compared, "refused", "{row:?}"),
        }
    }
}
