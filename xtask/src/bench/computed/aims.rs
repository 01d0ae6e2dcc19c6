//! What the figures are held against: each aim names the measurements it is judged by.

use std::collections::BTreeMap;

use super::page::short;

/// A row of the table of aims.
#[derive(Debug)]
pub(in super::super) struct Aim {
    /// What its notes are called.
    pub(in super::super) id: &'static str,
    pub(in super::super) what: &'static str,
    pub(in super::super) against: &'static str,
    /// All of them have to hold.
    pub(in super::super) measures: &'static [Measure],
}

/// A figure that an aim is judged by.
#[derive(Debug)]
pub(in super::super) struct Measure {
    /// The figure's name.
    pub(in super::super) figure: &'static str,
    /// What it is, where an aim has several.
    pub(in super::super) of: &'static str,
    pub(in super::super) bound: Bound,
}

/// On which side of a number a figure has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// How an aim fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Verdict {
    Reached,
    Missed,
    /// A figure is not there.
    Unknown,
}

pub(in super::super) const AIMS: [Aim; 13] = [
    Aim {
        id: "hot",
        what: "decision, hot key, one thread",
        against: "governor keyed String",
        measures: &[Measure::at_most(0.9, "memory/hot/of-governor", "of its time")],
    },
    Aim {
        id: "million",
        what: "decision, a million random keys, key bytes hot in cache",
        against: "governor keyed String",
        measures: &[Measure::at_most(0.4, "memory/million/of-governor", "of its time")],
    },
    Aim {
        id: "hot-2",
        what: "hot key, two threads",
        against: "governor",
        measures: &[Measure::at_most(0.8, "memory/hot-2/of-governor", "of its time")],
    },
    Aim {
        id: "bytes",
        what: "bytes per key, a million keys",
        against: "governor",
        measures: &[Measure::at_most(0.38, "memory/bytes/of-governor", "of its bytes")],
    },
    Aim {
        id: "check",
        what: "`Limiter::check`, two limits, hot",
        against: "–",
        measures: &[
            Measure::at_most(250.0, "check/two-limits/ns", "ns"),
            Measure::at_most(0.0, "check/two-limits/allocations", "allocations"),
        ],
    },
    Aim {
        id: "redis",
        what: "Redis CPU per decision under load",
        against: "hand-written GCRA script, P=16",
        measures: &[Measure::at_most(0.6, "redis/admitted/token-bucket/of-script-16", "of its CPU")],
    },
    Aim {
        id: "redis-grpc",
        what: "decisions with Redis, gRPC",
        against: "throttlecrab gRPC, in memory",
        measures: &[Measure::at_least(0.7, "servers/grpc/allowed/tidegate-redis/rate", "of its rate")],
    },
    Aim {
        id: "gateway-allowed",
        what: "gateway, allowed",
        against: "nginx `limit_req`",
        measures: &[Measure::at_most(1.0, "gateway/allowed/tidegate/cpu", "of its CPU per request")],
    },
    Aim {
        id: "gateway-flood",
        what: "gateway, one-key flood",
        against: "nginx `limit_req`",
        measures: &[Measure::at_most(1.1, "gateway/flood/tidegate/cpu", "of its CPU per request")],
    },
    Aim {
        id: "http",
        what: "decision API over HTTP",
        against: "throttlecrab HTTP",
        measures: &[
            Measure::at_most(0.9, "servers/http/allowed/tidegate/cpu", "of its CPU, allowed"),
            Measure::at_most(0.9, "servers/http/refused/tidegate/cpu", "refused"),
        ],
    },
    Aim {
        id: "grpc",
        what: "RLS over gRPC",
        against: "throttlecrab gRPC",
        measures: &[
            Measure::at_most(0.95, "servers/grpc/allowed/tidegate/cpu", "of its CPU, allowed"),
            Measure::at_most(0.95, "servers/grpc/refused/tidegate/cpu", "refused"),
        ],
    },
    Aim {
        id: "flood",
        what: "p99 of other users during a one-key flood at 70 % of capacity",
        against: "without the flood",
        measures: &[Measure::at_most(1.5, "flood/tidegate/p99", "of the p99 without")],
    },
    Aim {
        id: "rules",
        what: "throughput with 10 → 10,000 rules",
        against: "–",
        measures: &[
            Measure::at_least(0.9, "rules/check/10000/of-10000/throughput", "of it is left, in process"),
            Measure::at_least(0.9, "rules/api/throughput", "by the decision API"),
        ],
    },
];

impl Measure {
    const fn at_most(most: f64, figure: &'static str, of: &'static str) -> Self {
        Self { figure, of, bound: Bound::AtMost(most) }
    }

    const fn at_least(least: f64, figure: &'static str, of: &'static str) -> Self {
        Self { figure, of, bound: Bound::AtLeast(least) }
    }
}

