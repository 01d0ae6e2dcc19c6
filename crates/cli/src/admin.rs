//! Asking the operator's endpoint of a running process.

use std::env;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::args::{ADMIN, AdminArgs, place_of};
use crate::exit::Failure;
use crate::input::{Source, read_text};
use crate::key_words::{Part, Style, advised};

/// The variable that says where the endpoint is, where no argument does.
const VARIABLE: &str = "TIDEGATE_ADMIN";
/// How long an answer may take: the store's deadline and more.
const PATIENCE: Duration = Duration::from_secs(15);
/// So many bytes of an answer are read: an endpoint that is another must not fill the memory.
const MOST_BYTES: usize = 8 << 20;

/// The operator's endpoint, and what it demands; without `Debug`, since that is a secret.
pub(crate) struct Admin {
    at: String,
    token: Option<String>,
}

/// An answer: its status, and what it says.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Admin {
    /// Takes the endpoint that the arguments name, or that a policy file says, or the usual one.
    ///
    /// # Errors
    /// When a token file or the policy cannot be used, or the policy has no such endpoint.
    pub(crate) fn of(args: &AdminArgs, policy: Option<&Source>) -> Result<Self, Failure> {
        let mut args = args.clone();
        if let Some(source) = policy {
            let policy = source.load().map_err(Failure::unusable)?.policy;
            let face = policy.admin.as_ref().ok_or_else(|| {
                let about = format!("{} has no operator's endpoint", source.name());
                Failure::unusable(about).advise("add `admin: { listen: 127.0.0.1:8083 }` to it")
            })?;
            let mut listens = face.listen;
            if listens.ip().is_unspecified() {
                let loopback = if listens.is_ipv4() {
                    [127, 0, 0, 1].into()
                } else {
                    std::net::Ipv6Addr::LOCALHOST.into()
                };
                listens.set_ip(loopback);
            }
            args.admin = format!("http://{listens}").parse().ok();
            args.token_file.clone_from(&face.token_file);
        }
        let at = match args.admin {
            Some(uri) => uri,
            None => usual()?,
        };
        let token = args.token_file.map(|path| read_text(&path, "a token")).transpose()?;
        let token = token.map(|token| token.trim().to_owned());
        Ok(Self { at: at.to_string().trim_end_matches('/').to_owned(), token })
    }

    /// Asks, and reads the answer.
    ///
    /// # Errors
    /// When there is none, or one that is none of the endpoint's.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        call: Option<&Value>,
    ) -> Result<Answer, Failure> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.at));
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if call.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = call.map(ToString::to_string).unwrap_or_default();
        let request = request.body(Full::new(body.into_bytes().into()));
        let request: Request<Full<hyper::body::Bytes>> = request.map_err(|error| self.failed(&error))?;
        let answer = async {
            let client = Client::builder(TokioExecutor::new()).build_http();
            let response = client.request(request).await.map_err(|error| self.failed(&root(&error)))?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), MOST_BYTES).collect().await;
            Ok((status, body.map_err(|error| self.failed(&error))?.to_bytes()))
        };
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        let (status, body) = answer.unwrap_or_else(|_| Err(self.failed(&"it does not answer in time")))?;
        let body = serde_json::from_slice(&body);
        let body =
            body.map_err(|_| self.failed(&"what answers there is no operator's endpoint of Tidegate"))?;
        Ok(Answer { status, body })
    }

    fn failed(&self, why: &dyn std::fmt::Display) -> Failure {
        let advice =
            "`--admin URL` says where the policy's `admin` listens, `--token-file FILE` what it demands";
        Failure::failed(format!("{}: {why}", self.at)).advise(advice)
    }
}

impl Answer {
    /// Returns what was answered.
    ///
    /// # Errors
    /// With what the endpoint says is wrong: a call that cannot be, something that is not there, a store that is lost.
    pub(crate) fn found(self) -> Result<Value, Failure> {
        let detail = || match self.body["detail"].as_str() {
            Some(detail) => without_member(detail, &self.body["member"]).to_owned(),
            None => format!("the endpoint answered {}", self.status),
        };
        match self.status {
            200 => Ok(self.body),
            401 => Err(Failure::unusable(detail())
                .advise("`--token-file FILE` names the file of `admin.token_file`")),
            404 | 422 | 400 | 413 => Err(Failure::unusable(detail())),
            _ => Err(Failure::failed(detail())),
        }
    }
}

impl Answer {
    /// Returns what was answered to a call about a key.
    ///
    /// # Errors
    /// As [`Answer::found`], with how to write the key where that is at fault.
    pub(crate) fn found_key(self, words: &[String], style: Style) -> Result<Value, Failure> {
        let parts = self.body["parts"].as_array().into_iter().flatten().map(part);
        let parts: Vec<Part> = parts.collect();
        let is_bare = self.body["member"] == "key" && parts.len() > 1;
        let found = self.found().map_err(|failure| {
            if !is_bare {
                return failure;
            }
            let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
            Failure::unusable(format!(
                "the limit counts on several values, each given by its name: {}",
                names.join(", ")
            ))
        });
        found.map_err(|failure| advised(failure, words, &parts, style))
    }
}

/// Reads a part of a key.
fn part(part: &Value) -> Part {
    let values = part["values"].as_array().into_iter().flatten();
    Part {
        name: part["name"].as_str().unwrap_or_default().to_owned(),
        values: values.filter_map(Value::as_str).map(str::to_owned).collect(),
    }
}

/// Returns what is wrong with a key without the member of the call that it stood in, which nobody has written here.
fn without_member<'d>(detail: &'d str, member: &Value) -> &'d str {
    let member = member.as_str().filter(|member| member.starts_with("key"));
    let before = member.map(|member| format!("`{member}`: "));
    before.and_then(|before| detail.strip_prefix(before.as_str())).unwrap_or(detail)
}

/// Returns where the endpoint is if nobody says: where the environment says, or on this machine.
fn usual() -> Result<Uri, Failure> {
    let said = env::var(VARIABLE).ok().filter(|said| !said.is_empty());
    let place = said.as_deref().unwrap_or(ADMIN);
    place_of(place).map_err(|remedy| Failure::unusable(format!("{VARIABLE}=\"{place}\": {remedy}")))
}

/// Returns the innermost reason, which says more than "connect error".
fn root(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
