//! How a target is asked, read from the arguments.

use std::path::Path;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tidegate::Quota;
use tidegate_loadtest::target::{Address, Calls, RedisPlace, Requests, Target};
use tidegate_loadtest::template::Template;
use tidegate_policy::parse_quota;
use tidegate_store::{MemoryOptions, MemoryStore};
use tidegate_trials::Place;

use crate::args::LoadArgs;
use crate::exit::Failure;
use crate::input::read_text;

const LIMIT: &str = "token_bucket: {capacity: 100, refill: 100 per 1s}";
const QUESTION: &str = r#"{"path":"/","client":"{address}"}"#;
const CHECK: &str = "/v1/check";
/// Fields that limiters read addresses from.
const OF_ADDRESSES: [&str; 4] = ["x-forwarded-for", "x-real-ip", "cf-connecting-ip", "true-client-ip"];
/// A store in memory is to hold every key of a flood that a test lasts for.
const ROOM: MemoryOptions = MemoryOptions { max_keys: 50_000_000, max_bytes: 4 << 30 };

/// Reads the target.
///
/// # Errors
/// When it is none, or what it is asked cannot be sent.
pub(super) fn target(args: &LoadArgs) -> Result<Target, Failure> {
    let address = Address::read(&args.target, args.i_own_this.as_deref()).map_err(Failure::unusable)?;
    unheeded(args, &address)?;
    Ok(match address {
        Address::Gateway(place, path) => Target::Gateway(gateway(args, place, &path)?),
        Address::Api(place) => Target::Api(api(args, place)?),
        Address::Envoy(place) => Target::Envoy(envoy(args, place)?),
        Address::Memory => {
            let store = MemoryStore::new(ROOM).map_err(Failure::failed)?;
            Target::Memory(Arc::new(store), quota(args)?)
        }
        Address::Redis(place) => {
            let at = place.address();
            Target::Redis(RedisPlace { place, host: at.ip().to_string(), port: at.port() }, quota(args)?)
        }
    })
}

/// Refuses what is said of another kind of target: it would change nothing, and seem to.
fn unheeded(args: &LoadArgs, address: &Address) -> Result<(), Failure> {
    let ask = &args.ask;
    let is_store = matches!(address, Address::Memory | Address::Redis(_));
    let (is_gateway, is_api, is_envoy) = (
        matches!(address, Address::Gateway(..)),
        matches!(address, Address::Api(_)),
        matches!(address, Address::Envoy(_)),
    );
    let given = [
        ("--method", ask.method.is_some(), is_gateway),
        ("--header", !ask.header.is_empty(), is_gateway || is_api),
        ("--key-header", ask.key_header.is_some(), is_gateway),
        ("--body", ask.body.is_some(), is_gateway),
        ("--question", ask.question.is_some(), is_api),
        ("--domain", ask.domain.is_some(), is_envoy),
        ("--descriptor", !ask.descriptor.is_empty(), is_envoy),
        ("--token-file", ask.token_file.is_some(), is_api || is_envoy),
        ("--limit", ask.limit.is_some(), is_store),
    ];
    match given.iter().find(|(_, is_given, is_heeded)| *is_given && !is_heeded) {
        Some((option, ..)) => {
            let about = format!("{option} says nothing about {}", args.target);
            Err(Failure::unusable(about)
                .advise("leave it out; `tidegate loadtest --help` says what each is for"))
        }
        None => Ok(()),
    }
}

fn gateway(args: &LoadArgs, place: Place, path: &str) -> Result<Requests, Failure> {
    let ask = &args.ask;
    let key_header = ask.key_header.as_deref().map(key_header).transpose()?;
    let (path, body) = (Template::new(path), ask.body.as_deref().map(Template::new));
    let is_told =
        key_header.is_some() || path.tells_apart() || body.as_ref().is_some_and(Template::tells_apart);
    let by_address = !is_told;
    let has_sources = place.address().is_ipv4() && place.address().ip().is_loopback();
    if by_address && !has_sources {
        let about = format!("{}: all users would be one: this machine has one address there", args.target);
        return Err(Failure::unusable(about)
            .advise("tell them apart by --key-header NAME, or by {key} in the path or --body"));
    }
    let unsaid = if body.is_some() { "POST" } else { "GET" };
    let method = ask.method.as_deref().unwrap_or(unsaid);
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| {
        Failure::unusable(format!("--method {method}: it is no method; write GET or POST, say"))
    })?;
    Ok(Requests { place, method, path, headers: headers(&ask.header)?, key_header, body, by_address })
}

