//! What a rule applies to: methods, hosts and paths, compared with a request.
//!
//! Unlike a router, which picks one route, every rule is asked, and every one that matches applies. A pattern is
//! compared segment by segment with the normalised path of `path`.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use std::fmt;

use ipnet::IpNet;
use smallvec::SmallVec;

use crate::descriptor::DescriptorPattern;
use crate::path::Normal;
use crate::request::Seen;

/// The value of a path's parameters, by name.
pub(crate) type Params<'a> = SmallVec<[(&'a str, &'a str); 4]>;

/// What a matcher finds: the pattern, if it has any, and the path's parameters.
pub(crate) type Found<'a> = (Option<&'a Pattern>, Params<'a>);

/// A kind of condition, in the order in which they are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Condition {
    /// The method.
    Method,
    /// The host.
    Host,
    /// The path.
    Path,
    /// Whether it is one of Envoy's descriptors, and which.
    Descriptor,
}

/// Conditions that all have to hold; an empty list holds always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher {
    /// Methods in upper case; `GET` stands for `HEAD` as well, since servers answer it with the same handler.
    pub methods: Vec<String>,
    /// Paths, any of them.
    pub paths: Vec<Pattern>,
    /// Hosts, any of them.
    pub hosts: Vec<HostPattern>,
    /// Whether the loose reading of the path is compared: case and `;parameters` ignored.
    pub loose: bool,
    /// Whether a trailing slash makes another path.
    pub strict_slash: bool,
    /// What one of Envoy's descriptors has to be. With it a matcher finds descriptors alone, without it requests alone.
    pub descriptor: Option<DescriptorPattern>,
}

/// What a rule leaves out: conditions that all have to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Except {
    /// Networks of the client's address, any of them; holds always when empty.
    pub clients: Vec<IpNet>,
    /// Method, host and path.
    pub matcher: Matcher,
}

/// A path pattern: literals, `{name}` for one segment, `/**` at the end for anything below (and the path itself).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    pub(crate) text: String,
    pub(crate) segments: Vec<Segment>,
    pub(crate) open: bool,
    pub(crate) trailing_slash: bool,
}

/// One segment of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Normalised, and in its loose reading.
    Literal { strict: String, loose: String },
    /// A parameter's name.
    Param(String),
}

/// A host: exact, or everything below a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// The host, in lower case, without port and trailing dot; an IPv6 address in its shortest form.
    Exact(String),
    /// What ends in this text, which begins with a dot.
    Below(String),
}

impl Pattern {
    /// Returns the pattern as the file writes it: the route template.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether some segment is spelled out.
    pub(crate) fn has_literals(&self) -> bool {
        self.segments.iter().any(|segment| matches!(segment, Segment::Literal { .. }))
    }

    /// Returns the names of the parameters, in order.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Param(name) => Some(name.as_str()),
            Segment::Literal { .. } => None,
        })
    }

    /// Returns whether the pattern matches, and appends its parameters as written in the request.
    fn captures<'a>(&'a self, path: &'a Normal<'_>, loose: bool, params: &mut Params<'a>) -> bool {
        if !self.matches(path, loose) {
            return false;
        }
        for (index, segment) in self.segments.iter().enumerate() {
            if let Segment::Param(name) = segment {
                let value = path.reading(false).segment(index);
                // In the loose reading `1;a` and `1;b` are one value, or each spelling would be a fresh key.
                let end = if loose { value.find(';').unwrap_or(value.len()) } else { value.len() };
                params.push((name, value.get(..end).unwrap_or(value)));
            }
        }
        true
    }

    /// Returns whether the pattern matches. Segments are compared from the last one, where paths differ most.
    pub(crate) fn matches(&self, path: &Normal<'_>, loose: bool) -> bool {
        let found = path.reading(loose);
        let count = self.segments.len();
        if found.len() < count || (found.len() > count && !self.open) {
            return false;
        }
        self.segments.iter().enumerate().rev().all(|(index, segment)| match segment {
            Segment::Param(_) => true,
            Segment::Literal { loose: literal, .. } if loose => literal == found.segment(index),
            Segment::Literal { strict, .. } => strict == found.segment(index),
        })
    }
}

impl HostPattern {
    fn matches(&self, host: &str) -> bool {
        match self {
            Self::Exact(name) => name.eq_ignore_ascii_case(host),
            Self::Below(suffix) => {
                let at = host.len().checked_sub(suffix.len()).filter(|at| *at > 0);
                at.and_then(|at| host.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
            }
        }
    }
}

/// Returns a host without its port and trailing dots, an IPv6 address in its shortest form: servers take every
/// spelling of one for the same host.
pub(crate) fn bare_host(host: &str) -> Cow<'_, str> {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        let parsed = address.parse::<Ipv6Addr>();
        return parsed.map_or(Cow::Borrowed(address), |parsed| Cow::Owned(parsed.to_string()));
    }
    let name = host.split(':').next().unwrap_or(host);
    Cow::Borrowed(name.trim_end_matches('.'))
}

