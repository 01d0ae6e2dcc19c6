//! Notes of the operator in a real Redis: what every instance reads.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidegate_redis_kit::{Cluster, Server};
use tidegate_store::algorithms::Timestamp;
use tidegate_store::{Note, Noted, Store, StoreError};
use tidegate_store_redis::{NOTE_RIGHTS, RIGHTS, RedisStore, Secret};

use crate::tools::{an_hour, connect, one, options, runtime, standalone};

fn in_millis(millis: u64) -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_millis(millis);
    Timestamp::from_micros(u64::try_from(now.as_micros()).unwrap()).unwrap()
}

/// Returns an instant that is over.
fn over() -> Timestamp {
    Timestamp::saturating_from_micros(1)
}

fn note(name: &str, text: &str, until: Timestamp) -> Note {
    Note { name: name.to_owned(), text: text.to_owned(), until }
}

async fn all(store: &RedisStore) -> Result<Noted, StoreError> {
    store.notes().unwrap().all().await
}

async fn put(store: &RedisStore, note: &Note) -> Result<(), StoreError> {
    store.notes().unwrap().put(note).await
}

/// What one instance writes every other reads, and what it removes is gone for all.
#[test]
fn a_note_is_seen_by_every_store_on_the_server() {
    let server = Server::start(&[]);
    let (one, other) = (connect(options(standalone(server.port()))), {
        let mut options = options(standalone(server.port()));
        options.prefix = "other".to_owned();
        connect(options)
    });
    runtime().block_on(async {
        let (a, b) =
            (note("b\u{0}x", "{\"a\":\": 1\"}", in_millis(60_000)), note("a", "", in_millis(60_000)));
        put(&one, &a).await.unwrap();
        put(&one, &b).await.unwrap();
        put(&one, &note("a", "old", in_millis(90_000))).await.unwrap();
        put(&one, &b).await.unwrap();
        let seen = all(&one).await.unwrap();
        assert_eq!(seen.notes, [b, a]);
        assert!(seen.at.as_micros().abs_diff(in_millis(0).as_micros()) < 5_000_000);
        assert_eq!(all(&other).await.unwrap().notes, [], "another prefix is another service");
        let notes = one.notes().unwrap();
        assert!(notes.remove("a").await.unwrap() && !notes.remove("a").await.unwrap());
        assert_eq!(all(&one).await.unwrap().notes.len(), 1);
    });
}

/// A note that has ended is told to nobody and takes no room; one that somebody has put in its place meanwhile stays.
#[test]
fn a_note_that_has_ended_is_dropped_from_the_server() {
    let server = Server::start(&[]);
    let mut options = options(standalone(server.port()));
    options.prefix = "tg".to_owned();
    let store = connect(options);
    runtime().block_on(async {
        put(&store, &note("gone", "1", over())).await.unwrap();
        put(&store, &note("stays", "2", in_millis(60_000))).await.unwrap();
        assert_eq!(all(&store).await.unwrap().notes.len(), 1);
    });
    assert_eq!(server.ask("HLEN tg:overrides"), redis::Value::Int(1));
    assert_eq!(server.ask("HEXISTS tg:overrides stays"), redis::Value::Int(1));
}

/// Without these rights all goes on but the notes, and what is lacking is told by name.
#[test]
fn a_user_without_the_rights_decides_and_is_told_which_it_lacks() {
    let server = Server::start(&[]);
    let user = |rights: &str| {
        server.ask(&format!("ACL SETUSER tidegate reset on >word ~own:* {rights}"));
        let mut options = options(standalone(server.port()));
        options.username = Some("tidegate".to_owned());
        options.password = Some(Secret::new("word"));
        options.prefix = "own".to_owned();
        connect(options)
    };
    let store = user(RIGHTS);
    runtime().block_on(async {
        let error = all(&store).await.unwrap_err();
        assert!(error.to_string().contains("hgetall") && error.to_string().contains(NOTE_RIGHTS), "{error}");
        let error = put(&store, &note("a", "", in_millis(60_000))).await.unwrap_err();
        assert!(error.to_string().contains("hset") && !error.may_have_counted(), "{error}");
        assert!(one(&store, store.limit("l"), b"ada", &an_hour(1)).await.unwrap());
    });
    let store = user(&format!("{RIGHTS} {NOTE_RIGHTS}"));
    runtime().block_on(async {
        put(&store, &note("a", "", over())).await.unwrap();
        assert_eq!(all(&store).await.unwrap().notes, []);
    });
    assert_eq!(
        server.ask("EXISTS own:overrides"),
        redis::Value::Int(0),
        "the rights are enough to drop what has ended"
    );
}

/// In a cluster the hash lies on whichever node has its slot.
#[test]
fn a_cluster_keeps_notes_on_one_of_its_nodes() {
    let cluster = Cluster::start();
    for prefix in ["a", "b", "c", "d"] {
        let mut options = crate::tools::options(crate::tools::cluster_of(&cluster));
        options.prefix = prefix.to_owned();
        let store = connect(options);
        runtime().block_on(async {
            let a = note("a", prefix, in_millis(60_000));
            put(&store, &a).await.unwrap();
            assert_eq!(all(&store).await.unwrap().notes, [a]);
        });
    }
}
