//! Which Redis a Spring service keeps its counts in: that is not read, and whoever serves the file has to hear of it.

use super::members::plain;
use crate::file::{Node, Value};
use crate::problem::{Place, Problem};

/// Where Spring has it; the second is that of older releases.
const PLACES: [&str; 2] = ["spring.data.redis.", "spring.redis."];
/// The deepest name that is looked at; those in question have five parts.
const DEPTH: usize = 8;

/// What the file says of its Redis, by names without what their spellings differ in.
struct Redis<'n> {
    place: Place,
    members: Vec<(String, &'n str)>,
}

/// Returns what to tell of a file whose service keeps its counts in a Redis, where Tidegate is given none.
pub(super) fn unread(root: &Node) -> Option<Problem> {
    let redis = Redis::of(root)?;
    let url = redis.url();
    let mut remedy = format!(
        "write `store: {{ redis: {{ url: \"{url}\" }} }}` and `key_secret_file: keys.secret` beside it"
    );
    if redis.member("password").is_some() || redis.member("url").is_some_and(|url| url.contains('@')) {
        remedy.push_str(", the password as `password_file` in `redis`");
    }
    let message = "what `spring` says of Redis is not read, and counts are kept in memory, apart from those of the \
                   service's other instances";
    Some(Problem { place: redis.place, message: message.to_owned(), remedy })
}

impl<'n> Redis<'n> {
    fn of(root: &'n Node) -> Option<Self> {
        let mut leaves = Vec::new();
        flatten(root, "", DEPTH, &mut leaves);
        let inside = |name: &str| PLACES.iter().find_map(|place| name.strip_prefix(place).map(str::to_owned));
        let mut found =
            leaves.into_iter().filter_map(|(name, place, text)| Some((inside(&name)?, place, text)));
        let (first, place, text) = found.next()?;
        let mut members = vec![(first, text)];
        members.extend(found.map(|(name, _, text)| (name, text)));
        Some(Self { place, members })
    }

    fn member(&self, name: &str) -> Option<&'n str> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, text)| *text)
    }

    fn has(&self, group: &str) -> bool {
        self.members.iter().any(|(member, _)| member.starts_with(group))
    }

    /// Returns the address as Tidegate has it. What Spring fills in itself is for whoever reads this to fill in.
    fn url(&self) -> String {
        if self.has("cluster.") {
            return "redis+cluster://HOST:PORT,HOST:PORT".to_owned();
        }
        if self.has("sentinel.") {
            return "redis+sentinel://HOST:PORT,HOST:PORT/NAME".to_owned();
        }
        let is_on = |name: &str| self.member(name).is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let tls = if is_on("ssl") || is_on("ssl.enabled") { "s" } else { "" };
        if let Some(url) = self.member("url") {
            return without_user(url).unwrap_or_else(|| format!("redis{tls}://HOST:PORT"));
        }
        let host = self.member("host").unwrap_or("localhost");
        let host = if host.is_empty() || !host.chars().all(is_of_host) { "HOST" } else { host };
        let number = |name: &str| self.member(name).filter(|text| text.parse::<u16>().is_ok());
        let port = if self.member("port").is_some() { number("port").unwrap_or("PORT") } else { "6379" };
        let database = number("database").filter(|number| *number != "0").map(|number| format!("/{number}"));
        format!("redis{tls}://{host}:{port}{}", database.unwrap_or_default())
    }
}

/// Returns an address without who asks there, which is no matter of a policy file.
fn without_user(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let is_plain = rest.chars().all(|letter| is_of_host(letter) || letter == '/') && !rest.is_empty();
    (matches!(scheme, "redis" | "rediss") && is_plain).then(|| format!("{scheme}://{rest}"))
}

fn is_of_host(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':' | '[' | ']')
}

/// Collects single values by their whole names, however they are spread over mappings and dots.
fn flatten<'n>(node: &'n Node, above: &str, depth: usize, leaves: &mut Vec<(String, Place, &'n str)>) {
    let Value::Map(entries) = &node.value else { return };
    for entry in entries {
        let own: Vec<String> = entry.key.split('.').map(plain).collect();
        let name = format!("{above}{}", own.join("."));
        // Nothing else of the file is anybody's business here.
        if !name.starts_with("spring") {
            continue;
        }
        match (&entry.value.value, depth.checked_sub(1)) {
            (Value::Map(_), Some(depth)) => flatten(&entry.value, &format!("{name}."), depth, leaves),
            // A list of nodes says that there are some.
            (Value::List(_), _) => leaves.push((format!("{name}."), entry.place, "")),
            _ => leaves.push((name, entry.place, entry.value.scalar().unwrap_or_default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unread;
    use crate::file::{Report, load};

    fn url(text: &str) -> String {
        let root = load(text, 0, &mut Report::default()).unwrap();
        let Some(told) = unread(&root) else { return "nothing".to_owned() };
        told.remedy.split('"').nth(1).unwrap().to_owned()
    }

    /// Guards the line that is to be added against another Redis than the one that the service counts in.
    #[test]
    fn the_redis_that_a_spring_service_names_is_the_one_to_write() {
        for (text, expected) in [
            ("spring: { data: { redis: { host: cache, port: 6380 } } }", "redis://cache:6380"),
            ("spring: { redis: { host: cache } }", "redis://cache:6379"),
            ("spring.data.redis.port: 7000", "redis://localhost:7000"),
            ("spring: { data.redis: { host: h, database: 3, ssl: { enabled: true } } }", "rediss://h:6379/3"),
            ("spring: { data: { redis: { host: \"${REDIS:localhost}\" } } }", "redis://HOST:6379"),
            ("spring: { data: { redis: { url: \"redis://me:secret@cache:6379\" } } }", "redis://cache:6379"),
            ("spring: { data: { redis: { url: \"${REDIS_URL}\" } } }", "redis://HOST:PORT"),
            (
                "spring: { data: { redis: { cluster: { nodes: [a:1, b:2] } } } }",
                "redis+cluster://HOST:PORT,HOST:PORT",
            ),
            ("spring: { redis: { sentinel: { master: m } } }", "redis+sentinel://HOST:PORT,HOST:PORT/NAME"),
            ("spring: { application: { name: shop } }\nserver: { port: 80 }", "nothing"),
        ] {
            assert_eq!(url(text), expected, "{text}");
        }
    }
}
