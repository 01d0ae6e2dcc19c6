//! What is played at a gateway, how long, and with how many requests.
//!
//! Every attack is about accounts, sessions and addresses of its own, so those whose limit tells these apart go on side by
//! side, each as long as all of it may take. Those whose limit has one key for all of them would spoil each other: they go
//! one after the other, those that take longest first, each for two windows of its limit; what finds no time is not played.
//! Each is sure of as many requests as show a refusal, and what finds none of those is not played either.

use tidegate_algorithms::{Quota, Span};
use tidegate_review::spoken_count;

use super::LiveOptions;
use super::here::{Here, Sources};
use crate::adversary::{Adversary, Aim, Guard, Need, Play};
use crate::target::Requests;

/// Adversaries that a gateway would have to be brought into something for, and those that need what nobody has from here.
const NOT_FROM_HERE: [(&str, &str); 4] = [
    ("instances", "it has to choose which process answers"),
    ("regions", "it has to choose which region answers"),
    ("skew", "clocks would have to be set"),
    ("success-reset", "it needs an account that it can sign in to"),
];
/// No attack is shorter.
const SHORTEST: Span = Span::from_secs(1);

/// One attack at a gateway.
pub(super) struct Planned {
    pub(super) rule: String,
    pub(super) here: Here,
    pub(super) aim: Aim,
    pub(super) adversary: &'static dyn Adversary,
    /// How long it is played.
    pub(super) length: Span,
    /// How long two windows of its limit take.
    pub(super) windows: Span,
    /// How many requests it may make.
    pub(super) requests: u64,
    /// The limit whose one key it shares with others.
    shares: Option<String>,
}

/// All that is played, in lanes that go on side by side, and what is not.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) attacks: Vec<Planned>,
    /// The indices of those that go on one after the other.
    pub(super) lanes: Vec<Vec<usize>>,
    pub(super) skipped: Vec<String>,
}

impl Plan {
    /// Makes a plan for rules, each with its requests.
    pub(super) fn new(
        rules: &[(String, Requests)],
        sources: Sources,
        adversaries: &[&'static dyn Adversary],
        options: &LiveOptions,
    ) -> Self {
        let mut plan = Self::default();
        let mut wanted = Vec::new();
        for rule in rules {
            for adversary in adversaries {
                plan.choose(rule, *adversary, (sources, options), &mut wanted);
            }
        }
        let wanted = plan.afford(wanted, options.requests);
        plan.schedule(wanted, options.length);
        plan
    }

    /// Notes an adversary's attacks on a rule, if he fits it and can be played from here.
    fn choose(
        &mut self,
        (rule, requests): &(String, Requests),
        adversary: &'static dyn Adversary,
        (sources, options): (Sources, &LiveOptions),
        wanted: &mut Vec<Planned>,
    ) {
        let aim = requests.aim();
        let focuses = if adversary.is_for_one_limit() { aim.guards.len() } else { 1 };
        let aims = (0..focuses).map(|focus| Aim { focus, ..aim.clone() });
        let aims: Vec<Aim> = aims.filter(|aim| adversary.fits(aim)).collect();
        if aims.is_empty() {
            return;
        }
        if let Some(why) = not_from_here(adversary) {
            self.skipped.push(format!("{rule}, {}: {why}", adversary.name()));
            return;
        }
        for aim in aims {
            let nth = u64::try_from(wanted.len()).unwrap_or(0);
            match Here::new(requests.clone(), sources, (options.seed, nth)) {
                Ok(here) => wanted.push(planned(rule, here, aim, adversary, sources)),
                Err(why) => {
                    self.skipped.push(format!("{rule}: {why}"));
                    return;
                }
            }
        }
    }

    /// Keeps what there are requests for, those that take fewest first, and gives all of them the same share of the rest.
    fn afford(&mut self, mut wanted: Vec<Planned>, requests: u64) -> Vec<Planned> {
        wanted.sort_by_key(|attack| attack.requests);
        let mut left = requests;
        let mut kept = Vec::new();
        for attack in wanted {
            if let Some(rest) = left.checked_sub(attack.requests) {
                left = rest;
                kept.push(attack);
            } else {
                let needed = spoken_count(attack.requests.into());
                self.skip(
                    &attack,
                    &format!("it takes {needed} requests to be refused, more than are left of --requests"),
                );
            }
        }
        let share = left.checked_div(u64::try_from(kept.len()).unwrap_or(u64::MAX)).unwrap_or(0);
        for attack in &mut kept {
            attack.requests = attack.requests.saturating_add(share);
        }
        kept
    }

    /// Gives each its time.
    fn schedule(&mut self, mut wanted: Vec<Planned>, length: Span) {
        // A sort that keeps the order of equals: a seed is one plan.
        wanted.sort_by_key(|attack| std::cmp::Reverse(attack.windows));
        let mut shared: Vec<(String, Span, usize)> = Vec::new();
        for mut attack in wanted {
            let index = self.attacks.len();
            let Some(limit) = attack.shares.clone() else {
                attack.length = length;
                self.lanes.push(vec![index]);
                self.attacks.push(attack);
                continue;
            };
            if !shared.iter().any(|(name, _, _)| *name == limit) {
                shared.push((limit.clone(), length, self.lanes.len()));
                self.lanes.push(Vec::new());
            }
            let Some((_, left, lane)) = shared.iter_mut().find(|(name, _, _)| *name == limit) else {
                continue;
            };
            if attack.windows > *left {
                let why = format!(
                    "it takes {} of its own, which --for does not have: {limit} has one key for all attacks",
                    attack.windows
                );
                self.skip(&attack, &why);
                continue;
            }
            *left = Span::from_micros(left.as_micros().saturating_sub(attack.windows.as_micros()));
            attack.length = attack.windows;
            if let Some(lane) = self.lanes.get_mut(*lane) {
                lane.push(index);
                self.attacks.push(attack);
            }
        }
    }

    fn skip(&mut self, attack: &Planned, why: &str) {
        let limit = attack.limit().map(|limit| format!(" at {limit}")).unwrap_or_default();
        self.skipped.push(format!("{}, {}{limit}: {why}", attack.rule, attack.adversary.name()));
    }
}

impl Planned {
    /// Returns the limit that its schedule is made for, if it is made for one.
    pub(super) fn limit(&self) -> Option<&str> {
        let guard = self.aim.guard().filter(|_| self.adversary.is_for_one_limit());
        guard.map(|guard| guard.name.as_str())
    }

