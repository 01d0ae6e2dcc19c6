mod beyond;

use proptest::prelude::{Strategy, prop_oneof};
use tidegate::{Limit, OnStoreFailure, Quota};
use tidegate_algorithms::{Anchor, Rate};
use tidegate_policy::Class;

use super::*;
use crate::adversary::Keyed;
use crate::target::KeyedLimits;

const ON_SUBJECT: Keyed =
    Keyed { subject: true, address: None, session: false, range: false, country: false };
const ON_ADDRESS: Keyed =
    Keyed { subject: false, address: Some((32, 64)), session: false, range: false, country: false };

fn scenario(rest: &str) -> Scenario {
    let text = format!("tidegate-scenario: 1\nrule: limits\n{rest}\n");
    Scenario::parse("s.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The article's bucket: four at once, then one every ten seconds.
fn bucket() -> Quota {
    Quota::token_bucket(4, Rate::new(1, Span::from_secs(10)).unwrap()).unwrap()
}

fn limits(limits: impl IntoIterator<Item = (Limit, Keyed)>) -> KeyedLimits {
    KeyedLimits::new(limits)
}

fn per_account(quota: Quota) -> KeyedLimits {
    limits([(Limit::new("account", quota), ON_SUBJECT)])
}

/// Plays a scenario at limits.
fn played(limits: &KeyedLimits, rest: &str, seed: u64) -> (RuleReport, Option<PeopleMet>) {
    let target = Arc::new(limits.clone());
    perform(target, limits.aim(Class::Verify), &scenario(rest), seed, &mut |_| {})
        .unwrap_or_else(|error| panic!("{error}"))
}

fn wrong(limits: &KeyedLimits, rest: &str) -> String {
    let target = Arc::new(limits.clone());
    perform(target, limits.aim(Class::Verify), &scenario(rest), 1, &mut |_| {}).unwrap_err().to_string()
}

/// Guards the sum: two at one account share what one would have had, 4 + 360 in an hour and the one at its end, and the rows
/// of each add up to that of both.
#[test]
fn adversaries_at_one_account_share_what_its_limit_admits() {
    let (rule, people) = played(
        &per_account(bucket()),
        "length: 1h\nadversaries: [{ greedy: { jitter: 1s } }, { greedy: { at: 30m, jitter: 1s } }]",
        1,
    );
    let [mix, first, second] = rule.rows.as_slice() else { panic!("{:?}", rule.rows) };
    assert_eq!((mix.adversary, first.adversary, second.adversary), ("mix", "greedy", "greedy"));
    assert!((363..=364).contains(&mix.worst.admitted), "{}", mix.worst.admitted);
    assert_eq!(first.worst.admitted + second.worst.admitted, mix.worst.admitted);
    assert_eq!(first.worst.requests + second.worst.requests, mix.worst.requests);
    assert_eq!(second.with.as_deref(), Some("1s of jitter, from 30m on"));
    assert_eq!(second.length_micros, 1_800_000_000);
    assert!(first.worst.admitted > 183 && second.worst.admitted > 60, "who comes first at a unit is chance");
    assert_eq!(people, None);
    assert!(!mix.is_exceeded && !first.is_exceeded && !second.is_exceeded);
}

/// Guards the seed: the same one is the same course of events to the last figure, and another one is another.
#[test]
fn a_seed_is_one_course_of_events() {
    let text = "length: 20m\nadversaries: [{ greedy: { jitter: 50ms } }]\npeople: { count: 20, every: 10m }";
    let limits = per_account(bucket());
    let of = |seed| format!("{:?}", played(&limits, text, seed));
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

/// Guards what people met against figures that the attack has nothing to do with: they come, mistype and pause in the same
/// way with it as without.
#[test]
fn people_whom_an_attack_does_not_touch_meet_the_same_with_it_as_without() {
    let tight = Quota::sliding_log(2, Span::from_secs(600)).unwrap();
    let on_addresses = limits([(Limit::new("client", tight), ON_ADDRESS)]);
    let text = "length: 6h\nadversaries: [greedy, greedy]\npeople: { count: 40, every: 30m, typo: 30%, behind_one_address: 4 }";
    let (_, people) = played(&on_addresses, text, 3);
    let people = people.unwrap();
    assert_eq!(people.attacked, Some(people.alone));
    let everybody = people.alone.everybody;
    assert!(
        everybody.denied > 0 && everybody.denied < everybody.tries,
        "the limit is tight for them: {everybody:?}"
    );
    assert_eq!((everybody.people, everybody.shut_out), (40, 0));
}

/// Guards the victim against being lost among the others: an account that is held full denies its owner, and nobody else.
#[test]
fn who_is_attacked_is_told_from_the_others() {
    let text = "length: 4h\nadversaries: [{ greedy: { rate: 5 per 1s } }]\npeople: { count: 10, every: 10m, typo: 0% }";
    let (rule, people) = played(&per_account(bucket()), text, 5);
    let people = people.unwrap();
    let attacked = people.attacked.unwrap();
    assert_eq!(people.alone.everybody.denied, 0, "four at once are enough for whoever does not mistype");
    assert_eq!(attacked.everybody.denied, attacked.victim.denied);
    assert_eq!((attacked.victim.people, attacked.everybody.people), (1, 10));
    let share = 100 * attacked.victim.denied / attacked.victim.tries;
    assert!(share > 90, "{attacked:?}");
    assert_eq!(rule.rows.len(), 1, "a mix of one is that one");
    assert!(attacked.victim.percent_in_vain() > Some(80.0), "{attacked:?}");
    assert_eq!(attacked.everybody.in_vain, attacked.victim.in_vain);
    let row = rule.rows[0].worst.people;
    assert_eq!((row.tries, row.denied), (attacked.everybody.tries, attacked.everybody.denied));
}

/// Guards outages: what passes without the store is as many as were asked, on a limit that lets them.
#[test]
fn an_outage_lets_through_what_the_rule_lets_through_without_its_store() {
    let account = |choice| limits([(Limit::new("account", bucket()).with_store_failure(choice), ON_SUBJECT)]);
    let text = "length: 1h\nadversaries: [{ greedy: { rate: 10 per 1s } }]\noutages: [{ at: 30m, for: 60s }]";
    let worst = |choice| played(&account(choice), text, 1).0.rows[0].worst.clone();
    let (open, closed) = (worst(OnStoreFailure::Allow), worst(OnStoreFailure::Deny));
    assert_eq!(closed.without_store, 0);
    let in_a_minute = open.requests / 60;
    assert!(open.without_store.abs_diff(in_a_minute) <= 1, "{} of {in_a_minute}", open.without_store);
    assert!(open.admitted_with_store() >= 363 - 6 && !open.is_exceeded());
}

/// Guards restarts: the memory of a process forgets, and what it may then admit is reckoned with.
#[test]
fn a_restart_hands_out_what_memory_held() {
    let slow = Quota::sliding_log(5, Span::from_secs(7_200)).unwrap();
    let text =
        "length: 1h\nadversaries: [{ greedy: { rate: 1 per 1s } }]\nrestarts: [{ at: 20m }, { at: 40m }]\n";
    let own = played(&per_account(slow), &format!("{text}topology: {{ shared: false }}"), 1).0;
    assert_eq!((own.rows[0].worst.admitted, own.rows[0].is_exceeded), (15, false));
    let shared = played(&per_account(slow), &format!("{text}topology: {{ shared: true }}"), 1).0;
    assert_eq!(shared.rows[0].worst.admitted, 5);
}

/// Guards the topology: each process that counts for itself admits the whole limit.
#[test]
fn instances_and_regions_multiply_what_is_not_shared() {
    let slow = Quota::sliding_log(5, Span::from_secs(7_200)).unwrap();
    // He asks every 29 seconds, a fiftieth of what a unit takes.
    let text = "length: 1h\nadversaries: [greedy]\ntopology: ";
    for (topology, admitted) in [
        ("{ instances: 4, shared: false }", 20),
        ("{ instances: 4, shared: true }", 5),
        ("{ instances: 2, shared: true, regions: 3 }", 15),
        ("{ instances: 2, shared: false, regions: 3 }", 30),
    ] {
        let rule = played(&per_account(slow), &format!("{text}{topology}"), 1).0;
        let row = &rule.rows[0];
        assert_eq!((row.worst.admitted, row.is_exceeded), (admitted, false), "{topology}");
    }
}

/// Guards stores that are wrong on purpose: more passes than a right one lets through, and that is no fault of ours.
#[test]
fn a_store_that_is_wrong_on_purpose_admits_more_and_is_no_fault() {
    let quota = Quota::fixed_window(3, Span::from_secs(3_600), Anchor::Clock).unwrap();
    // Ten ask at the same instants.
    let text = format!("length: 10m\nadversaries: [{}greedy]\n", "greedy, ".repeat(9));
    let right = played(&per_account(quota), &text, 1).0;
    assert_eq!(right.rows[0].worst.admitted, 3);
    let racy = played(&per_account(quota), &format!("{text}store: {{ stale_check: 1s }}"), 1).0;
    assert_eq!((racy.rows[0].worst.admitted, racy.rows[0].is_exceeded), (10, false));
}

/// Guards against taking a late adversary's first minute for that of somebody who comes to a fresh limit: another one may
/// have opened its window long before.
#[test]
fn who_comes_late_is_held_to_what_any_past_allows() {
    let quota = Quota::fixed_window(5, Span::from_secs(60), Anchor::FirstHit).unwrap();
    let text = "length: 10m\nadversaries: [greedy, { greedy: { at: 59s, rate: 100 per 1s } }]";
    let (rule, _) = played(&per_account(quota), text, 1);
    for row in &rule.rows {
        assert!(!row.is_exceeded, "{}: {:?}", row.adversary, row.worst.first);
        assert!(
            row.worst.first.iter().all(|first| first.bound.is_some_and(|bound| bound >= first.seen.into()))
        );
    }
}

/// Guards the adversaries' own things: from one address each, two pass an address's limit twice.
#[test]
fn each_adversary_comes_from_addresses_of_his_own() {
    let quota = Quota::sliding_log(5, Span::from_secs(7_200)).unwrap();
    let by_address = limits([(Limit::new("client", quota), ON_ADDRESS)]);
    let (rule, _) = played(&by_address, "length: 1h\nadversaries: [greedy, greedy, greedy]", 1);
    assert_eq!(rule.rows[0].worst.admitted, 15);
    assert_eq!(rule.rows[0].worst.peaks[0].bound, Some(15));
}

/// Guards the code: it is the scenario's before the policy's, and a guess is told of whoever guesses.
#[test]
fn the_scenario_s_code_is_what_is_guessed_at() {
    let text = "length: 1h\nadversaries: [greedy]\ncode: { digits: 4, valid: 5 }";
    let rule = played(&per_account(bucket()), text, 1).0;
    assert_eq!(rule.chance_of_one, Some(0.0005));
    assert!(rule.code.is_some() && rule.rows[0].guess.is_some());
    // What somebody comes to who stops in the midst tells nothing of the years to come.
    let stops =
        played(&per_account(bucket()), &text.replace("greedy", "greedy, { greedy: { for: 30m } }"), 1).0;
    let told: Vec<bool> = stops.rows.iter().map(|row| row.guess.is_some()).collect();
    assert_eq!(told, [false, true, false]);
    let none = played(&per_account(bucket()), "length: 1h\nadversaries: [greedy]", 1).0;
    assert!(none.code.is_none() && none.rows[0].guess.is_none());
}

/// Guards the messages on what a scenario cannot mean at these limits.
#[test]
fn what_cannot_be_played_is_told_at_its_place() {
    let limits = per_account(bucket());
    assert_eq!(
        wrong(&limits, "length: 1h\nadversaries: [{ greedy: { limit: verify/other } }]"),
        "s.yaml:4:34: no request at the rule limits asks the limit verify/other; they ask account"
    );
    assert_eq!(
        wrong(
            &limits,
            "length: 1h\nadversaries: [greedy]\ntopology: { shared: false }\noutages: [{ at: 1m, for: 1m }]"
        ),
        "s.yaml:6:11: a store in the process's own memory is not lost without the process; write `topology: { shared: \
         true }` for a store outside, or `restarts` for outages"
    );
}

/// Guards the progress against standing still, going back or ending early.
#[test]
fn progress_rises_to_the_end() {
    let limits = per_account(bucket());
    let text = "length: 1h\nadversaries: [greedy]\npeople: { count: 5, every: 5m }";
    let mut told = Vec::new();
    let target = Arc::new(limits.clone());
    perform(target, limits.aim(Class::Verify), &scenario(text), 1, &mut |share| told.push(share)).unwrap();
    assert!(told.is_sorted() && told.len() > 100 && told.len() < 250, "{told:?}");
    assert_eq!(told.last(), Some(&1.0));
}

const EXAMPLE: &str = include_str!("../../../../examples/verify.scenario.yaml");
const PAGE: &str = include_str!("../../../../docs/attack-scenarios.md");

fn quillon() -> Arc<Policy> {
    let text = include_str!("../../../../examples/quillon.yaml");
    Arc::new(tidegate_policy::parse("quillon.yaml", text).unwrap_or_else(|problems| panic!("{problems}")))
}

/// Plays a scenario at the verify rule of the example policy.
fn at_quillon(scenario: &Scenario) -> ScenarioReport {
    play(&quillon(), "quillon.yaml", scenario, None, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// Guards the example and the page's against each other, and both against names that are not there: the victim of a lockout
/// is the one who is shut out, and nobody is who is not attacked while the store answers.
#[test]
fn the_page_shows_the_example_and_it_can_be_played() {
    let body = EXAMPLE.find("tidegate-scenario: 1").map(|at| &EXAMPLE[at..]).unwrap();
    assert!(PAGE.contains(&format!("```yaml other\n{body}```\n")), "{body}");
    let mut scenario = Scenario::parse("s.yaml", EXAMPLE).unwrap_or_else(|problems| panic!("{problems}"));
    scenario.outages.clear();
    scenario.people.as_mut().unwrap().count = 20;
    let report = at_quillon(&scenario);
    let rule = &report.report.rules[0];
    let names: Vec<&str> = rule.rows.iter().map(|row| row.adversary).collect();
    assert_eq!(names, ["mix", "lockout", "spray"]);
    assert_eq!((rule.rule.as_str(), rule.limits.len(), report.report.seed), ("verify", 4, 7));
    assert!(rule.limits.iter().all(|limit| !limit.says.is_empty()), "{:?}", rule.limits);
    assert_eq!(rule.rows[1].worst.admitted, 9, "nine wrong codes a day are all that an account allows");
    assert!(!report.report.is_exceeded());
    let people = report.people.unwrap();
    assert_eq!((people.alone.everybody.denied, people.alone.everybody.in_vain), (0, 0));
    let victim = people.attacked.unwrap().victim;
    assert!(victim.in_vain > 3 && victim.shut_out == 0, "{victim:?}");
}

/// Guards the figure that people who do nothing odd are never refused by the example policy: they mistype one try in ten,
/// and nine wrong codes a day are more than anybody comes to.
#[test]
fn people_alone_are_never_refused_by_the_example_policy() {
    let text = "tidegate-scenario: 1\nrule: verify\nlength: 1d\npeople: { count: 40, every: 2h, behind_one_address: 20 }\n";
    let scenario = Scenario::parse("s.yaml", text).unwrap();
    let met = at_quillon(&scenario).people.unwrap();
    assert_eq!(met.attacked, None);
    let everybody = met.alone.everybody;
    assert!(
        (410..550).contains(&everybody.visits),
        "480 are expected, with a standard deviation of 22: {everybody:?}"
    );
    assert!(everybody.tries > everybody.visits, "some mistype");
    assert_eq!((everybody.denied, everybody.in_vain, everybody.shut_out), (0, 0, 0));
}

/// Guards the names against being looked up in vain: of rules and limits at the policy's, of adversaries at the bench's.
#[test]
fn names_that_are_not_there_and_adversaries_without_use_are_told() {
    let fails = |rest: &str| {
        let text = format!("tidegate-scenario: 1\nlength: 1h\n{rest}\n");
        let scenario = Scenario::parse("s.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        play(&quillon(), "quillon.yaml", &scenario, None, &mut |_| {}).unwrap_err().to_string()
    };
    assert_eq!(
        fails("rule: verfy\nadversaries: [gredy, { lockout: { limit: verify/per-acount } }]"),
        "s.yaml:3:7: the policy has no rule \"verfy\"; did you mean \"verify\"?\n\
         s.yaml:4:15: there is no adversary \"gredy\"; did you mean \"greedy\"?\n\
         s.yaml:4:42: the policy has no limit \"verify/per-acount\"; did you mean \"verify/per-account\"?"
    );
    assert_eq!(
        fails("rule: verify\nadversaries: [{ greedy: { limit: send/everyone } }]"),
        "s.yaml:4:34: no request at the rule verify asks the limit send/everyone; they ask edge/per-client, \
         verify/per-account, verify/per-challenge, verify/wrong-per-day"
    );
    assert_eq!(
        fails("rule: verify\nadversaries: [greedy, instances]"),
        "s.yaml:4:23: instances has nothing to gain at the rule verify as it is run here; leave it out, or name another \
         rule, another limit, or another topology"
    );
}

fn any_quota() -> impl Strategy<Value = Quota> {
    let span = |seconds| Span::from_secs(seconds);
    prop_oneof![
        (1_u64..9, 1_u64..90).prop_map(move |(limit, window)| {
            Quota::fixed_window(limit, span(window), Anchor::Clock).unwrap()
        }),
        (1_u64..9, 1_u64..90).prop_map(move |(limit, window)| {
            Quota::fixed_window(limit, span(window), Anchor::FirstHit).unwrap()
        }),
        (1_u64..9, 1_u64..90)
            .prop_map(move |(limit, window)| Quota::sliding_log(limit, span(window)).unwrap()),
        (1_u64..9, 1_u64..90)
            .prop_map(move |(limit, window)| Quota::sliding_counter(limit, span(window)).unwrap()),
        (1_u64..9, 1_u64..30).prop_map(move |(capacity, period)| {
            Quota::token_bucket(capacity, Rate::new(1, span(period)).unwrap()).unwrap()
        }),
    ]
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, cases: 24, ..Default::default() })]

    /// Guards the bounds: whoever comes together, whenever each begins, among people and through restarts, no more passes than
    /// the closed forms allow for what was touched.
    #[test]
    fn no_mix_passes_more_than_its_bounds(
        quotas in (any_quota(), any_quota()),
        mix in proptest::collection::vec((0..64_usize, 0..200_u64, 0..300_u64), 1..5),
        (instances, regions, shared) in (1..4_u32, 1..3_u32, proptest::bool::ANY),
        seed in 0..1_000_u64,
    ) {
        let limits = limits([
            (Limit::new("account", quotas.0), ON_SUBJECT),
            (Limit::new("client", quotas.1), ON_ADDRESS),
        ]);
        let fitting: Vec<&str> = adversaries()
            .iter()
            .filter(|adversary| adversary.fits(&limits.aim(Class::Verify)) && adversary.name() != "outage")
            .map(|adversary| adversary.name())
            .collect();
        let entries: Vec<String> = mix
            .iter()
            .map(|(which, at, jitter)| {
                let name = fitting[which % fitting.len()];
                format!("{{ {name}: {{ at: {at}s, jitter: {jitter}ms, rate: 20 per 1s, subjects: 50, addresses: 10 }} }}")
            })
            .collect();
        let text = format!(
            "length: 4m\nadversaries: [{}]\npeople: {{ count: 5, every: 1m }}\nrestarts: [{{ at: 100s }}]\n\
             topology: {{ instances: {instances}, regions: {regions}, shared: {shared} }}",
            entries.join(", ")
        );
        let target = Arc::new(limits.clone());
        match perform(target, limits.aim(Class::Verify), &scenario(&text), seed, &mut |_| {}) {
            Ok((rule, _)) => {
                for row in &rule.rows {
                    proptest::prop_assert!(!row.is_exceeded, "{text}\n{}: {:?} {:?}", row.adversary, row.worst.peaks, row.worst.first);
                }
            }
            // Run otherwise, an adversary may have nothing to gain.
            Err(error) => proptest::prop_assert!(error.to_string().contains("nothing to gain"), "{error}"),
        }
    }
}