impl Bound {
    /// Judges what is shown, by two digits after the point: a ratio of 0.9004 is 0.90 on the page and holds there, too.
    fn holds(self, figure: f64) -> bool {
        let shown = (figure * 100.0).round() / 100.0;
        match self {
            Self::AtMost(most) => shown <= most,
            Self::AtLeast(least) => shown >= least,
        }
    }

    fn words(self) -> String {
        match self {
            Self::AtMost(most) => format!("at most {most}"),
            Self::AtLeast(least) => format!("at least {least}"),
        }
    }
}

impl Aim {
    /// Returns whether the figures reach it.
    pub(in super::super) fn judge(&self, figures: &BTreeMap<String, f64>) -> Verdict {
        let mut verdict = Verdict::Reached;
        for measure in self.measures {
            match figures.get(measure.figure) {
                None => return Verdict::Unknown,
                Some(figure) if !measure.bound.holds(*figure) => verdict = Verdict::Missed,
                Some(_) => (),
            }
        }
        verdict
    }

    /// Returns its aim in words: "at most 0.9 of its time".
    pub(in super::super) fn words(&self) -> String {
        let measures = self.measures.iter();
        let mut words: Vec<String> =
            measures.map(|measure| format!("{} {}", measure.bound.words(), measure.of)).collect();
        words.dedup();
        words.join(", ")
    }

    /// Returns what was measured, as the table shows it.
    pub(in super::super) fn measured(&self, figures: &BTreeMap<String, f64>) -> String {
        let shown = |measure: &Measure| {
            let figure = figures.get(measure.figure).copied().unwrap_or(f64::NAN);
            let of = if self.measures.len() > 1 { format!(" {}", measure.of) } else { String::new() };
            format!("{}{of}", short(figure))
        };
        self.measures.iter().map(shown).collect::<Vec<_>>().join(", ")
    }
}

impl Verdict {
    pub(in super::super) fn words(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::Missed => "**not reached**",
            Self::Unknown => "not measured",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn figures(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
        pairs.iter().map(|(name, figure)| ((*name).to_owned(), *figure)).collect()
    }

    fn aim(id: &str) -> &'static Aim {
        AIMS.iter().find(|aim| aim.id == id).unwrap()
    }

    #[test]
    fn a_bound_holds_on_its_own_side_and_at_itself() {
        let hot = |figure| aim("hot").judge(&figures(&[("memory/hot/of-governor", figure)]));
        assert_eq!([hot(0.5), hot(0.9), hot(0.91)], [Verdict::Reached, Verdict::Reached, Verdict::Missed]);
        let rate = |figure| {
            aim("redis-grpc").judge(&figures(&[("servers/grpc/allowed/tidegate-redis/rate", figure)]))
        };
        assert_eq!([rate(0.69), rate(0.7), rate(2.0)], [Verdict::Missed, Verdict::Reached, Verdict::Reached]);
    }

    /// One allocation in a hundred checks is one too many, and shows as 0.01.
    #[test]
    fn an_aim_of_two_figures_needs_both() {
        let check = |nanos, allocations| {
            aim("check").judge(&figures(&[
                ("check/two-limits/ns", nanos),
                ("check/two-limits/allocations", allocations),
            ]))
        };
        assert_eq!(check(200.0, 0.0), Verdict::Reached);
        assert_eq!(check(200.0, 0.01), Verdict::Missed);
        assert_eq!(check(251.0, 0.0), Verdict::Missed);
    }

    /// A figure that is no number, as of a part without turns, reaches nothing.
    #[test]
    fn what_was_not_measured_is_not_reached() {
        assert_eq!(aim("hot").judge(&figures(&[])), Verdict::Unknown);
        assert_eq!(aim("check").judge(&figures(&[("check/two-limits/ns", 1.0)])), Verdict::Unknown);
        assert_eq!(aim("hot").judge(&figures(&[("memory/hot/of-governor", f64::NAN)])), Verdict::Missed);
        assert_eq!(aim("hot").measured(&figures(&[])), "–");
    }

    #[test]
    fn an_aim_is_told_in_words_with_what_was_measured() {
        let seen = figures(&[("check/two-limits/ns", 231.4), ("check/two-limits/allocations", 0.0)]);
        assert_eq!(aim("check").words(), "at most 250 ns, at most 0 allocations");
        assert_eq!(aim("check").measured(&seen), "231 ns, 0.00 allocations");
        assert_eq!(aim("million").words(), "at most 0.4 of its time");
    }

    /// Notes and JSON go by the id.
    #[test]
    fn each_aim_and_each_figure_stands_once() {
        let ids: BTreeSet<&str> = AIMS.iter().map(|aim| aim.id).collect();
        assert_eq!(ids.len(), AIMS.len());
        let measures: Vec<&str> =
            AIMS.iter().flat_map(|aim| aim.measures).map(|measure| measure.figure).collect();
        assert_eq!(measures.iter().collect::<BTreeSet<_>>().len(), measures.len());
    }
}
