//! A policy as meant: what `parse` returns once nothing is left to say about the file.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::answer::{HeaderStyle, ProblemTemplate};
use crate::client::TrustedProxies;
use crate::examined::{Budget, Code, Topology};
use crate::face::{Admin, Api, Envoy, Gateway, Health, Resp};
use crate::foreign::Foreign;
use crate::key::{KeyPart, Part};
use crate::limit::Limit;
use crate::problem::{Place, Problem};
use crate::request::{Ambiguous, Facts};
use crate::rule::Rule;
use crate::rules::Rules;
use crate::secret::Identities;
use crate::store::{AlertsChoice, StoreChoice};

/// A policy: where to listen, whom to believe, what to limit.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The reverse proxy, if any.
    pub gateway: Option<Gateway>,
    /// The decision API, if any.
    pub api: Option<Api>,
    /// Envoy's rate-limit service, if any.
    pub envoy: Option<Envoy>,
    /// The listener for clients of a throttling Redis, if any.
    pub resp: Option<Resp>,
    /// The operator's endpoint, if any.
    pub admin: Option<Admin>,
    /// The health endpoint, if any.
    pub health: Option<Health>,
    /// Where counts are kept.
    pub store: StoreChoice,
    /// Who is told when the store is lost, if anybody is.
    pub alerts: Option<AlertsChoice>,
    /// Whose word about a client's address is taken.
    pub trusted: TrustedProxies,
    /// How many instances share the work; at least 1.
    pub instances: u32,
    /// What stands around the process.
    pub topology: Topology,
    /// What is borne, if the file says so.
    pub budget: Option<Budget>,
    /// Whether refusals are carried out at all.
    pub mode: Mode,
    /// The codes that `guesses` names, in the order of the file.
    pub codes: Vec<Code>,
    /// The keys that the file declares, and those of the files of teams as `team/key`.
    pub(crate) keys: Vec<Part>,
    /// The rules, in the order of the file; every one that matches applies.
    pub rules: Rules,
    /// The rule for requests that no enforced limit looked at. Its matches are empty.
    pub fallback: Option<Rule>,
    /// The header styles of answers, in the order of the file.
    pub headers: Vec<HeaderStyle>,
    /// The body of a refusal.
    pub problem: ProblemTemplate,
    /// The names of keys outside the process, if the file names a secret; else the process has to draw one.
    pub identities: Option<Identities>,
    /// What becomes of an encoded slash (`%2F`), an encoded backslash or a backslash in a path.
    pub encoded_slash: EncodedSlash,
    /// The sentences of limits that cannot be read, each with its place: nobody has held them against the numbers.
    pub unread: Vec<Problem>,
    /// The sentences that are nominally right and may be taken for more, each with the figure.
    pub misleading: Vec<Problem>,
    /// Where another program keeps its counts by the file that it is, while it says nothing of where Tidegate does.
    pub store_elsewhere: Option<Problem>,
    /// The names of the files it was read from, by the number in a place.
    pub(crate) file_names: Vec<String>,
    /// Those of them that are another program's.
    pub(crate) foreign: BTreeMap<u16, Foreign>,
}

impl Policy {
    /// Returns the name of the file a place is in, as it was given.
    pub fn file_of(&self, place: Place) -> &str {
        self.file_names.get(usize::from(place.file)).map_or("", String::as_str)
    }

    /// Returns whose file a place is in, if that is another program's, in which nothing of a policy can be written.
    pub fn foreign_at(&self, place: Place) -> Option<Foreign> {
        self.foreign.get(&place.file).copied()
    }

    /// Returns the names that ready-made keys go by: those of declared keys, and of what limits look at besides, to count
    /// on it, for a cost or for a plan. A `first_of` stands there by its alternatives.
    pub fn sources(&self) -> BTreeSet<&str> {
        let mut declared = Vec::new();
        self.keys.iter().for_each(|part| part.sources(&mut declared));
        self.limits().flat_map(Limit::sources).chain(declared).collect()
    }

    /// Returns the names that [`Policy::show_keys`] may give: those of declared keys, and of what limits count on besides.
    pub fn key_names(&self) -> BTreeSet<&str> {
        let declared = self.keys.iter().map(|part| part.name.as_str());
        self.limits().flat_map(|limit| limit.key.names()).chain(declared).collect()
    }

    /// Reads every declared key for people, whether a limit counts on it or not.
    pub fn show_keys<'p>(
        &'p self,
        facts: &Facts<'_>,
    ) -> impl Iterator<Item = Result<KeyPart<'p>, Ambiguous>> {
        self.keys.iter().map(|part| part.show(facts))
    }

    /// Returns every limit, those of the fallback last.
    pub fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.rules.iter().chain(&self.fallback).flat_map(|rule| &rule.limits)
    }

    /// Returns every face by its name in the file, with where it listens if it is there.
    pub fn listens(&self) -> [(&'static str, Option<SocketAddr>); 6] {
        [
            ("gateway", self.gateway.as_ref().map(|face| face.listen)),
            ("api", self.api.as_ref().map(|face| face.listen)),
            ("envoy", self.envoy.as_ref().map(|face| face.listen)),
            ("resp", self.resp.as_ref().map(|face| face.listen)),
            ("admin", self.admin.as_ref().map(|face| face.listen)),
            ("health", self.health.as_ref().map(|face| face.listen)),
        ]
    }

    /// Returns the faces that may demand a token by their names in the file, each with the file that holds it.
    pub fn token_files(&self) -> [(&'static str, Option<&PathBuf>); 4] {
        [
            ("api", self.api.as_ref().and_then(|face| face.token_file.as_ref())),
            ("envoy", self.envoy.as_ref().and_then(|face| face.token_file.as_ref())),
            ("resp", self.resp.as_ref().and_then(|face| face.token_file.as_ref())),
            ("admin", self.admin.as_ref().and_then(|face| face.token_file.as_ref())),
        ]
    }

    /// Returns the files that the policy names and that whoever serves it opens: certificates and tokens.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let tls = self.gateway.as_ref().and_then(|face| face.tls.as_ref());
        let tls = tls.into_iter().flat_map(|files| [&files.certificate, &files.key]);
        let tokens = self.token_files().into_iter().filter_map(|(_, file)| file);
        tls.chain(tokens).chain(self.store.files())
    }

    /// Returns the same files, for whoever knows the folder that their paths are meant from.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let tls = self.gateway.as_mut().and_then(|face| face.tls.as_mut());
        let tls = tls.into_iter().flat_map(|files| [&mut files.certificate, &mut files.key]);
        let api = self.api.as_mut().and_then(|face| face.token_file.as_mut());
        let admin = self.admin.as_mut().and_then(|face| face.token_file.as_mut());
        let envoy = self.envoy.as_mut().and_then(|face| face.token_file.as_mut());
        let resp = self.resp.as_mut().and_then(|face| face.token_file.as_mut());
        tls.chain(api).chain(envoy).chain(resp).chain(admin).chain(self.store.files_mut())
    }
}

/// Whether refusals are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// They are.
    Enforce,
    /// They are counted and reported only.
    Shadow,
}

/// What becomes of a path with an encoded slash or any backslash, which some servers take for a separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EncodedSlash {
    /// The request is refused with 400.
    Refuse,
    /// It is an ordinary character of its segment, never a separator.
    Keep,
}
