//! The `rate-limit` section of a service, served as it is over a real Redis that others count in as well.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use tidegate_redis_kit::Server;

use crate::http::{Answer, get};
use crate::page::Page;
use crate::process::{Folder, Running, run, text, tidegate};
use crate::shared;

/// The file of the document that the project began with.
const SEED: &str = "\
rate-limit:
  fallback:
    algorithm: FIXED_COUNTER
    maxRequests: 1000
    windowSize: 60
";

/// A service that answers everybody at once.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut head = BufReader::new(stream.try_clone().unwrap()).lines();
                while head.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
            });
        }
    });
    address
}

/// What stands beside the section so that it can be served.
fn beside(folder: &Folder, redis: &Server) -> String {
    folder.file("keys.secret", "the same on every instance\n");
    format!(
        "gateway: {{ listen: 127.0.0.1:0, upstream: \"http://{}\" }}\nstore: {{ redis: {{ url: \"redis://127.0.0.1:{}\", timeout: 5s }} }}\n\
         key_secret_file: keys.secret\n",
        upstream(),
        redis.port()
    )
}

fn start(folder: &Folder, name: &str, content: &str) -> (Running, SocketAddr) {
    let mut command = tidegate(["serve", "--log", "json"]);
    command.arg(folder.file(name, content));
    let mut running = Running::start(command);
    let gateway = running.address("gateway");
    (running, gateway)
}

/// What `redis-cli` says to some words.
fn cli(redis: &Server, words: &[&str]) -> String {
    let port = redis.port().to_string();
    let output = Command::new("redis-cli").args(["-p", &port]).args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).trim().to_owned()
}

fn number(answer: &Answer, name: &str) -> u64 {
    answer.header(name).unwrap_or_else(|| panic!("no {name}: {answer:?}")).parse().unwrap()
}

/// "The seed's YAML runs with Redis: `redis-cli get` shows the counter and TTL under the documented key, and a second client
/// incrementing the same key by hand is counted."
#[test]
fn the_seeds_yaml_runs_with_redis_and_whoever_else_counts_there_is_counted() {
    let (folder, redis) = (Folder::new("seed-yaml"), shared::server());
    let (_served, gateway) =
        start(&folder, "application.yaml", &format!("{SEED}{}", beside(&folder, &redis)));
    let key = "rate-limit:127.0.0.1:/any/path";
    let first = get(gateway, "/any/path");
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!((number(&first, "x-ratelimit-limit"), number(&first, "x-ratelimit-remaining")), (1_000, 999));
    assert_eq!(first.header("x-ratelimit-reset"), None);
    assert_eq!(cli(&redis, &["get", key]), "1");
    let ttl: u64 = cli(&redis, &["ttl", key]).parse().unwrap();
    assert!((1..=60).contains(&ttl), "{ttl}");
    let ends: u64 = cli(&redis, &["pexpiretime", key]).parse().unwrap();
    let told = number(&first, "x-ratelimit-reseton");
    assert!(told.abs_diff(ends) <= 2, "{told} {ends}");
    // A second client counts by hand.
    assert_eq!(cli(&redis, &["incr", key]), "2");
    let second = get(gateway, "/any/path");
    assert_eq!(number(&second, "x-ratelimit-remaining"), 997);
    assert!(number(&second, "x-ratelimit-reseton").abs_diff(ends) <= 2, "the window ends when it did");
    assert_eq!(cli(&redis, &["incrby", key, "997"]), "1000");
    let refused = get(gateway, "/any/path");
    assert_eq!((refused.status, number(&refused, "x-ratelimit-remaining")), (429, 0));
    assert!((1..=61).contains(&number(&refused, "retry-after")), "{refused:?}");
    assert_eq!(cli(&redis, &["get", key]), "1001", "what is refused counts as well");
    assert_eq!(get(gateway, "/another").status, 200, "by client and endpoint");
    // And what it takes back is there again.
    cli(&redis, &["del", key]);
    assert_eq!(get(gateway, "/any/path").status, 200);
}

