//! Files that refer to others and to the environment, rules that refuse, and names that changed.

use std::collections::BTreeMap;

use tidegate_policy::{Diff, Effect, Mode, Policy, Problems, Reading, Surroundings, parse};

const LIMITS: &str =
    "limits: [{ name: l, says: Ten., key: client_ip, sliding_log: { limit: 10, window: 1m } }]";
const FACE: &str = "tidegate: 1\nhealth: { listen: 127.0.0.1:8084 }\n";

/// Files and variables in memory.
#[derive(Default)]
struct Around {
    files: BTreeMap<&'static str, String>,
    variables: BTreeMap<&'static str, &'static str>,
}

impl Around {
    fn file(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.files.insert(path, text.into());
        self
    }

    fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.insert(name, value);
        self
    }

    fn read(&self, text: &str) -> Result<Policy, Problems> {
        Reading::of(self).parse("etc/policy.yaml", text)
    }

    fn accepted(&self, text: &str) -> Policy {
        self.read(text).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
    }

    fn refused(&self, text: &str) -> String {
        self.read(text).unwrap_err().to_string()
    }
}

impl Surroundings for Around {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        self.files.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| "is not there".to_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| (*value).to_owned())
    }
}

fn rule(name: &str, path: &str, more: &str) -> String {
    format!("  - {{ name: {name}, match: {{ path: \"{path}\" }}, {more}{LIMITS} }}\n")
}

fn names(policy: &Policy) -> Vec<&str> {
    policy.rules.iter().flat_map(|rule| &rule.limits).map(|limit| limit.name.as_str()).collect()
}

/// Guards names and order: counts belong to a limit's name, and answers list limits in the order of the file.
#[test]
fn rules_of_teams_follow_under_their_team() {
    let around = Around::default()
        .file("teams/pay.yaml", format!("tidegate: 1\nrules:\n{}", rule("charge", "/pay", "")))
        .file("teams/ship.yaml", format!("tidegate: 1\nrules:\n{}", rule("charge", "/ship", "")));
    let policy = around.accepted(&format!(
        "{FACE}include: {{ ship: teams/ship.yaml, pay: {{ file: teams/pay.yaml }} }}\nrules:\n{}",
        rule("edge", "/**", "")
    ));
    assert_eq!(names(&policy), ["edge/l", "ship/charge/l", "pay/charge/l"]);
    let only = around.accepted(&format!("{FACE}include: {{ ship: teams/ship.yaml }}\n"));
    assert_eq!(names(&only), ["ship/charge/l"], "a policy may be nothing but the files of teams");
}

/// Guards what a team's file sees: its own declarations and the including file's, and nobody else's.
#[test]
fn a_team_sees_its_own_names_and_the_including_files() {
    let team = "tidegate: 1\nkeys: { merchant: { header: x-merchant } }\ncodes: { pin: { digits: 4 } }\nrules:\n  - name: verify\n    class: verify\n    guesses: pin\n    on_store_failure: deny\n    match: { path: /verify }\n    limits: [{ name: l, says: Ten., key: [merchant, account], sliding_log: { limit: 10, window: 1m } }]\n  - { name: totp, class: verify, guesses: otp, on_store_failure: deny, match: { path: /totp }, LIMITS }\n";
    let around = Around::default().file("a.yaml", team.replace("LIMITS", LIMITS));
    let head =
        format!("{FACE}keys: {{ account: {{ json: /account }} }}\ncodes: {{ otp: {{ digits: 6 }} }}\n");
    let policy = around.accepted(&format!("{head}mode: shadow\ninclude: {{ a: a.yaml }}\n"));
    let guesses: Vec<_> = policy.rules.iter().filter_map(|rule| rule.guesses.as_deref()).collect();
    assert_eq!(guesses, ["a/pin", "otp"]);
    let digits = |name: &str| policy.codes.iter().find(|code| code.name == name).unwrap().digits;
    assert_eq!((digits("a/pin"), digits("otp")), (4, 6));
    assert!(policy.rules.iter().all(|rule| rule.mode == Mode::Shadow), "the file's mode is everybody's");
    let outside = around.refused(&format!(
        "{head}include: {{ a: a.yaml }}\nrules: [{{ name: r, match: {{ path: /r }}, limits: [{{ name: l, says: Ten., key: merchant, sliding_log: {{ limit: 1, window: 1m }} }}] }}]\n"
    ));
    assert!(outside.contains("the key \"merchant\" is not declared"), "{outside}");
}