fn api(args: &LoadArgs, place: Place) -> Result<Requests, Failure> {
    let ask = &args.ask;
    let mut headers = headers(&ask.header)?;
    if let Some(path) = &ask.token_file {
        headers.insert(AUTHORIZATION, bearer(path)?);
    }
    let question = ask.question.as_deref().unwrap_or(QUESTION);
    // Filled in or not, it is JSON.
    serde_json::from_str::<serde_json::Value>(question).map_err(|error| {
        Failure::unusable(format!("--question is no JSON: {error}")).advise(format!("write {QUESTION}, say"))
    })?;
    let body = Template::new(question);
    if !body.tells_apart() {
        let about = "--question: all users would be one";
        return Err(Failure::unusable(about).advise("let it hold {key} or {address}"));
    }
    Ok(Requests {
        place,
        method: Method::POST,
        path: Template::new(CHECK),
        headers,
        key_header: None,
        body: Some(body),
        by_address: false,
    })
}

fn envoy(args: &LoadArgs, place: Place) -> Result<Calls, Failure> {
    let ask = &args.ask;
    let domain = ask.domain.clone().filter(|domain| !domain.is_empty()).ok_or_else(|| {
        let about = format!("{}: a call names a domain", args.target);
        Failure::unusable(about).advise("give --domain as the policy's rules have it, such as --domain shop")
    })?;
    let unsaid = ["remote_address={address}".to_owned()];
    let descriptors = if ask.descriptor.is_empty() { &unsaid[..] } else { &ask.descriptor[..] };
    let descriptors = descriptors.iter().map(|text| descriptor(text)).collect::<Result<Vec<_>, _>>()?;
    if !descriptors.iter().flatten().any(|(_, value)| value.tells_apart()) {
        let about = "--descriptor: all users would be one";
        return Err(Failure::unusable(about).advise("let a value hold {key} or {address}"));
    }
    let token = ask.token_file.as_deref().map(bearer).transpose()?;
    Ok(Calls { place, domain, descriptors, token })
}

fn descriptor(text: &str) -> Result<Vec<(String, Template)>, Failure> {
    let entry = |entry: &str| {
        let (key, value) = entry.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
            let about = format!("--descriptor {text}: an entry is a key and a value");
            Failure::unusable(about)
                .advise("write KEY=VALUE, such as path=/checkout,remote_address={address}")
        })?;
        Ok((key.to_owned(), Template::new(value)))
    };
    text.split(',').map(entry).collect()
}

fn quota(args: &LoadArgs) -> Result<Quota, Failure> {
    let text = args.ask.limit.as_deref().unwrap_or(LIMIT);
    parse_quota("--limit", text).map(|(quota, _)| quota).map_err(Failure::unusable)
}

fn headers(lines: &[String]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let wrong = || {
            Failure::unusable(format!("--header {line}: it is no field"))
                .advise("write NAME: VALUE, such as 'Accept: text/html'")
        };
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
        let value: HeaderValue = value.trim().parse().map_err(|_| wrong())?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn key_header(text: &str) -> Result<(HeaderName, Template), Failure> {
    let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value.trim())));
    let wrong = |advice: &str| {
        Failure::unusable(format!("--key-header {text}: it tells nobody apart")).advise(advice)
    };
    let name: HeaderName =
        name.trim().parse().map_err(|_| wrong("write a field's name, such as X-Api-Key"))?;
    let unsaid = if OF_ADDRESSES.contains(&name.as_str()) { "{address}" } else { "{key}" };
    let value = Template::new(value.unwrap_or(unsaid));
    if !value.tells_apart() {
        return Err(wrong("let its value hold {key} or {address}, or write the name alone"));
    }
    Ok((name, value))
}

/// Reads a token from its file.
///
/// # Errors
/// When it cannot be read.
pub(super) fn token(path: &Path) -> Result<String, Failure> {
    Ok(read_text(path, "a token")?.trim().to_owned())
}

fn bearer(path: &Path) -> Result<HeaderValue, Failure> {
    let value = HeaderValue::from_str(&format!("Bearer {}", token(path)?));
    value.map_err(|_| Failure::unusable(format!("{}: it is no token", path.display())))
}