/// An operator who is told that nothing is counted leaves somebody shut out; both ways to the counter have to find it.
#[test]
fn a_counter_is_shown_and_forgotten_directly_and_by_the_running_process() {
    let (folder, redis) = (Folder::new("yaml-store"), shared::server());
    folder.file("token", "a-token-of-the-operators");
    let content =
        format!("{SEED}{}admin: {{ listen: 127.0.0.1:0, token_file: token }}\n", beside(&folder, &redis));
    let (mut served, gateway) = start(&folder, "application.yaml", &content);
    let admin = format!("http://{}", served.address("endpoint"));
    let (file, token) = (folder.path("application.yaml"), folder.path("token"));
    let (file, token) = (file.to_str().unwrap(), token.to_str().unwrap());
    let of = ["fallback/per-client", "client=127.0.0.1", "endpoint=/a"];
    for way in [&[file][..], &["--admin", &admin, "--token-file", token]] {
        let store = |command: &str| {
            let output = run([&["store", command][..], way, &of].concat());
            (format!("{}{}", text(&output.stdout), text(&output.stderr)), output.status.code())
        };
        for _ in 0..2 {
            assert_eq!(get(gateway, "/a").status, 200);
        }
        let (shown, code) = store("inspect");
        assert!(shown.contains("2 of 1000 used, 998 left; as if new in ") && code == Some(0), "{shown}");
        let (told, code) = store("reset");
        assert_eq!(
            (told.trim(), code),
            ("fallback/per-client, client=127.0.0.1 endpoint=/a: forgotten (2 of 1000 used)", Some(0))
        );
        let (shown, code) = store("inspect");
        assert!(shown.contains("nothing is counted") && code == Some(1), "{shown}");
        // What is no count is shown as such, and goes as well.
        cli(&redis, &["set", "rate-limit:127.0.0.1:/a", "x"]);
        let (shown, _) = store("inspect");
        assert!(
            ["none of Tidegate's", "no whole number"].iter().any(|words| shown.contains(words)),
            "{shown}"
        );
        let (told, code) = store("reset");
        assert!(told.contains(": forgotten (") && code == Some(0), "{told}");
        assert_eq!(cli(&redis, &["exists", "rate-limit:127.0.0.1:/a"]), "0");
    }
}

/// A service's whole file, with what is somebody else's in it, under each of its four algorithms.
#[test]
fn every_algorithm_of_a_springs_file_is_served() {
    let (folder, redis) = (Folder::new("spring-yaml"), shared::server());
    let file = format!(
        "spring: {{ application: {{ name: shop }}, data: {{ redis: {{ host: \"${{REDIS_HOST:localhost}}\" }} }} }}
server: {{ port: 8080 }}
logging: {{ level: {{ root: INFO }} }}
rate-limit:
  fallback: {{ algorithm: FIXED_COUNTER, max-requests: 2, window-size: 60 }}
  endpoints:
    /window: {{ algorithm: SLIDING_WINDOW, maxRequests: 2, windowSize: 60 }}
    /token: {{ algorithm: TOKEN_BUCKET, capacity: 2, refillRate: 0.01 }}
    /leaky: {{ algorithm: LEAKY_BUCKET, capacity: 1, flowRate: 0.01 }}
    /fixed: {{ algorithm: FIXED_COUNTER, maxRequests: 2, windowSize: 60 }}
{}",
        beside(&folder, &redis)
    );
    let (_served, gateway) = start(&folder, "application.yml", &file);
    for (path, most) in [("/window", 2), ("/token", 2), ("/leaky", 1), ("/fixed", 2), ("/else", 2)] {
        let statuses: Vec<u16> = (0..4).map(|_| get(gateway, path).status).collect();
        let expected: Vec<u16> = (0..4).map(|asked| if asked < most { 200 } else { 429 }).collect();
        assert_eq!(statuses, expected, "{path}");
        let refused = get(gateway, path);
        assert_eq!(number(&refused, "x-ratelimit-remaining"), 0, "{path}");
        let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        assert!(number(&refused, "x-ratelimit-reseton") > now, "{path}");
    }
    // Only plain counters have names that are known outside.
    let keys: BTreeSet<String> = cli(&redis, &["keys", "rate-limit:*"]).lines().map(str::to_owned).collect();
    let expected = ["rate-limit:127.0.0.1:/else", "rate-limit:127.0.0.1:/fixed"].map(str::to_owned);
    assert_eq!(keys, BTreeSet::from(expected));
}