/// Guards places: a problem in a team's file is told there, under a path that an editor can open.
#[test]
fn a_problem_of_an_included_file_names_that_file() {
    let around = Around::default().file("teams/a.yaml", "tidegate: 1\nrulse: []\n");
    let problems = around.read(&format!("{FACE}include: {{ a: teams/a.yaml }}\n")).unwrap_err();
    let first = &problems.list()[0];
    assert_eq!(problems.file(), "etc/policy.yaml");
    assert_eq!(problems.file_of(first.place), "etc/teams/a.yaml");
    assert!(problems.to_string().starts_with("etc/teams/a.yaml:2:1: unknown key \"rulse\""), "{problems}");
    let text = problems.to_string();
    let not_yaml = Around::default().file("a.yaml", "tidegate: [1\n");
    let not_yaml = not_yaml.read(&format!("{FACE}include: {{ a: a.yaml }}\n")).unwrap_err();
    assert!(!not_yaml.is_not_yaml(), "the policy file itself was read: {text}");
}

/// Guards a team's scope: what it may limit, against every way of reaching beyond.
#[test]
fn a_team_limits_nothing_beyond_its_match() {
    for (scope, matched, within) in [
        ("{ path: /pay/** }", "{ path: /pay }", true),
        ("{ path: /pay/** }", "{ path: /pay/a/b }", true),
        ("{ path: /pay/** }", "{ path: \"/pay/{id}/**\" }", true),
        ("{ path: /pay/** }", "{ path: /payments }", false),
        ("{ path: /pay/** }", "{ path: /** }", false),
        ("{ path: /pay/** }", "{ path: \"/{a}/b\" }", false),
        ("{ path: /pay/** }", "{ method: GET }", false),
        ("{ path: /pay/** }", "{ path: [/pay/a, /b] }", false),
        ("{ path: /pay/** }", "[{ path: /pay/a }, { path: /b }]", false),
        ("{ path: /pay/** }", "{ path: /PAY/a }", false),
        ("{ path: /pay/** }", "{ path: /PAY/a, case: ignore }", true),
        ("{ path: \"/{tenant}/pay/**\" }", "{ path: /a/pay }", true),
        ("{ path: \"/{tenant}/pay/**\" }", "{ path: \"/{any}/pay/{id}\" }", true),
        ("{ path: /pay }", "{ path: /pay/** }", false),
        ("{ path: /pay }", "{ path: /pay }", true),
        ("{ host: \"*.a.com\" }", "{ host: x.a.com }", true),
        ("{ host: \"*.a.com\" }", "{ host: \"*.x.a.com\" }", true),
        ("{ host: \"*.a.com\" }", "{ host: a.com }", false),
        ("{ host: \"*.a.com\" }", "{ path: /a }", false),
        ("{ host: a.com }", "{ host: \"*.a.com\" }", false),
        ("{ method: GET, path: /** }", "{ method: HEAD, path: /a }", true),
        ("{ method: [GET, POST] }", "{ method: POST, path: /a }", true),
        ("{ method: GET }", "{ method: [GET, POST] }", false),
        ("[{ path: /a/** }, { path: /b/** }]", "{ path: [/a/x, /b/x] }", true),
        ("[{ method: GET, path: /a/** }, { path: /b/** }]", "{ path: [/a/x, /b/x] }", false),
    ] {
        let team = format!("tidegate: 1\nrules: [{{ name: r, match: {matched}, {LIMITS} }}]\n");
        let around = Around::default().file("a.yaml", team);
        let read = around.read(&format!("{FACE}include: {{ a: {{ file: a.yaml, match: {scope} }} }}\n"));
        assert_eq!(read.is_ok(), within, "{scope} {matched}");
        if let Err(problems) = read {
            assert!(problems.to_string().contains("is not within what the team a may limit"), "{problems}");
        }
    }
}

