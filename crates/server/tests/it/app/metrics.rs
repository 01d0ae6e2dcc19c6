//! The metrics against their table.

use std::collections::BTreeSet;

use http::{Method, StatusCode};

use super::reload::{Served, policy, upstream};

/// Guards the table of metrics: one that it does not have is found by nobody, and one that is not there makes alerts that
/// never fire.
#[tokio::test]
async fn every_metric_is_in_the_table_and_the_table_has_no_others() {
    let upstream = upstream().await;
    let served = Served::by("families", |_| policy(upstream.address, "", 1)).await;
    let (status, text) = served.admin(Method::GET, "/metrics").await;
    let elsewhere = served.admin(Method::GET, "/readyz").await;
    assert!(elsewhere.0 == 404 && elsewhere.1.contains("this listener has /metrics, "), "{elsewhere:?}");
    assert_eq!(status, StatusCode::OK);
    let mut told = BTreeSet::new();
    for line in text.lines() {
        let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        let end = match kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        told.insert(format!("{name}{end}"));
        let help = format!("# HELP {name} ");
        assert!(text.lines().any(|line| line.starts_with(&help)), "{name} has no help");
    }
    let page = include_str!("../../../../../docs/gateway.md");
    let rows = page.lines().filter(|line| line.starts_with("| `tidegate_"));
    let cells: Vec<_> = rows.filter_map(|row| row.split('|').nth(1)).collect();
    let named: Vec<_> = cells.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let named: BTreeSet<_> = named.into_iter().map(str::to_owned).collect();
    // Of what is not in every process: a snapshot is of a memory store that is kept in a file.
    let now_and_then = |name: &&String| name.starts_with("tidegate_snapshot");
    assert_eq!(
        told.difference(&named).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "told, and not in docs/gateway.md"
    );
    let missing: Vec<_> = named.difference(&told).filter(|name| !now_and_then(name)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "in docs/gateway.md, and not told");
}