/// A window that began anew with each request would never end for whoever keeps asking.
#[test]
fn a_window_ends_so_long_after_its_first_request() {
    let (folder, redis) = (Folder::new("yaml-window"), shared::server());
    let file = "rate-limit: { fallback: { algorithm: FIXED_COUNTER, maxRequests: 1, windowSize: 2 } }\n";
    let (_served, gateway) = start(&folder, "a.yaml", &format!("{file}{}", beside(&folder, &redis)));
    let ends = number(&get(gateway, "/a"), "x-ratelimit-reseton");
    let mut refusals = 0;
    let next = loop {
        let answer = get(gateway, "/a");
        if answer.status == 200 {
            break answer;
        }
        refusals += 1;
        assert!(number(&answer, "x-ratelimit-reseton").abs_diff(ends) <= 2, "{answer:?} {ends}");
        tidegate_redis_kit::moment();
    };
    assert!(refusals > 0);
    let next = number(&next, "x-ratelimit-reseton");
    assert!(next + 2 >= ends + 2_000, "the next window begins when this one has ended: {next} {ends}");
}

/// Two gateways and many clients at once have the limit between them.
#[test]
fn sixty_four_clients_of_two_gateways_get_the_limit_and_not_one_more() {
    let (folder, redis) = (Folder::new("yaml-crowd"), shared::server());
    let file = "rate-limit: { fallback: { algorithm: FIXED_COUNTER, maxRequests: 100, windowSize: 3600 } }\n";
    let (_one, first) = start(&folder, "one.yaml", &format!("{file}{}", beside(&folder, &redis)));
    let (_two, second) = start(&folder, "two.yaml", &format!("{file}{}", beside(&folder, &redis)));
    let clients: Vec<_> = (0..64)
        .map(|client| {
            let gateway = if client % 2 == 0 { first } else { second };
            thread::spawn(move || (0..4).filter(|_| get(gateway, "/a").status == 200).count())
        })
        .collect();
    let admitted: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
    assert_eq!(admitted, 100);
    assert_eq!(cli(&redis, &["get", "rate-limit:127.0.0.1:/a"]), "256");
}

/// The file is a policy to every command, and the one that needs a face says what to add.
#[test]
fn every_command_takes_the_file_as_it_is() {
    let folder = Folder::new("yaml-commands");
    let file = folder.file("application.yaml", SEED).display().to_string();
    let checked = run(["check", &file]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    assert!(text(&checked.stdout).starts_with("OK: 0 rules and a fallback, 1 limit\n"), "{checked:?}");
    let explained = run(["explain", &file]);
    assert_eq!(explained.status.code(), Some(0), "{explained:?}");
    assert!(text(&explained.stdout).contains("X-RateLimit-ResetOn"), "{explained:?}");
    let threats = run(["threat-model", &file]);
    assert_eq!(threats.status.code(), Some(0), "{threats:?}");
    let attacked = run(["attack", &file, "--quick", "--adversary", "anchored-straddler"]);
    assert_eq!(attacked.status.code(), Some(0), "{attacked:?}");
    assert!(text(&attacked.stdout).contains("1,999"), "2 L - 1 in a window: {attacked:?}");
    let served = run(["serve", &file]);
    assert_eq!(served.status.code(), Some(2), "{served:?}");
    assert!(
        text(&served.stderr).contains("gateway: { listen: 127.0.0.1:8080, upstream: http://"),
        "{served:?}"
    );
}

/// A page that does not run is worse than none.
#[test]
fn the_page_runs_as_it_stands() {
    Page::read("docs/rate-limit-yaml.md").on_free_ports([8080, 3000, 6379]).runs();
}

/// Counts in memory, apart from those of every other instance, are what nobody notices.
#[test]
fn a_redis_that_only_spring_is_told_of_is_warned_of_by_check_and_serve() {
    let folder = Folder::new("spring-redis");
    let spring = "spring: { data: { redis: { host: cache, port: 6380 } } }\n";
    let file =
        format!("{spring}{SEED}gateway: {{ listen: 127.0.0.1:0, upstream: \"http://127.0.0.1:9\" }}\n");
    let path = folder.file("application.yaml", &file).display().to_string();
    let checked = run(["check", path.as_str()]);
    let told = text(&checked.stdout).to_owned();
    assert!(told.contains("url: \"redis://cache:6380\"") && told.contains("[store-not-read]"), "{told}");
    let (mut running, _) = start(&folder, "application.yaml", &file);
    assert!(running.log("store-not-read").contains("WARN"));
}
