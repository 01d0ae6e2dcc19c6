//! What the module answers to these commands, replayed; `docs/compatibility.md` names each.

use super::world::{Throttled, clocked, pass};

/// Asks a fresh server one line after the other, each with what it has to answer. `+N` lets N seconds pass.
async fn replay(lines: &[(&str, &str)]) {
    let store = clocked();
    let throttled = Throttled::start(store.clone(), "").await;
    let mut client = throttled.client().await;
    for (line, expected) in lines {
        if let Some(seconds) = line.strip_prefix('+') {
            pass(&store, seconds.parse().unwrap());
            continue;
        }
        assert_eq!(&client.ask(line).await, expected, "{line}");
    }
}

#[tokio::test]
async fn c1_a_bucket_is_drained_one_by_one() {
    replay(&[
        ("CL.THROTTLE user123 15 30 60", "*5 :0 :16 :15 :-1 :2"),
        ("CL.THROTTLE user123 15 30 60 1", "*5 :0 :16 :14 :-1 :4"),
    ])
    .await;
}

#[tokio::test]
async fn c2_a_bucket_of_one_refuses_until_its_unit_is_back() {
    replay(&[
        ("CL.THROTTLE k 0 1 2 1", "*5 :0 :1 :0 :-1 :2"),
        ("CL.THROTTLE k 0 1 2 1", "*5 :1 :1 :0 :2 :2"),
        ("+2", ""),
        ("CL.THROTTLE k 0 1 2 1", "*5 :0 :1 :0 :-1 :2"),
    ])
    .await;
}

#[tokio::test]
async fn c3_a_slow_rate_is_full_again_after_its_unit() {
    replay(&[("CL.THROTTLE k 5 5 3600", "*5 :0 :6 :5 :-1 :720")]).await;
}

#[tokio::test]
async fn c4_a_quantity_of_zero_looks_and_takes_nothing() {
    replay(&[
        ("CL.THROTTLE k 5 10 60 0", "*5 :0 :6 :6 :-1 :0"),
        ("CL.THROTTLE k 5 10 60 6", "*5 :0 :6 :0 :-1 :36"),
        ("CL.THROTTLE k 5 10 60 0", "*5 :0 :6 :0 :-1 :36"),
    ])
    .await;
}

#[tokio::test]
async fn c5_more_than_the_bucket_holds_never_passes_and_takes_nothing() {
    replay(&[
        ("CL.THROTTLE k 5 10 60 7", "*5 :1 :6 :6 :-1 :0"),
        ("CL.THROTTLE k 5 10 60 99999999999", "*5 :1 :6 :6 :-1 :0"),
    ])
    .await;
}

#[tokio::test]
async fn c7_half_a_second_rounds_up() {
    replay(&[("CL.THROTTLE k 0 2 1", "*5 :0 :1 :0 :-1 :1"), ("CL.THROTTLE k 0 2 1", "*5 :1 :1 :0 :1 :1")])
        .await;
}

#[tokio::test]
async fn c8_a_rate_of_zero_is_an_error() {
    replay(&[
        ("CL.THROTTLE k 5 0 60", "-ERR count_per_period has to be at least 1, and is 0"),
        ("CL.THROTTLE k 5 10 0", "-ERR period has to be at least 1, and is 0"),
    ])
    .await;
}

#[tokio::test]
async fn c9_arguments_that_make_no_limit_are_errors() {
    let usage = "-ERR usage: CL.THROTTLE key max_burst count_per_period period [quantity]";
    replay(&[
        ("CL.THROTTLE k abc 10 60", "-ERR max_burst is not an integer"),
        ("CL.THROTTLE k", usage),
        ("CL.THROTTLE k 5 10 60 1 1", usage),
        ("CL.THROTTLE k 5 10 60 -1", "-ERR quantity has to be at least 0, and is -1"),
        ("CL.THROTTLE k -1 10 60", "-ERR max_burst has to be at least 0, and is -1"),
        // What would overflow elsewhere, or deny for ever, says what would fit.
        (
            "CL.THROTTLE k 9223372036854775807 10 60",
            "-ERR capacity 9223372036854775808 is out of range; the nearest possible is 1073741824",
        ),
        (
            "CL.THROTTLE k 100 1 9223372036854775807",
            "-ERR period 9223372036854775807 is out of range; the nearest possible is 34560000 seconds",
        ),
        (
            "CL.THROTTLE k 10 2000000000 1",
            "-ERR rate 2000000000 is out of range; the nearest possible is 1073741824",
        ),
    ])
    .await;
}

#[tokio::test]
async fn c11_a_key_is_any_bytes() {
    let throttled = Throttled::in_memory().await;
    let mut client = throttled.client().await;
    for key in ["", "sp ace{}", "a\r\nb", "\0\u{1F30A}"] {
        let call = format!(
            "*5\r\n$11\r\nCL.THROTTLE\r\n${}\r\n{key}\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n9\r\n",
            key.len()
        );
        client.0.send(&call).await;
        assert_eq!(client.reply().await, "*5 :0 :1 :0 :-1 :9", "{key:?}");
        client.0.send(&call).await;
        assert_eq!(client.reply().await, "*5 :1 :1 :0 :9 :9", "{key:?}");
    }
}

/// Guards a key whose numbers change: what it used stays used, and a debt is not served at the old, slow rate.
#[tokio::test]
async fn a_key_under_new_numbers_keeps_what_it_used() {
    replay(&[
        ("CL.THROTTLE k 5 10 20 6", "*5 :0 :6 :0 :-1 :12"),
        ("CL.THROTTLE k 5 10 20", "*5 :1 :6 :0 :2 :12"),
        ("CL.THROTTLE k 5 1000 20", "*5 :1 :6 :0 :1 :1"),
        ("+1", ""),
        ("CL.THROTTLE k 5 1000 20", "*5 :0 :6 :5 :-1 :1"),
        ("CL.THROTTLE k 11 10 20 6", "*5 :1 :12 :5 :2 :14"),
    ])
    .await;
}
