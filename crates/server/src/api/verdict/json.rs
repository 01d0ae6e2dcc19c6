//! A verdict written down in JSON, as the answer to every check: each member behind its name as it stands here, where a
//! serialiser would look at every letter of every name for what has to be escaped, and take along what is flattened by a map.
//!
//! A test holds it against what the serialiser writes.

use serde::Serialize;

use super::{Checked, Decided};

/// The room that most verdicts need, with two limits.
const USUAL_BYTES: usize = 1_536;

/// Writes members of a value behind their names.
macro_rules! members {
    ($json:ident, $of:expr, $($name:ident),+) => {
        $($json.member(concat!("\"", stringify!($name), "\":"), &$of.$name);)+
    };
}

impl Checked<'_> {
    /// Writes the verdict.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut json = Json(Vec::with_capacity(USUAL_BYTES));
        json.object(|json| {
            members!(json, self, allowed, ruling, degraded, delay_ms, delay_micros);
            members!(json, self.wait, retry_after_seconds, retry_after_micros, never);
            members!(json, self, denial, limit, explain);
            json.next("\"decisions\":[");
            for decision in &self.decisions {
                json.next("");
                json.object(|json| decision.write(json));
            }
            json.0.push(b']');
            members!(json, self, skipped, headers, receipt);
        });
        json.0
    }
}

impl Decided<'_> {
    fn write(&self, json: &mut Json) {
        members!(json, self, limit, says, allowed, shadow, counts, plan, capacity, remaining);
        members!(json, self, next_unit_micros, reset_micros, delay_micros);
        members!(json, self.wait, retry_after_seconds, retry_after_micros, never);
    }
}

/// What has been written.
struct Json(Vec<u8>);

impl Json {
    fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.0.push(b'{');
        members(self);
        self.0.push(b'}');
    }

    /// Writes the beginning of a member or an item, apart from the one before.
    fn next(&mut self, start: &'static str) {
        if !matches!(self.0.last(), Some(b'{' | b'[')) {
            self.0.push(b',');
        }
        self.0.extend_from_slice(start.as_bytes());
    }

    fn member(&mut self, name: &'static str, value: &impl Serialize) {
        self.next(name);
        if let Err(error) = serde_json::to_writer(&mut self.0, value) {
            // Memory takes all that is written, and every name is a text.
            tracing::error!(%error, name, "a verdict could not be written down");
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use tidegate::policy_file::{Request, parse_embedded};
    use tidegate::{CheckOptions, Limiter, Span};

    use super::super::Checked;

    const POLICY: &str = "
tidegate: 1
keys: { user: { header: x-user } }
rules:
  - name: pages
    match: { path: /pages }
    limits:
      - { name: all, says: Two in any hour for everyone together., key: global, sliding_log: { limit: 2, window: 1h } }
      - { name: user, says: One in any hour per user., key: user, mode: shadow, sliding_log: { limit: 1, window: 1h } }
  - name: queue
    match: { path: /queue }
    limits:
      - { name: all, says: One a minute for everyone together., key: global, leaky_bucket: { rate: 1 per 1m, queue: 3 } }
  - name: closed
    match: { path: /closed }
    refuse: { status: 403, because: Nobody gets in here. }
";

    /// Guards against a member that one of the two ways to write leaves out, names otherwise or puts elsewhere.
    #[tokio::test]
    async fn a_verdict_is_written_as_the_serialiser_would() {
        let limiter = Limiter::from_policy(parse_embedded("test.yaml", POLICY).unwrap()).unwrap();
        let mut headers = HeaderMap::new();
        let mut written = Vec::new();
        for (path, user) in [
            ("/pages", None),
            ("/pages", Some("ada")),
            ("/pages", Some("a\"da")),
            ("/queue", None),
            ("/queue", None),
            ("/closed", None),
            ("/%zz", None),
            ("/none", None),
        ] {
            headers.clear();
            headers.extend(user.map(|user| (http::HeaderName::from_static("x-user"), user.parse().unwrap())));
            let (method, headers) = ("GET", &headers);
            let request = Request { method, host: None, path, query: None, headers, peer: None, body: None };
            let options = CheckOptions { max_delay: Span::from_secs(600), ..CheckOptions::default() };
            let verdict = limiter.check_with(&request, None, options).await;
            let policy = limiter.policy().unwrap();
            for receipt in [None, Some("0".repeat(32))] {
                let checked = Checked::new(&verdict, &policy.headers, receipt);
                let json = String::from_utf8(checked.write()).unwrap();
                assert_eq!(json, serde_json::to_string(&checked).unwrap());
                written.push(json);
            }
        }
        let seen = [
            "\"refuse\"",
            "\"denied\"",
            "\"bad_request\"",
            "\"delay_ms\":60000",
            "\"skipped\":[\"pages/user\"]",
        ];
        for what in seen {
            assert!(written.iter().any(|json| json.contains(what)), "{what}: {written:?}");
        }
    }
}
