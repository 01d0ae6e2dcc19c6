//! The protocol around the command: versions, passwords, pipelines, bad bytes, and the end of a listener.

use std::sync::Arc;

use tidegate::{Limiter, MemoryOptions, MemoryStore, StoreError};
use tidegate_server::api::TokenInForce;
use tidegate_server::resp;
use tidegate_store::faulty::Faulty;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::world::{Client, Throttled, clocked};
use crate::support::soon;
use crate::tls::Folder;

const PASSWORD: &str = "0123456789abcdef";

async fn with_password(folder: &Folder) -> Throttled {
    let file = folder.write("password", PASSWORD);
    Throttled::start(clocked(), &format!(", token_file: {}", file.display())).await
}

/// Guards a listener that would answer strangers: nothing but giving the password does anything before it.
#[tokio::test]
async fn without_its_password_a_connection_gets_nothing() {
    let folder = Folder::new("resp-password");
    let throttled = with_password(&folder).await;
    let mut client = throttled.client().await;
    for line in ["CL.THROTTLE k 5 10 60", "PING", "CLIENT ID", "INFO", "NONSENSE"] {
        assert!(client.ask(line).await.starts_with("-NOAUTH"), "{line}");
    }
    assert!(client.ask("HELLO 3").await.starts_with("-NOAUTH"));
    for line in
        ["AUTH wrong", "AUTH default wrong", &format!("AUTH other {PASSWORD}"), "HELLO 2 AUTH default wrong"]
    {
        assert!(client.ask(line).await.starts_with("-WRONGPASS"), "{line}");
    }
    assert!(client.ask("PING").await.starts_with("-NOAUTH"));
    assert_eq!(client.ask(&format!("AUTH {PASSWORD}")).await, "+OK");
    assert_eq!(client.ask("CL.THROTTLE k 5 10 60").await, "*5 :0 :6 :5 :-1 :6");
    assert_eq!(client.ask("RESET").await, "+RESET");
    assert!(client.ask("CL.THROTTLE k 5 10 60").await.starts_with("-NOAUTH"));
    let hello = client.ask(&format!("HELLO 3 AUTH default {PASSWORD} SETNAME a")).await;
    assert!(hello.starts_with("%7 server tidegate version") && hello.contains("proto :3"), "{hello}");
    assert_eq!(client.ask("CL.THROTTLE k 5 10 60").await, "*5 :0 :6 :4 :-1 :12");
}

/// Guards clients that greet a server before they use it.
#[tokio::test]
async fn what_clients_say_at_their_start_is_answered() {
    let throttled = Throttled::in_memory().await;
    let mut client = throttled.client().await;
    for (line, reply) in [
        ("PING", "+PONG"),
        ("ping hello", "hello"),
        ("ECHO a", "a"),
        ("SELECT 0", "+OK"),
        ("SELECT 1", "-ERR there is one database here, 0"),
        ("CLIENT SETINFO lib-name x", "+OK"),
        ("CLIENT GETNAME", "$-1"),
        ("COMMAND DOCS", "*0"),
        ("HELLO 4", "-NOPROTO unsupported protocol version"),
        (
            "AUTH something",
            "-ERR AUTH: no password is demanded here; leave it out, or set `token_file` in the policy's `resp`",
        ),
    ] {
        assert_eq!(client.ask(line).await, reply, "{line}");
    }
    let unknown = client.ask("GET key").await;
    assert!(unknown.starts_with("-ERR unknown command 'GET'"), "{unknown}");
    assert!(client.ask("HELLO 3").await.starts_with("%7"));
    assert_eq!(client.ask("CLIENT GETNAME").await, "_");
    assert_eq!(client.ask("QUIT").await, "+OK");
    assert_eq!(soon(client.0.read_to_close()).await, "");
}

/// Guards the order of a pipeline: throttles that are asked at once, on one key and on several, with others between. A store of
/// the process's own answers them one after the other, and alike.
#[tokio::test]
async fn a_pipeline_is_answered_in_its_order() {
    for throttled in [Throttled::in_memory().await, Throttled::on_its_own().await] {
        is_answered_in_its_order(throttled.client().await).await;
    }
}

