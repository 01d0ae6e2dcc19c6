use super::*;
use crate::parse_embedded;

const HEAD: &str = "tidegate-scenario: 1\nrule: verify\nlength: 1d\n";
const GREEDY: &str = "adversaries: [greedy]\n";

fn read(rest: &str) -> Scenario {
    Scenario::parse("s.yaml", &format!("{HEAD}{rest}")).unwrap_or_else(|problems| panic!("{problems}"))
}

fn wrong(text: &str) -> String {
    Scenario::parse("s.yaml", text).unwrap_err().to_string()
}

fn named(name: &str, line: u32, column: u32) -> Named {
    Named { name: name.to_owned(), place: Place { file: 0, line, column } }
}

/// Every member there is.
const WHOLE: &str = "\
tidegate-scenario: 1
rule: verify
start: 2026-01-05T00:00:10Z
length: 36h
seed: 7
adversaries:
  - greedy
  - addresses: { addresses: 500, ipv6_prefix: 56, rate: 12000 per 1m, subjects: 30, concurrency: 4, batch: 2, jitter: 50ms }
  - boundary-straddler: { at: 1h, for: 2h, limit: verify/per-account }
people: { count: 200, every: 2h, typo: 12.5%, tries: 4, think: 5s, behind_one_address: 20 }
code: { digits: 6, valid: 3 }
topology: { instances: 4, shared: true, regions: 2, lag: 300ms, skew: 1s }
store: { keys: 10000 }
outages: [{ at: 1h, for: 60s }, { at: 2h, for: 1h }]
restarts: [{ at: 0s }, { at: 2h }]
";

fn hours(count: u64) -> Span {
    Span::from_secs(count * 3_600)
}

