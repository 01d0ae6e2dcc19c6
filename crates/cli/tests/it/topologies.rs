//! `tidegate doctor` and `tidegate store` where a Redis is more than one server, or speaks TLS.

use tidegate_redis_kit::{Certificates, Cluster, Watched, soon};

use crate::process::{Folder, run, text};
use crate::shared::{nobody, policy_at};

/// Runs a command on a policy and returns what it says, and how it ended.
fn told(command: &[&str], policy: &std::path::Path, more: &[&str]) -> (String, Option<i32>) {
    let policy = policy.display().to_string();
    let output = run(command.iter().chain([&policy.as_str()]).chain(more));
    (format!("{}{}", text(&output.stdout), text(&output.stderr)), output.status.code())
}

/// A primary that goes on admitting when it is cut off loses what it admitted, without a bound; and one sentinel that is gone
/// is no outage, though somebody has to know.
#[test]
fn sentinels_are_asked_each_and_the_primary_is_looked_at() {
    let (folder, watched) = (Folder::new("topology-sentinel"), Watched::start());
    let hosts: Vec<String> =
        watched.addresses().iter().map(|(host, port)| format!("{host}:{port}")).collect();
    let hosts = format!("{},127.0.0.1:{}", hosts.join(","), nobody());
    let file = policy_at(&folder, &format!("redis+sentinel://{hosts}/{}", watched.name()), "");
    let (found, code) = told(&["doctor"], &file, &[]);
    let primary = format!("names the primary 127.0.0.1:{}", watched.primary.port());
    assert_eq!(found.matches(&primary).count(), 3, "{found}");
    assert!(found.contains("warn   sentinel") && found.contains("refused"), "{found}");
    assert!(found.contains("warn   replicas") && found.contains("min-replicas-to-write 1"), "{found}");
    assert!(found.contains("evalsha, role"), "the right that sentinels need is tried:\n{found}");
    assert!(found.contains("ok     decision"), "{found}");
    assert_eq!(code, Some(0), "{found}");
    watched.primary.ask("CONFIG SET min-replicas-to-write 1");
    let (found, _) = told(&["doctor"], &file, &[]);
    assert!(found.contains("ok     replicas"), "{found}");
    // A ping writes, and a primary counts once a second which of its replicas keep up.
    soon("the store answers", || {
        told(&["store", "ping"], &file, &[]).0.starts_with("the store answers").then_some(())
    });
}

/// Keys of a cluster lie on any of its nodes, and so may a right be missing on one alone.
#[test]
fn every_primary_of_a_cluster_is_looked_at_and_keys_are_found_where_they_lie() {
    let (folder, cluster) = (Folder::new("topology-cluster"), Cluster::start());
    let file = policy_at(&folder, &format!("redis+cluster://127.0.0.1:{}", cluster.nodes[0].port()), "");
    let (found, code) = told(&["doctor"], &file, &[]);
    assert!(found.contains("ok     cluster") && found.contains("on 3 primaries"), "{found}");
    assert_eq!(found.matches("ok     rights").count(), 3, "{found}");
    assert_eq!(code, Some(0), "{found}");
    for account in ["account=a", "account=b", "account=c", "account=d"] {
        let (found, code) = told(&["store", "reset"], &file, &["verify/per-account", account]);
        assert!(found.contains("nothing to forget"), "{found}");
        assert_eq!(code, Some(1));
    }
    cluster.nodes[1].ask("ACL SETUSER default -set");
    let (found, code) = told(&["doctor"], &file, &[]);
    let port = cluster.nodes[1].port();
    assert!(found.contains(&format!("127.0.0.1:{port}: the user default may not set; ")), "{found}");
    assert_eq!((found.matches("ok     rights").count(), code), (2, Some(1)), "{found}");
}

/// Certificates go wrong more often than anything else, and nobody sees why.
#[test]
fn tls_is_tried_with_the_policy_s_certificates() {
    let (folder, certificates) = (Folder::new("topology-tls"), Certificates::make());
    let server = certificates.start_server(&[]);
    folder.file("authority.pem", &certificates.authority);
    folder.file("client.pem", &certificates.client.0);
    folder.file("client.key", &certificates.client.1);
    let files = "    ca_file: authority.pem\n    certificate_file: client.pem\n    key_file: client.key";
    let url = format!("rediss://127.0.0.1:{}", server.port());
    let file = policy_at(&folder, &url, files);
    let (found, code) = told(&["doctor"], &file, &[]);
    assert!(found.contains("ok     tls") && found.contains("ok     decision"), "{found}");
    assert_eq!(code, Some(0), "{found}");
    folder.file("authority.pem", &Certificates::make().authority);
    let (found, code) = told(&["doctor"], &file, &[]);
    assert!(found.contains("FAIL   server") && found.contains("certificate"), "{found}");
    assert_eq!(code, Some(1));
    std::fs::remove_file(folder.path("client.key")).unwrap();
    let (found, code) = told(&["doctor"], &file, &[]);
    assert!(found.contains("FAIL   store") && found.contains("client.key"), "{found}");
    assert_eq!(code, Some(1));
}