/// Guards the bound on files, which is also one on memory.
#[test]
fn more_files_than_the_bound_are_refused() {
    let team = format!("tidegate: 1\nrules:\n{}", rule("r", "/a", ""));
    let mut around = Around::default();
    let mut include = String::new();
    for number in 0..65 {
        around.files.insert(format!("{number}.yaml").leak(), team.clone());
        include.extend(["  t", &number.to_string(), ": ", &number.to_string(), ".yaml\n"]);
    }
    let refused = around.refused(&format!("{FACE}include:\n{include}"));
    assert_eq!(refused, "etc/policy.yaml:68:3: more than 64 files are included; let teams share files");
    let long = Around::default().file("a.yaml", format!("# {}\n{team}", "x".repeat(1 << 20)));
    let refused = long.refused(&format!("{FACE}include: {{ a: a.yaml }}\n"));
    assert!(refused.starts_with("etc/a.yaml:1:1: the file is longer than"), "{refused}");
}

/// Guards variables: where they are read, what they become, and what stays as it is written.
#[test]
fn variables_fill_deployment_fields() {
    let around = Around::default().variable("HOST", "backend.internal").variable("PORT", "3000");
    let policy = around.accepted(&format!(
        "tidegate: 1\ngateway:\n  listen: ${{LISTEN:-127.0.0.1:8080}}\n  upstream: http://${{HOST}}:${{PORT}}\ninstances: ${{INSTANCES:-3}}\nproblem: {{ title: \"costs $${{5}}\" }}\nrules:\n{}",
        rule("r", "/**", "")
    ));
    let gateway = policy.gateway.unwrap();
    assert_eq!(gateway.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(gateway.upstream.authority().unwrap().as_str(), "backend.internal:3000");
    assert_eq!(policy.instances, 3);
    let tidegate_policy::ProblemTemplate::Problem { title, .. } = policy.problem else { panic!("a problem") };
    assert!(format!("{title:?}").contains("costs ${5}"), "{title:?}");
}

/// Guards against a value that is read as YAML: a variable is no way to write members, lists or booleans.
#[test]
fn what_a_variable_holds_is_text() {
    for value in ["[10.0.0.0/8]", "{ hops: 1 }", "10.0.0.0/8]\nmode: shadow", "~"] {
        let around = Around::default().variable("NETS", value);
        let refused =
            around.refused(&format!("{FACE}trusted_proxies: ${{NETS}}\nrules:\n{}", rule("r", "/a", "")));
        assert!(refused.contains("trusted_proxies has to be a list"), "{value}: {refused}");
    }
    let around = Around::default().variable("NET", "10.0.0.0/8");
    let policy =
        around.accepted(&format!("{FACE}trusted_proxies: [\"${{NET}}\"]\nrules:\n{}", rule("r", "/a", "")));
    assert!(policy.trusted.trusts("10.1.2.3".parse().unwrap()));
}

/// Guards against limits that differ from what the file says, by the environment.
#[test]
fn a_variable_elsewhere_is_refused_even_when_it_is_set() {
    let around = Around::default().variable("NAME", "value");
    for (text, place) in [
        (format!("{FACE}mode: ${{NAME}}\nrules:\n{}", rule("r", "/a", "")), "3:7"),
        (format!("{FACE}rules:\n{}", rule("r", "/${NAME}", "")), "4:31"),
        (
            format!("{FACE}keys: {{ k: {{ header: \"${{NAME}}\" }} }}\nrules:\n{}", rule("r", "/a", "")),
            "3:22",
        ),
    ] {
        let refused = around.refused(&text);
        let expected = format!("etc/policy.yaml:{place}: variables are read in deployment fields only");
        assert!(refused.starts_with(&expected), "{text}\n{refused}");
    }
    let team = format!("tidegate: 1\nrules:\n{}", rule("r", "/${NAME}", ""));
    let refused = around.file("a.yaml", team).refused(&format!("{FACE}include: {{ a: a.yaml }}\n"));
    assert!(refused.starts_with("etc/a.yaml:3:31: variables are read"), "{refused}");
}

/// Guards rules that refuse: they need no limit and no choice, and a rule that lets nothing through counts nothing.
#[test]
fn a_rule_may_refuse_instead_of_limiting() {
    let policy = parse(
        "test.yaml",
        &format!(
            "{FACE}rules:\n  - {{ name: closed, class: verify, match: {{ path: /x }}, except: {{ client: 192.0.2.0/24 }}, refuse: {{ status: 404, because: There is nothing here. }} }}\n  - {{ name: shut, mode: shadow, match: {{ path: /y }}, refuse: {{ status: 503, because: Closed on Sundays. }} }}\n"
        ),
    )
    .unwrap();
    let refuse = policy.rules[0].refuse.as_ref().unwrap();
    assert_eq!((refuse.status.as_u16(), refuse.because.as_str()), (404, "There is nothing here."));
    assert!(policy.rules.iter().all(|rule| rule.limits.is_empty()));
    assert_eq!((policy.rules[0].mode, policy.rules[1].mode), (Mode::Enforce, Mode::Shadow));
}

/// Guards counts over a renaming: a limit is stored under the oldest name it had, whichever of the two changed.
#[test]
fn former_names_of_rules_and_limits_fit_together() {
    let limit = |was: &str| LIMITS.replace("name: l,", &format!("name: l, {was}"));
    let rule = |was: &str, limit: &str| {
        let text = format!("{FACE}rules: [{{ name: new, {was} match: {{ path: /a }}, {limit} }}]\n");
        let policy = parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
        let limit = &policy.rules[0].limits[0];
        (limit.storage_name().to_owned(), limit.was.clone())
    };
    assert_eq!(rule("", LIMITS).0, "new/l");
    assert_eq!(rule("was: old,", LIMITS).0, "old/l");
    assert_eq!(
        rule("was: [newer, old],", LIMITS),
        ("old/l".to_owned(), vec!["newer/l".into(), "old/l".into()])
    );
    assert_eq!(rule("", &limit("was: m,")).0, "new/m");
    assert_eq!(rule("was: old,", &limit("was: m,")).0, "old/m");
    let both = rule("was: old,", &limit("was: m,")).1;
    assert!(["new/m", "old/l", "old/m"].iter().all(|name| both.iter().any(|was| was == name)), "{both:?}");
}

/// Guards the move into a team's file, at which a team would otherwise lose its counts.
#[test]
fn a_rule_that_moves_into_a_teams_file_keeps_its_counts() {
    for (was, stored) in
        [("charge", "pay/charge/l"), ("/charge", "charge/l"), ("ship/charge", "ship/charge/l")]
    {
        let team = format!("tidegate: 1\nrules:\n{}", rule("bill", "/pay", &format!("was: {was}, ")));
        let around = Around::default().file("a.yaml", team);
        let policy = around.accepted(&format!("{FACE}include: {{ pay: a.yaml }}\n"));
        assert_eq!(policy.rules[0].limits[0].storage_name(), stored, "{was}");
    }
}

/// Guards against two limits that charge one count without anybody having said so.
#[test]
fn two_limits_never_share_counts_by_a_former_name() {
    let refused = |a: &str, b: &str| {
        let text = format!("{FACE}rules:\n{}{}", rule("a", "/a", a), rule("b", "/b", b));
        parse("test.yaml", &text).unwrap_err().to_string()
    };
    assert!(refused("", "was: a, ").contains("the rule b says that it was a, which is still here, at 4:13"));
    assert!(refused("was: old, ", "was: old, ").contains("both say that they were old/l"));
    assert!(refused("was: a, ", "").contains("the rule a says that it was itself"));
    assert!(refused("was: b, ", "was: a, ").contains("still here"), "names cannot be swapped");
}

/// Guards against an address or a password that changes with a deployment and is told of to nobody, and against one that is
/// told to everybody.
#[test]
fn another_redis_is_told_of_field_by_field_and_its_password_never() {
    let around = Around::default()
        .file("secret", "0123456789abcdef0123456789abcdef")
        .file("old", "hunter1")
        .file("new", "hunter2");
    let read = |fields: &str| {
        let store = format!("key_secret_file: secret\nstore: {{ redis: {{ {fields} }} }}\n");
        around.accepted(&format!("{FACE}{store}rules:\n{}", rule("r", "/**", "")))
    };
    let old = read("url: redis://a, password_file: old, timeout: 50ms");
    let told = |new: &str| -> Vec<String> {
        let diff = Diff::between(&old, &read(new));
        diff.settings.iter().map(ToString::to_string).collect()
    };
    assert!(told("url: redis://a:6379/0, password_file: old").is_empty(), "what is so unless said");
    assert_eq!(
        told(
            "url: rediss+sentinel://b:26380/main, username: ada, password_file: new, ca_file: ca.pem, denial_memory: off"
        ),
        [
            "store.redis.url: redis://a:6379/0 -> rediss+sentinel://b:26380/main",
            "store.redis.username: none -> ada",
            "store.redis.password: a password -> another password",
            "store.redis.ca_file: none -> ca.pem",
            "store.redis.denial_memory: 500ms -> off",
        ]
    );
    assert_eq!(told("url: redis://a"), ["store.redis.password: a password -> none"]);
    // Where counts are kept is changed: whoever denies what may let more through denies that.
    let effects = |new: &str| -> Vec<Effect> {
        Diff::between(&old, &read(new)).settings.iter().map(|change| change.effect).collect()
    };
    assert_eq!(effects("url: redis://b, password_file: old, prefix: other"), [Effect::Unclear; 2]);
    assert_eq!(effects("url: redis://a, password_file: old, timeout: 20ms"), [Effect::None]);
    let here = around.accepted(&format!("{FACE}store: memory\nrules:\n{}", rule("r", "/**", "")));
    let moved = Diff::between(&here, &old).settings;
    assert_eq!(
        (moved[0].to_string(), moved[0].effect),
        ("store: memory -> redis://a:6379/0".to_owned(), Effect::Unclear)
    );
}

/// Guards the path of a webhook, which may be what lets alerts in, against the log of a reload; another one is told all the
/// same.
#[test]
fn another_webhook_is_told_of_by_its_server() {
    let read = |url: &str| {
        let alerts = format!("alerts: {{ webhook: {url} }}\n");
        Around::default().accepted(&format!("{FACE}{alerts}rules:\n{}", rule("r", "/**", "")))
    };
    let one = read("https://one/hook/hunter2?key=hunter2");
    let told = |new: &str| -> Vec<String> {
        let diff = tidegate_policy::Diff::between(&one, &read(new));
        diff.settings.iter().map(ToString::to_string).collect()
    };
    assert!(told("https://one/hook/hunter2?key=hunter2").is_empty());
    assert_eq!(told("http://one:80/"), ["alerts: https://one every 1m -> http://one:80 every 1m"]);
    let other = told("https://one/hook/hunter3");
    assert_eq!(other, ["alerts: https://one every 1m -> https://one every 1m, at another path"]);
}
