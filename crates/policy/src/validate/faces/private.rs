//! The faces for programs of the operator's own: they leave loopback only with a token.

use std::net::SocketAddr;
use std::path::PathBuf;

use http::HeaderName;
use tidegate_algorithms::Span;

use super::{Listen, file, listen};
use crate::face::{Admin, Api, Counting, Envoy, ForwardAuth, OnDeny, Resp};
use crate::file::{Fields, Node, Report};
use crate::validate::span_within;

/// Below the 20 ms that Envoy waits unless it is told otherwise, with room for the way there and back.
const ENVOY_TIMEOUT: Span = Span::from_millis(12);

/// The API gives and takes quota.
pub(super) fn api(node: &Node, listens: &mut Vec<Listen>, report: &mut Report) -> Option<Api> {
    let mut fields = Fields::open(node, "api", report)?;
    let forward_auth = fields.get("forward_auth").and_then(|node| forward_auth(node, report));
    let guarded = guarded(fields, "api", listens, report)?;
    let forward_auth = forward_auth.unwrap_or_default();
    Some(Api { listen: guarded.listen, token_file: guarded.token_file, forward_auth })
}

/// The operator's endpoint tells what is limited, and reloads.
pub(super) fn admin(node: &Node, listens: &mut Vec<Listen>, report: &mut Report) -> Option<Admin> {
    let fields = Fields::open(node, "admin", report)?;
    let guarded = guarded(fields, "admin", listens, report)?;
    Some(Admin { listen: guarded.listen, token_file: guarded.token_file })
}

/// Where a face listens, and what it demands.
struct Guarded {
    listen: SocketAddr,
    token_file: Option<PathBuf>,
}

/// Reads what is common to faces that leave loopback only with a token.
fn guarded(
    mut fields: Fields<'_>,
    face: &'static str,
    listens: &mut Vec<Listen>,
    report: &mut Report,
) -> Option<Guarded> {
    let listen = listen(&mut fields, face, listens, report);
    let token_node = fields.get("token_file");
    let token_file = token_node.and_then(|node| file(node, "token_file", report));
    // A token in the file itself is reported, and says what to write.
    let (place, has_token) = (fields.place_of("listen"), fields.has("token"));
    fields.finish(&["tls", "mtls"], report);
    let address = listen?;
    if !address.ip().to_canonical().is_loopback() && token_node.is_none() && !has_token {
        let message = format!("{face} listens on {address}, which is not loopback, without a token");
        report.add(place, message, "write `token_file: …`, or listen on 127.0.0.1");
    }
    Some(Guarded { listen: address, token_file })
}

/// How proxies are answered that ask before they forward.
fn forward_auth(node: &Node, report: &mut Report) -> Option<ForwardAuth> {
    let mut fields = Fields::open(node, "forward_auth", report)?;
    let request_id = fields.get("request_id").and_then(|node| header_name(node, "request_id", report));
    fields.finish(&[], report);
    Some(ForwardAuth { request_id })
}

fn header_name(node: &Node, what: &str, report: &mut Report) -> Option<HeaderName> {
    let text = node.text(what, report)?;
    let name = HeaderName::try_from(text).ok();
    if name.is_none() {
        report.add(
            node.place,
            format!("\"{text}\" is not a header's name"),
            "write one such as x-request-id",
        );
    }
    name
}

/// Envoy's rate-limit service.
pub(super) fn envoy(node: &Node, listens: &mut Vec<Listen>, report: &mut Report) -> Option<Envoy> {
    const ON_DENY: [(OnDeny, &str); 2] =
        [(OnDeny::OverLimit, "over_limit"), (OnDeny::Unavailable, "unavailable")];
    const COUNTING: [(Counting, &str); 2] =
        [(Counting::AllOrNothing, "all_or_nothing"), (Counting::Each, "each")];
    let mut fields = Fields::open(node, "envoy", report)?;
    let on_deny = fields.get("on_deny").and_then(|node| node.choice("on_deny", &ON_DENY, report));
    let counting = fields.get("counting").and_then(|node| node.choice("counting", &COUNTING, report));
    let between = (Span::from_millis(1), Span::from_secs(10));
    let timeout = fields.get("timeout").and_then(|node| span_within(node, "timeout", between, report));
    // Their rules are read with the other rules.
    let _ = fields.get("files");
    let guarded = guarded(fields, "envoy", listens, report)?;
    Some(Envoy {
        listen: guarded.listen,
        token_file: guarded.token_file,
        on_deny: on_deny.unwrap_or(OnDeny::OverLimit),
        timeout: timeout.unwrap_or(ENVOY_TIMEOUT),
        counting: counting.unwrap_or(Counting::AllOrNothing),
    })
}

/// The listener for `CL.THROTTLE`.
pub(super) fn resp(node: &Node, listens: &mut Vec<Listen>, report: &mut Report) -> Option<Resp> {
    let fields = Fields::open(node, "resp", report)?;
    let guarded = guarded(fields, "resp", listens, report)?;
    Some(Resp { listen: guarded.listen, token_file: guarded.token_file })
}
