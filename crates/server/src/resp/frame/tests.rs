//! What is read as a command, whole or in pieces, and what ends a connection.

use bytes::BytesMut;

use super::*;

fn words(command: &Command) -> Vec<&[u8]> {
    command.words.iter().map(|word| &word[..]).collect()
}

/// Guards a pipeline that arrives byte by byte: no command is read twice, and none before it is whole.
#[test]
fn commands_are_read_the_same_however_they_arrive() {
    let sent: &[u8] = b"*2\r\n$4\r\nPING\r\n$0\r\n\r\n\r\n*0\r\n*-1\r\nping  hi\n*1\r\n$4\r\nQ\r\nT\r\n";
    let expected: [&[&[u8]]; 3] = [&[b"PING", b""], &[b"ping", b"hi"], &[b"Q\r\nT"]];
    for piece in 1..=sent.len() {
        let (mut arrived, mut read) = (BytesMut::new(), Vec::new());
        for some in sent.chunks(piece) {
            arrived.extend_from_slice(some);
            while let Some(command) = next(&mut arrived, MAX_COMMAND).unwrap() {
                read.push(command);
            }
        }
        let read: Vec<_> = read.iter().map(words).collect();
        assert_eq!(read, expected, "in pieces of {piece}");
        assert!(arrived.is_empty());
    }
}

/// Guards memory: nothing is kept for what a client only announces.
#[test]
fn what_cannot_be_a_command_ends_the_connection() {
    let long = [b"*1\r\n$131072\r\n".as_slice(), &vec![b'a'; MAX_COMMAND]].concat();
    let line = vec![b'a'; MAX_LINE];
    let cases: [&[u8]; 12] = [
        b"*65\r\n",
        b"*1000000000000\r\n",
        b"*99999999999999999999\r\n",
        b"*x\r\n",
        b"*+1\r\n",
        b"*1\r\n:5\r\n",
        b"*1\r\n*1\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$131073\r\n",
        b"*1\r\n$1\r\nabc\r\n",
        &long,
        &line,
    ];
    for case in cases {
        let shown = String::from_utf8_lossy(&case[..case.len().min(30)]).into_owned();
        assert!(next(&mut BytesMut::from(case), MAX_COMMAND).is_err(), "{shown:?}");
    }
}

/// Guards memory against strangers, who may open every connection there is: what is announced counts, and what arrived.
#[test]
fn a_stranger_may_send_less() {
    let whole = [b"*1\r\n$8192\r\n".as_slice(), &[b'a'; 8192], b"\r\n"].concat();
    for sent in [b"*1\r\n$8193\r\n".as_slice(), &whole, &whole[..8_200]] {
        let refused = next(&mut BytesMut::from(sent), MAX_COMMAND_OF_STRANGER).unwrap_err();
        assert_eq!(refused.0, "Protocol error: a command may have 8192 bytes before the password is given");
        assert!(next(&mut BytesMut::from(sent), MAX_COMMAND).is_ok());
    }
}

proptest::proptest! {
    /// Guards the reader against any bytes: it neither panics nor loops, and what it leaves is what it had not read.
    #[test]
    fn any_bytes_are_read_or_refused(sent in proptest::collection::vec(
        proptest::prop_oneof![
            proptest::strategy::Just(b'\r'), proptest::strategy::Just(b'\n'), proptest::strategy::Just(b'*'),
            proptest::strategy::Just(b'$'), proptest::num::u8::ANY, b'0'..=b'9',
        ], 0..80,
    )) {
        let mut arrived = BytesMut::from(&sent[..]);
        while let Ok(Some(command)) = next(&mut arrived, MAX_COMMAND) {
            proptest::prop_assert!(!command.words.is_empty());
        }
        proptest::prop_assert!(sent.ends_with(&arrived));
    }
}