impl Matcher {
    /// The matcher of every request.
    pub const ANY: Self = Self {
        methods: Vec::new(),
        paths: Vec::new(),
        hosts: Vec::new(),
        loose: false,
        strict_slash: false,
        descriptor: None,
    };

    /// Returns the pattern that matched (if the matcher has any) and its parameters, or `None`.
    pub(crate) fn find<'a>(&'a self, seen: &'a Seen<'_>) -> Option<Found<'a>> {
        self.compare(seen).ok()
    }

    /// Returns the pattern that matched (if the matcher has any) and its parameters.
    ///
    /// # Errors
    /// With the first condition that does not hold.
    pub(crate) fn compare<'a>(&'a self, seen: &'a Seen<'_>) -> Result<Found<'a>, Condition> {
        let fits = match (&self.descriptor, seen.descriptor()) {
            (Some(pattern), Some(descriptor)) => pattern.matches(descriptor),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !fits {
            return Err(Condition::Descriptor);
        }
        if !self.method_matches(seen.request().method) {
            return Err(Condition::Method);
        }
        if !self.host_matches(seen.request().host) {
            return Err(Condition::Host);
        }
        let mut params = Params::new();
        if self.paths.is_empty() {
            return Ok((None, params));
        }
        for pattern in &self.paths {
            params.clear();
            if self.path_matches(pattern, seen.normal(), &mut params) {
                return Ok((Some(pattern), params));
            }
        }
        Err(Condition::Path)
    }

    fn method_matches(&self, method: &str) -> bool {
        let named = |name: &String| {
            name.eq_ignore_ascii_case(method) || (name == "GET" && method.eq_ignore_ascii_case("HEAD"))
        };
        self.methods.is_empty() || self.methods.iter().any(named)
    }

    fn host_matches(&self, host: Option<&str>) -> bool {
        if self.hosts.is_empty() {
            return true;
        }
        let host = bare_host(host.unwrap_or_default());
        self.hosts.iter().any(|pattern| pattern.matches(&host))
    }

    fn path_matches<'a>(&self, pattern: &'a Pattern, path: &'a Normal<'_>, params: &mut Params<'a>) -> bool {
        let slash = !self.strict_slash || pattern.open || pattern.trailing_slash == path.trailing_slash;
        slash && pattern.captures(path, self.loose, params)
    }
}

impl Except {
    /// Returns whether the request is left out.
    ///
    /// A path has to match in both readings: an exception must not be reached by a spelling that the server
    /// behind us takes for something else.
    pub(crate) fn covers(&self, seen: &Seen<'_>) -> bool {
        let client = seen.client().map(|client| client.address);
        let network = self.clients.is_empty()
            || client.is_some_and(|address| self.clients.iter().any(|net| net.contains(&address)));
        // Of a descriptor nothing is left out but by its client: there is no method, host or path to compare.
        let fits = self.matcher == Matcher::ANY || self.matcher.find(seen).is_some();
        network && fits && self.loosely_found(seen)
    }

    /// Returns whether a path matches in the loose reading, or none is asked for.
    fn loosely_found(&self, seen: &Seen<'_>) -> bool {
        let paths = &self.matcher.paths;
        paths.is_empty() || paths.iter().any(|pattern| pattern.matches(seen.normal(), true))
    }
}

impl fmt::Display for Pattern {
    /// Writes the pattern as the file does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for HostPattern {
    /// Writes the host, what is below a domain with a star.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => f.write_str(name),
            Self::Below(suffix) => write!(f, "*{suffix}"),
        }
    }
}

impl fmt::Display for Matcher {
    /// Writes the conditions: `method POST, host api.example.com, path /otp/verify`. How a path is compared is written
    /// where it is not the usual.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.descriptor.as_ref().map(ToString::to_string));
        if !self.methods.is_empty() {
            parts.push(format!("method {}", joined(&self.methods)));
        }
        if !self.hosts.is_empty() {
            parts.push(format!("host {}", joined(&self.hosts)));
        }
        if !self.paths.is_empty() {
            parts.push(format!("path {}", joined(&self.paths)));
        }
        f.write_str(&parts.join(", "))?;
        if self.strict_slash {
            f.write_str(" (trailing slash kept)")?;
        }
        f.write_str(if self.loose { " (case ignored)" } else { "" })
    }
}

impl fmt::Display for Except {
    /// Writes the conditions: `client 192.0.2.0/24, path /healthz`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.clients.is_empty() {
            parts.push(format!("client {}", joined(&self.clients)));
        }
        let matcher = self.matcher.to_string();
        if !matcher.is_empty() {
            parts.push(matcher);
        }
        f.write_str(&parts.join(", "))
    }
}

/// Writes alternatives, with commas between them.
pub(crate) fn joined<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