fn whole() -> Scenario {
    Scenario::parse("s.yaml", WHOLE).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Guards what adversaries have against being dropped on the way from the file.
#[test]
fn adversaries_are_read_with_what_they_have() {
    let plain = |name| Attacker { name, at: Span::ZERO, length: None, limit: None, has: Has::default() };
    let has = Has {
        addresses: Some(500),
        ipv6_prefix: Some(56),
        rate: Some(200),
        subjects: Some(30),
        concurrency: Some(4),
        batch: Some(2),
        jitter: Some(Span::from_millis(50)),
    };
    let late = Attacker {
        at: hours(1),
        length: Some(hours(2)),
        limit: Some(named("verify/per-account", 9, 51)),
        ..plain(named("boundary-straddler", 9, 5))
    };
    let crowd = [plain(named("greedy", 7, 5)), Attacker { has, ..plain(named("addresses", 8, 5)) }, late];
    assert_eq!(whole().adversaries, crowd);
}

/// Guards every other field against the same.
#[test]
fn a_scenario_is_read_as_it_is_written() {
    let scenario = whole();
    assert_eq!((scenario.file.as_str(), &scenario.rule), ("s.yaml", &named("verify", 2, 7)));
    assert_eq!(scenario.start, crate::suite::parse_instant("2026-01-05T00:00:10Z"));
    assert_eq!((scenario.length, scenario.seed), (hours(36), Some(7)));
    let people = Crowd {
        count: 200,
        every: hours(2),
        typo: Some(0.125),
        tries: Some(4),
        think: Some(Span::from_secs(5)),
        behind_one_address: Some(20),
    };
    assert_eq!(scenario.people, Some(people));
    let code = scenario.code.unwrap();
    assert_eq!((code.digits, code.alphabet, code.valid, code.attempts), (6, 10, Some(3), None));
    let topology = Around {
        instances: Some(4),
        shared: Some(true),
        regions: Some(2),
        lag: Some(Span::from_millis(300)),
        skew: Some(Span::from_secs(1)),
    };
    assert_eq!((scenario.topology, scenario.store), (topology, Some(Kept::Keys(10_000))));
    let outages = [(1, Span::from_secs(60)), (2, hours(1))];
    assert_eq!(
        scenario.outages,
        outages.map(|(at, length)| Outage { at: hours(at), length, written: At(Place::START) })
    );
    assert_eq!(scenario.restarts, [Span::ZERO, hours(2)]);
}

/// Guards what is left out: nothing may stand in its place that the policy or whoever plays it knows better.
#[test]
fn what_is_not_said_is_left_open() {
    let scenario = read("people: { count: 1, every: 1s }\n");
    assert_eq!((scenario.start, scenario.seed, scenario.code.clone()), (None, None, None));
    assert_eq!((scenario.topology, scenario.store), (Around::default(), None));
    assert!(scenario.adversaries.is_empty() && scenario.outages.is_empty() && scenario.restarts.is_empty());
    let crowd = scenario.people.unwrap();
    assert_eq!((crowd.typo, crowd.tries, crowd.think, crowd.behind_one_address), (None, None, None, None));
    assert_eq!(read("people: { count: 1, every: 1h, typo: 0%, think: 0s }").people.unwrap().typo, Some(0.0));
}

/// Guards the ways to keep the counts, of which each is another experiment.
#[test]
fn each_store_is_told_from_the_others() {
    let store = |text: &str| read(&format!("{GREEDY}store: {{ {text} }}\n")).store;
    assert_eq!(store("keys: 5"), Some(Kept::Keys(5)));
    assert_eq!(store("evicting: 5"), Some(Kept::Evicting(5)));
    assert_eq!(store("stale_check: 5ms"), Some(Kept::StaleCheck(Span::from_millis(5))));
    assert_eq!(store("read_modify_write: 1s"), Some(Kept::ReadModifyWrite(Span::from_secs(1))));
    assert_eq!(read(&format!("{GREEDY}store: own_clocks\n")).store, Some(Kept::OwnClocks));
}

/// What a file says after its head, and how it is told.
const SLIPS: [(&str, &str); 51] = [
    (
        "adversaries: [greedy]\nadversary: x",
        "5:1: unknown key \"adversary\" in the scenario; did you mean \"adversaries\"?",
    ),
    ("adversaries: greedy", "4:14: adversaries has to be a list, and this is a single value"),
    (
        "adversaries: [{ greedy: { rte: 1 per 1s } }]",
        "4:27: unknown key \"rte\" in the adversary greedy; did you mean \"rate\"?",
    ),
    (
        "adversaries: [{ greedy: { rate: 1 per 10s } }]",
        "4:33: rate 1 per 10s is no whole number a second; the nearest possible is 1 per 1s",
    ),
    (
        "adversaries: [{ greedy: { rate: 2000000 per 1s } }]",
        "4:33: rate 2000000 per 1s is out of range; the nearest possible is 1000000 per 1s",
    ),
    (
        "adversaries: [{ greedy: { rate: 7 per 0s } }]",
        "4:33: rate 7 per 0s is out of range; the nearest possible is 1 per 1s",
    ),
    (
        "adversaries: [{ greedy: { rate: 200/s } }]",
        "4:33: rate \"200/s\" is not a rate; did you mean 200 per 1s?",
    ),
    (
        "adversaries: [{ greedy: { addresses: 0 } }]",
        "4:38: addresses 0 is out of range; the nearest possible is 1",
    ),
    (
        "adversaries: [{ greedy: { ipv6_prefix: 8 } }]",
        "4:40: ipv6_prefix 8 is out of range; the nearest possible is 32",
    ),
    (
        "adversaries: [{ greedy: { subjects: 99999999 } }]",
        "4:37: subjects 99999999 is out of range; the nearest possible is 10000000",
    ),
    (
        "adversaries: [{ greedy: { jitter: 50 } }]",
        "4:35: jitter \"50\" is not a time; it has no unit; did you mean 50s?",
    ),
    (
        "adversaries: [{ greedy: { jitter: 2h } }]",
        "4:35: jitter 2h is out of range; the nearest possible is 1h",
    ),
    (
        "adversaries: [{ greedy: { at: 1d } }]",
        "4:17: greedy begins at 1d, and the scenario ends after 1d; let him begin sooner, or the scenario go on longer",
    ),
    (
        "adversaries: [{ greedy: {}, spray: {} }]",
        "4:15: an adversary is one name, and this is a mapping of 2; write `- greedy`, or",
    ),
    ("adversaries: [two words]", "4:15: an adversary \"two words\" is not a name"),
    ("adversaries: [{ greedy: 5 }]", "4:25: the adversary greedy has to be a mapping"),
    ("adversaries: []", "1:1: nobody does anything in the scenario; write `adversaries: [greedy]`"),
    (
        "people: { count: 200000, every: 2h }",
        "4:18: count 200000 is out of range; the nearest possible is 100000",
    ),
    ("people: { count: 200 }", "4:9: people has no `every`; write `every: 2h`"),
    ("people: { count: 1, every: 500ms }", "4:28: every 500ms is out of range; the nearest possible is 1s"),
    (
        "people: { count: 1, every: 1h, typo: 0.1 }",
        "4:38: typo \"0.1\" is not a share; write a share from 0% to 100%, such as 10% or 0.5%",
    ),
    ("people: { count: 1, every: 1h, typo: 101% }", "4:38: typo \"101%\" is not a share"),
    ("people: { count: 1, every: 1h, typo: -1% }", "4:38: typo \"-1%\" is not a share"),
    ("people: { count: 1, every: 1h, typo: [] }", "4:38: typo has to be a share, and this is a list"),
    ("people: { count: 1, every: 1h, tries: 0 }", "4:39: tries 0 is out of range; the nearest possible is 1"),
    ("code: { valid: 3 }", "4:7: the code of the scenario has no `digits`; write `digits: 6`"),
    ("code: { digits: 6, carry_over: true }", "4:20: carry_over is said without attempts"),
    ("topology: { instances: 0 }", "4:24: instances 0 is out of range; the nearest possible is 1"),
    (
        "topology: { instances: 100, regions: 100 }",
        "4:24: 10000 processes are too many for a simulation; let instances times regions be 1000 at most",
    ),
    ("topology: { shared: no }", "4:21: shared \"no\" is not known; did you mean false?"),
    ("topology: { lag: 2d }", "4:18: lag 2d is out of range; the nearest possible is 1d"),
    (
        "topology: { lag: 1s }",
        "4:18: lag is said of one region; say how many learn of each other: `regions: 2`",
    ),
    (
        "topology: { regions: 2, lag: 1s, shared: false }",
        "4:30: lag is said where every process has its own store; stores that are shared learn of each other",
    ),
    (
        "topology: { regions: 2, lag: 1s }\nstore: { evicting: 5 }",
        "5:8: such a store learns nothing of another region, and topology says with which lag it does; leave out",
    ),
    ("store: {}", "4:8: store says nothing; write `evicting: 10000`"),
    ("store: { evictin: 5 }", "4:10: unknown key \"evictin\" in store; did you mean \"evicting\"?"),
    ("store: { lru: 5 }", "4:10: unknown key \"lru\" in store; write `evicting: 10000`, `stale_check: 5ms`"),
    (
        "store: { evicting: 5, stale_check: 5ms }",
        "4:23: `stale_check` is beside `evicting`, and there is one store; keep one of them",
    ),
    ("store: { stale_check: 2m }", "4:23: stale_check 2m is out of range; the nearest possible is 1m"),
    (
        "store: memory",
        "4:8: store \"memory\" is not known; write own_clocks; or, in braces, `evicting: 10000`",
    ),
    ("store: [5]", "4:8: store has to be a mapping, and this is a list"),
    (
        "code: { digits: 1, valid: 11 }",
        "4:7: 11 codes are valid at once, and there are 10; let it have more digits",
    ),
    (
        "outages: [{ at: 1d, for: 60s }]",
        "4:17: at 1d is not within the scenario, which ends after 1d; let it come sooner",
    ),
    ("outages: [{ at: 1h }]", "4:11: an outage has no `for`; write `for: 60s`"),
    (
        "outages: [{ at: 1h, for: 2h }, { at: 2h, for: 1m }]",
        "4:32: this outage begins before the one above has ended; let it begin at 3h or later, or write one outage",
    ),
    (
        "restarts: [{ at: 2h }, { at: 2h }]",
        "4:24: this restart does not come after the one above; restarts stand in the order of time",
    ),
    ("restarts: [2h]", "4:12: a restart has to be a mapping, and this is a single value"),
    ("seed: -1", "4:7: seed \"-1\" is not a whole number"),
    (
        "seed: 9007199254740993",
        "4:7: seed 9007199254740993 is out of range; the nearest possible is 9007199254740992",
    ),
    ("start: yesterday", "4:8: start \"yesterday\" is not an instant between 1970 and 2112; write a date"),
    ("start: 2111-12-31T23:59:59Z\nlength: 1d", "s.yaml:5:1"),
];

/// Guards the messages: each slip with its place, what is wrong, and what to write.
#[test]
fn slips_are_told_with_place_and_remedy() {
    for (rest, message) in SLIPS {
        let is_about_somebody = rest.contains("adversaries") || rest.contains("people");
        let somebody = if is_about_somebody { "" } else { "\nadversaries: [greedy]" };
        let problems = wrong(&format!("{HEAD}{rest}{somebody}\n"));
        assert!(problems.contains(message), "{rest}:\n{problems}\n{message}");
        assert_eq!(problems.lines().count(), 1, "{rest}: one slip is told once:\n{problems}");
    }
}

/// Guards the head of the file, and files that are something else.
#[test]
fn another_file_is_told_from_a_scenario() {
    for (text, message) in [
        ("", "s.yaml:1:1: the file is empty; begin it with `tidegate-scenario: 1`"),
        ("# nothing\n", "the file is empty"),
        ("- a\n", "the scenario has to be a mapping"),
        ("a: [\n", "s.yaml:"),
        (
            "tidegate-scenario: 2\nrule: verify\nlength: 1d\nadversaries: [greedy]\n",
            "s.yaml:1:20: version 2 is not known; this version reads `tidegate-scenario: 1`",
        ),
        (
            "rule: verify\nlength: 1d\nadversaries: [greedy]\n",
            "s.yaml:1:1: the scenario has no `tidegate-scenario`; write `tidegate-scenario: 1`",
        ),
        (
            "tidegate: 1\nrules: []\n",
            "s.yaml:1:11: this is a policy, and a scenario is wanted; run `tidegate attack s.yaml`; a scenario stands \
             in a file that begins with `tidegate-scenario: 1`",
        ),
        ("tidegate-test: 1\n", "this is a test file, and a scenario is wanted; run `tidegate test s.yaml`"),
        (
            "tidegate-scenario: 1\nstart: 2111-12-31\nlength: 400d\nrule: verify\nadversaries: [greedy]\n",
            "s.yaml:3:9: the scenario ends after the year 2112; let it begin sooner",
        ),
    ] {
        assert!(wrong(text).contains(message), "{text}: {}", wrong(text));
    }
    let problems = crate::parse("p.yaml", &format!("{HEAD}{GREEDY}")).unwrap_err().to_string();
    assert_eq!(
        problems,
        "p.yaml:1:20: this is a scenario, and a policy is wanted; run `tidegate attack POLICY --scenario p.yaml`"
    );
}

/// Guards against an end at the first slip: who mends a file wants to know of all.
#[test]
fn every_slip_is_told_at_once() {
    let problems = wrong(
        "tidegate-scenario: 1\nrule: verify\nadversaries: [{ greedy: { rate: fast } }]\npeople: { count: 0, every: 1h }\n\
         restarts: [{ at: soon }]\n",
    );
    let places: Vec<&str> = problems.lines().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(places, ["s.yaml:1:1", "s.yaml:3:33", "s.yaml:4:18", "s.yaml:5:18"], "{problems}");
    let crowd = "greedy, ".repeat(101);
    assert!(
        wrong(&format!("{HEAD}adversaries: [{crowd}]\n")).contains("there are 101 adversaries; keep 100")
    );
}

/// Guards names that are nobody's: of rules and limits by the policy, of adversaries by whoever plays them.
#[test]
fn names_that_are_not_there_are_told_with_the_nearest() {
    let policy = parse_embedded(
        "p.yaml",
        "tidegate: 1\nrules:\n  - name: verify\n    match: { path: /** }\n    limits:\n      \
         - { name: all, says: One a minute per client., key: client_ip, sliding_log: { limit: 1, window: 1m } }\n",
    )
    .unwrap_or_else(|problems| panic!("{problems}"));
    let known = ["greedy", "boundary-straddler"];
    let check = |rule: &str, adversaries: &str| {
        let text = format!("tidegate-scenario: 1\nrule: {rule}\nlength: 1d\nadversaries: [{adversaries}]\n");
        let scenario = Scenario::parse("s.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        scenario.check_names(&policy, &known)
    };
    assert_eq!(check("verify", "greedy, { greedy: { limit: verify/all } }"), Ok(()));
    let problems = check("verfy", "gredy, nobody, { greedy: { limit: verify/al } }").unwrap_err().to_string();
    assert_eq!(
        problems,
        "s.yaml:2:7: the policy has no rule \"verfy\"; did you mean \"verify\"?\n\
         s.yaml:4:15: there is no adversary \"gredy\"; did you mean \"greedy\"?\n\
         s.yaml:4:22: there is no adversary \"nobody\"; there are greedy, boundary-straddler\n\
         s.yaml:4:49: the policy has no limit \"verify/al\"; did you mean \"verify/all\"?"
    );
}

const EXAMPLE: &str = include_str!("../../../../examples/verify.scenario.yaml");

/// Guards the example against the language it is written in, and the policy it is about.
#[test]
fn the_example_is_read() {
    let scenario = Scenario::parse("s.yaml", EXAMPLE).unwrap_or_else(|problems| panic!("{problems}"));
    let policy = crate::parse("p.yaml", include_str!("../../../../examples/quillon.yaml"));
    let names: Vec<&str> = scenario.adversaries.iter().map(|attacker| attacker.name.name.as_str()).collect();
    assert_eq!(scenario.check_names(&policy.unwrap_or_else(|problems| panic!("{problems}")), &names), Ok(()));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Guards against a slip in a good file that brings the reader down, or is refused without a place in the file.
    #[test]
    fn a_damaged_file_is_accepted_or_refused_at_a_place(
        at in 0..EXAMPLE.len(),
        cut in 0..12_usize,
        put in "[\\[\\]{}:,&*!|>'\"%@`#\\-? \\t\\nNa0~é]{0,3}",
    ) {
        let floor = |at: usize| (0..=at.min(EXAMPLE.len())).rev().find(|at| EXAMPLE.is_char_boundary(*at)).unwrap();
        let text = format!("{}{put}{}", &EXAMPLE[..floor(at)], &EXAMPLE[floor(at + cut).max(floor(at))..]);
        if let Err(problems) = Scenario::parse("s.yaml", &text) {
            let lines = u32::try_from(text.lines().count()).unwrap();
            for problem in problems.list() {
                proptest::prop_assert!((1..=lines + 1).contains(&problem.place.line), "{}", problems);
            }
        }
    }
}
