//! Clients of a Redis that are not ours.

use std::process::Command;

use redis::RedisResult;

use super::world::Throttled;

/// Guards the tool that whoever tries it first has at hand.
#[tokio::test]
async fn redis_cli_throttles() {
    let throttled = Throttled::in_memory().await;
    let port = throttled.address.port().to_string();
    let ran = tokio::task::spawn_blocking(move || {
        Command::new("redis-cli")
            .args(["-p", &port, "CL.THROTTLE", "user123", "15", "30", "60"])
            .output()
            .unwrap()
    });
    let ran = ran.await.unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), "0\n16\n15\n-1\n2\n");
}

/// Guards libraries: what they send at their start, both versions of the protocol, and a pipeline of thousands.
#[tokio::test]
async fn a_library_throttles_in_both_versions() {
    let throttled = Throttled::in_memory().await;
    for (version, key) in [("resp2", "a"), ("resp3", "b")] {
        let url = format!("redis://{}/?protocol={version}", throttled.address);
        let done: RedisResult<Vec<Vec<i64>>> = tokio::task::spawn_blocking(move || {
            let mut connection = redis::Client::open(url)?.get_connection()?;
            let mut pipeline = redis::pipe();
            for _ in 0..3_000 {
                pipeline.cmd("CL.THROTTLE").arg(key).arg(999).arg(1).arg(86_400);
            }
            pipeline.query(&mut connection)
        })
        .await
        .unwrap();
        let answers = done.unwrap();
        assert_eq!(answers.len(), 3_000);
        assert!(answers.iter().enumerate().all(|(index, answer)| answer[0] == i64::from(index >= 1_000)));
        assert_eq!(answers[999][..4], [0, 1_000, 0, -1]);
    }
}
