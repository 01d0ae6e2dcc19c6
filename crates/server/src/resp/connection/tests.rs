//! How long a connection is waited for, in a time that passes by itself while everybody waits.

use tidegate::Limiter;
use tokio::io::{DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::*;
use crate::api::{Token, TokenInForce};

/// Serves a client's half of a stream that holds so many bytes on their way.
fn served(holds: usize, password: Option<Token>) -> (DuplexStream, JoinHandle<io::Result<()>>) {
    let (client, stream) = duplex(holds);
    let limiter = Limiter::in_memory([]).unwrap();
    let serving = tokio::spawn(async move {
        let server = Server::new(limiter, TokenInForce::from(password));
        Connection::new(stream, "192.0.2.1:5000".parse().unwrap(), &server).serve().await
    });
    (client, serving)
}

/// Sends a text piece by piece, one every so often, and returns how many the other side took before it closed.
async fn drip(client: &mut DuplexStream, pieces: impl Iterator<Item = &[u8]>, every: Duration) -> usize {
    let mut taken = 0;
    for piece in pieces {
        if client.write_all(piece).await.is_err() {
            break;
        }
        taken += 1;
        sleep(every).await;
    }
    taken
}

/// Guards against clients that hold connections for nothing: the time for a command does not begin anew with its bytes.
#[tokio::test(start_paused = true)]
async fn a_command_that_comes_byte_by_byte_ends_its_connection() {
    let (mut client, serving) = served(1024, None);
    let taken = drip(&mut client, [b'a'; 100].chunks(1), Duration::from_secs(1)).await;
    assert_eq!(serving.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert!((29..=31).contains(&taken), "{taken}");
}

/// Guards busy clients: in a stream that never pauses there is always a command that has only begun.
#[tokio::test(start_paused = true)]
async fn a_stream_of_commands_that_end_in_the_middle_of_one_goes_on() {
    let (mut client, serving) = served(1024, None);
    // Each piece ends a command and begins the next.
    let pieces = std::iter::once(&b"PI"[..]).chain(std::iter::repeat_n(&b"NG\r\nPI"[..], 20));
    assert_eq!(drip(&mut client, pieces, Duration::from_secs(10)).await, 21);
    client.shutdown().await.unwrap();
    let mut replies = String::new();
    client.read_to_string(&mut replies).await.unwrap();
    assert_eq!(replies, "+PONG\r\n".repeat(20));
    serving.await.unwrap().unwrap();
}

/// Guards against strangers who stay: what they ask meanwhile gives them no more time for the password.
#[tokio::test(start_paused = true)]
async fn who_gives_no_password_is_not_waited_for() {
    let folder = std::env::temp_dir().join(format!("tidegate-resp-{}", std::process::id()));
    std::fs::write(&folder, "0123456789abcdef").unwrap();
    let (mut client, serving) = served(1024, Some(Token::read(&folder).unwrap()));
    std::fs::remove_file(&folder).unwrap();
    let taken = drip(&mut client, std::iter::repeat_n(&b"PING\r\n"[..], 20), Duration::from_secs(5)).await;
    assert_eq!(serving.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert!((6..=7).contains(&taken), "{taken}");
}

/// Guards against a client that asks and never reads: its replies must not pile up, nor hold its connection for ever.
#[tokio::test(start_paused = true)]
async fn who_takes_no_reply_is_not_waited_for() {
    let (mut client, serving) = served(64, None);
    let asked = drip(&mut client, std::iter::repeat_n(&b"PING\r\n"[..], 1_000), Duration::ZERO).await;
    assert!(asked < 1_000, "everything was taken in");
    assert_eq!(serving.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
}