    /// Returns the play that begins at an instant. He who aims at boundaries keeps off them by the tolerance.
    pub(super) fn play(&self, start: tidegate_algorithms::Timestamp, options: &LiveOptions) -> Play {
        let jitter = Span::from_micros(options.tolerance.as_micros() / 3);
        Play { start, length: self.length, jitter, means: options.means }
    }
}

fn not_from_here(adversary: &dyn Adversary) -> Option<&'static str> {
    let by_need = adversary.needs().iter().find_map(|need| match need {
        Need::Outage => Some("the store would have to fail"),
        Need::Restarts => Some("the gateway would have to start anew"),
        Need::Ipv6Network => Some("it needs an IPv6 network"),
        _ => None,
    });
    let by_name = || NOT_FROM_HERE.iter().find(|(name, _)| *name == adversary.name()).map(|(_, why)| *why);
    by_need.or_else(by_name)
}

fn planned(rule: &str, here: Here, aim: Aim, adversary: &'static dyn Adversary, sources: Sources) -> Planned {
    // One whose schedule is for no limit in particular meets the one that is full first.
    let burst = |guard: &&Guard| guard.quota.nominal() / guard.cost.max(1);
    let tightest = aim.guards.iter().min_by_key(burst);
    let guard = if adversary.is_for_one_limit() { aim.guard() } else { tightest };
    let two =
        guard.map_or(SHORTEST, |guard| Span::from_micros(window(&guard.quota).as_micros().saturating_mul(2)));
    let shares = guard.filter(|guard| is_shared(guard, &aim, sources)).map(|guard| guard.name.clone());
    let requests = guard.map_or(1, |guard| u64::from(burst(&guard)).saturating_add(2));
    let rule = rule.to_owned();
    let windows = two.max(SHORTEST);
    Planned { rule, here, aim, adversary, length: windows, windows, requests, shares }
}

/// Returns whether all attacks from here have the same key of a limit.
fn is_shared(guard: &Guard, aim: &Aim, sources: Sources) -> bool {
    let keyed = guard.keyed;
    let by_address = keyed.address.is_some() && (sources == Sources::Loopback || aim.believes_anybody);
    !(keyed.subject || keyed.session || keyed.range || by_address)
}

/// Returns the time after which a limit lets through what it has not before.
fn window(quota: &Quota) -> Span {
    match quota {
        Quota::Lockout(lockout) => lockout.within().max(lockout.lock()),
        _ => quota.window(),
    }
}
