//! TLS, users and what they may do.

use tidegate_redis_kit::{Certificates, Server};
use tidegate_store::{Store, StoreError};
use tidegate_store_redis::{RIGHTS, RedisOptions, RedisStore, Secret, Tls};

use crate::tools::{an_hour, connect, one, options, recovered, runtime, standalone};

fn tls(authority: &str, client: Option<&(String, String)>) -> Tls {
    Tls {
        authorities: Some(authority.as_bytes().to_vec()),
        identity: client.map(|(pem, key)| (pem.as_bytes().to_vec(), Secret::new(key.as_bytes()))),
    }
}

fn over_tls(server: &Server, tls: Tls) -> RedisOptions {
    let mut options = options(standalone(server.port()));
    options.tls = Some(tls);
    options
}

fn asked(store: &RedisStore) -> Result<bool, StoreError> {
    runtime().block_on(one(store, store.limit("l"), b"ada", &an_hour(1)))
}

/// Certificates are what a connection over a foreign network stands on: the right ones let it through.
#[test]
fn a_server_with_our_authority_takes_a_client_with_a_certificate() {
    let certificates = Certificates::make();
    let server = certificates.start_server(&[]);
    let store = connect(over_tls(&server, tls(&certificates.authority, Some(&certificates.client))));
    assert!(asked(&store).unwrap());
    assert!(!asked(&store).unwrap());
}

/// A server that somebody put in between has no certificate of our authority, and learns nothing.
#[test]
fn a_server_of_another_authority_is_not_believed() {
    let certificates = Certificates::make();
    let server = certificates.start_server(&[]);
    let other = Certificates::make();
    let store = connect(over_tls(&server, tls(&other.authority, Some(&certificates.client))));
    let error = asked(&store).unwrap_err();
    assert!(error.is_unavailable() && !error.may_have_counted(), "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
}

/// Without the client's certificate the server closes the door: an outage that counted nothing, not an admission.
#[test]
fn a_client_without_a_certificate_is_an_outage_that_counted_nothing() {
    let certificates = Certificates::make();
    let server = certificates.start_server(&[]);
    let store = connect(over_tls(&server, tls(&certificates.authority, None)));
    let error = asked(&store).unwrap_err();
    assert!(!error.may_have_counted(), "{error}");
    // The server itself turned it away.
    assert!(error.to_string().contains(&format!("127.0.0.1:{}: ", server.port())), "{error}");
}

fn user(server: &Server, rights: &str, prefix: &str) -> RedisOptions {
    server.ask(&format!("ACL SETUSER tidegate reset on >word ~{prefix}:* {rights}"));
    let mut options = options(standalone(server.port()));
    options.username = Some("tidegate".to_owned());
    options.password = Some(Secret::new("word"));
    prefix.clone_into(&mut options.prefix);
    options
}

/// An ACL user needs no more than these rights on its own prefix.
#[test]
fn a_user_with_the_rights_that_are_needed_is_served() {
    let server = Server::start(&[]);
    let store = connect(user(&server, RIGHTS, "own"));
    assert!(asked(&store).unwrap());
    assert!(!asked(&store).unwrap());
}

/// A right taken away while connected is told, counts nothing, and needs no restart once it is given back.
#[test]
fn a_right_that_goes_and_comes_back_needs_no_restart() {
    let server = Server::start(&[]);
    let store = connect(user(&server, RIGHTS, "own"));
    runtime().block_on(async {
        let (limit, quota) = (store.limit("l"), an_hour(2));
        assert!(one(&store, limit, b"ada", &quota).await.unwrap());
        tokio::task::block_in_place(|| server.ask("ACL SETUSER tidegate -evalsha"));
        let error = one(&store, limit, b"ada", &quota).await.unwrap_err();
        assert!(!error.may_have_counted() && error.to_string().contains("permit"), "{error}");
        tokio::task::block_in_place(|| server.ask("ACL SETUSER tidegate +evalsha"));
        recovered(&store).await;
        assert!(one(&store, limit, b"ada", &quota).await.unwrap(), "the refused one took nothing");
        assert!(!one(&store, limit, b"ada", &quota).await.unwrap());
    });
}

/// Another's prefix is out of reach, and a store that is set to it says so rather than admit.
#[test]
fn keys_that_the_user_may_not_touch_are_told() {
    let server = Server::start(&[]);
    let mut options = user(&server, RIGHTS, "own");
    options.prefix = "other".to_owned();
    let error = asked(&connect(options)).unwrap_err();
    assert!(!error.may_have_counted(), "{error}");
}

/// Without one of the script's commands nothing is decided: that is an outage which the breaker sees, not a value that is
/// none of ours, of which each request would be told alone.
#[test]
fn a_command_that_the_script_may_not_run_is_an_outage() {
    let server = Server::start(&[]);
    let store = connect(user(&server, RIGHTS, "own"));
    assert!(asked(&store).unwrap());
    for right in ["get", "time"] {
        server.ask(&format!("ACL SETUSER tidegate -{right}"));
        let error = asked(&store).unwrap_err();
        assert!(error.is_unavailable(), "-{right}: {error}");
        server.ask(&format!("ACL SETUSER tidegate +{right}"));
        runtime().block_on(recovered(&store));
    }
    assert_eq!(
        store.measures().events.iter().find(|(name, _)| *name == "foreign_values").map(|it| it.1),
        Some(0)
    );
}
