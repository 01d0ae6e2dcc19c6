//! Two instances on one Redis.

use std::sync::Arc;

use tidegate_redis_kit::Server;
use tidegate_server::store;

use super::world::Throttled;
use crate::tls::Folder;

async fn instance(redis: &Server, folder: &Folder) -> Throttled {
    let secret = folder.write("secret", "a secret that all instances share");
    let text = format!(
        "tidegate: 1\nkey_secret_file: {}\nresp: {{ listen: 127.0.0.1:0 }}\n\
         store: {{ redis: {{ url: \"redis://127.0.0.1:{}\", timeout: 10s }} }}\n",
        secret.display(),
        redis.port()
    );
    let file = folder.write("policy.yaml", text);
    let loaded = tidegate::files::load(&file).unwrap_or_else(|wrong| panic!("{wrong}"));
    let shared = store::connect(&loaded.policy).unwrap().unwrap();
    Throttled::start(Arc::new(shared), "").await
}

/// Guards a limit that many ask at once through two processes: they admit what one bucket holds, and not one more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_instances_share_a_bucket() {
    let (redis, folder) = (Server::start(&[]), Folder::new("resp-shared"));
    let instances = [instance(&redis, &folder).await, instance(&redis, &folder).await];
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..8 {
        let mut client = instances[number % 2].client().await;
        asking.spawn(async move {
            let mut passed = 0;
            for _ in 0..50 {
                let answer = client.ask("CL.THROTTLE k 99 1 86400").await;
                passed += usize::from(answer.starts_with("*5 :0 "));
            }
            passed
        });
    }
    assert_eq!(asking.join_all().await.into_iter().sum::<usize>(), 100);
}