async fn is_answered_in_its_order(mut client: Client) {
    let lines = "CL.THROTTLE a 2 1 60\r\nCL.THROTTLE b 2 1 60 2\r\nPING\r\nCL.THROTTLE a 2 1 60\r\nCL.THROTTLE x\r\n\
                 CL.THROTTLE a 2 1 60\r\nCL.THROTTLE a 2 1 60\r\nQUIT\r\n";
    client.0.send(lines).await;
    let mut replies = Vec::new();
    for _ in 0..8 {
        replies.push(client.reply().await);
    }
    let firsts: Vec<_> = replies.iter().map(|reply| reply.split(" :-1").next().unwrap_or_default()).collect();
    assert_eq!(firsts[..4], ["*5 :0 :3 :2", "*5 :0 :3 :1", "+PONG", "*5 :0 :3 :1"]);
    assert!(firsts[4].starts_with("-ERR usage"));
    assert_eq!((firsts[5], firsts[7]), ("*5 :0 :3 :0", "+OK"));
    assert!(firsts[6].starts_with("*5 :1 :3 :0 :"), "{}", firsts[6]);
}

/// Guards against a page that makes a browser speak to this port, and against bytes that are no command.
#[tokio::test]
async fn what_is_no_command_ends_its_connection_alone() {
    let throttled = Throttled::in_memory().await;
    for sent in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nPING\r\n",
        "POST / HTTP/1.1\r\n\r\nPING\r\n",
        "PUT / HTTP/1.1\r\nPING\r\n",
        "HOST: a\r\nPING\r\n",
    ] {
        let mut client = throttled.client().await;
        client.0.send(sent).await;
        assert_eq!(soon(client.0.read_to_close()).await, "", "{sent}");
    }
    for sent in ["*1\r\n:1\r\nPING\r\n", "*999\r\nPING\r\n"] {
        let mut client = throttled.client().await;
        client.0.send(sent).await;
        let answer = soon(client.0.read_to_close()).await;
        assert!(answer.starts_with("-ERR Protocol error") && !answer.contains("PONG"), "{answer}");
    }
    assert_eq!(throttled.client().await.ask("PING").await, "+PONG");
}

/// Guards callers that take no reply for a refusal, or an error for a pass: what nobody decided is an error.
#[tokio::test]
async fn a_lost_store_is_an_error_and_no_decision() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let throttled = Throttled::start(store.clone(), "").await;
    let mut client = throttled.client().await;
    assert_eq!(client.ask("CL.THROTTLE k 5 10 60").await, "*5 :0 :6 :5 :-1 :6");
    store.fail(StoreError::unavailable("gone"));
    let answer = client.ask("CL.THROTTLE k 5 10 60").await;
    assert!(answer.starts_with("-UNAVAILABLE the limiter's store does not answer"), "{answer}");
    assert_eq!(client.ask("PING").await, "+PONG");
}

/// Guards a stop: idle connections end at once, and what is under way is answered first.
#[tokio::test]
async fn a_stop_answers_what_is_under_way() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    // The listener alone: an application asks its store by itself from time to time, which would be counted.
    let limiter = Limiter::new(store.clone(), []).unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(resp::serve(socket, limiter, TokenInForce::default(), async {
        let _ = stopped.await;
    }));
    let (mut idle, mut busy) = (Client::to(address).await, Client::to(address).await);
    assert_eq!(idle.ask("PING").await, "+PONG");
    store.hold();
    busy.0.send("CL.THROTTLE k 5 10 60\r\n").await;
    while store.calls() == 0 {
        crate::support::moment().await;
    }
    stop.send(()).unwrap();
    assert_eq!(soon(idle.0.read_to_close()).await, "");
    assert!(!serving.is_finished());
    store.release();
    assert_eq!(busy.reply().await, "*5 :0 :6 :5 :-1 :6");
    let report = soon(serving).await.unwrap();
    assert_eq!((report.accepted, report.connections_cut), (2, 0));
}
