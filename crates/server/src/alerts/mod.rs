//! Alerts to webhooks, in the form that Alertmanager takes (its API v2): that the store is lost, and that a limit is nearly
//! used up.
//!
//! Raising one puts it on a board and waits for nobody; a desk for each webhook tells what is on the board. Where a receiver
//! hears of an alert no more, because this process is gone, it takes it for over by its own rules.
//!
//! | file | what |
//! |---|---|
//! | `board.rs` | what is wrong, by its labels |
//! | `desk.rs` | when a webhook is told |
//! | `webhook.rs` | how |

mod board;
mod desk;
mod instant;
mod webhook;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use http::Uri;
use tidegate::Nearing;
use tokio::sync::watch;
use tokio::task::JoinSet;

use board::{Alert, Board, Words};
use desk::{Desk, Tally};
use webhook::Webhook;

pub use instant::rfc3339;
pub use webhook::WebhookError;

/// Whom to tell, and how.
#[derive(Debug, Clone)]
pub struct AlertOptions {
    /// The webhooks, each told by itself.
    pub webhooks: Vec<Uri>,
    /// How often what goes on is told again; at most half of the time after which a receiver takes it for over.
    pub every: Duration,
    /// Labels that every alert bears, the process among them: what they are must not change while it runs.
    pub labels: Vec<(String, String)>,
}

/// What is wrong, for the webhooks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Alerts {
    board: watch::Sender<Board>,
    webhooks: Arc<[(Webhook, Arc<Tally>)]>,
    every: Duration,
    labels: Arc<Words>,
}

/// What became of alerts, for whoever shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlertsSeen {
    /// Alerts that go on.
    pub firing: usize,
    /// For each webhook, in the policy's order: how often it was told something, and how often that failed.
    pub webhooks: Vec<(u64, u64)>,
}

impl Alerts {
    /// Begins with nothing wrong.
    ///
    /// # Errors
    /// When a webhook can never be told anything: its URL is not whole, or it speaks TLS and nobody is trusted.
    pub fn new(options: AlertOptions) -> Result<Self, WebhookError> {
        let webhooks = options.webhooks.iter().map(|uri| Ok((Webhook::new(uri)?, Arc::default())));
        Ok(Self {
            board: watch::Sender::new(Board::default()),
            webhooks: webhooks.collect::<Result<_, WebhookError>>()?,
            every: options.every,
            labels: Arc::new(options.labels.into_iter().collect()),
        })
    }

    /// Tells the webhooks until it is dropped.
    pub async fn run(&self) {
        let mut desks = JoinSet::new();
        for (webhook, tally) in &*self.webhooks {
            let (webhook, tally, board) = (webhook.clone(), Arc::clone(tally), self.board.subscribe());
            desks.spawn(Desk { webhook, board, tally, every: self.every, failures: 0 }.run());
        }
        // A desk goes on for as long as the board is there, which is here. Were one to panic, the others go on.
        while desks.join_next().await.is_some() {}
        std::future::pending::<()>().await;
    }

    /// Returns what became of alerts so far.
    pub fn seen(&self) -> AlertsSeen {
        let read = |tally: &Tally| (tally.sent.load(Ordering::Relaxed), tally.failed.load(Ordering::Relaxed));
        AlertsSeen {
            firing: self.board.borrow().firing(SystemTime::now()),
            webhooks: self.webhooks.iter().map(|(_, tally)| read(tally)).collect(),
        }
    }

    /// Raises the alert that the store is lost. Raised again while it goes on, it says the newest error.
    pub fn store_lost(&self, since: SystemTime, error: &str) {
        let annotations = words([
            ("summary", "Tidegate cannot reach the store of its limits".to_owned()),
            (
                "description",
                format!(
                    "Since {} every rule is decided by its on_store_failure: deny refuses with 503, allow lets \
                     everything through, local counts in each process. The last error: {error}",
                    instant::rfc3339(since)
                ),
            ),
        ]);
        let labels = self.labels(&[("alertname", "TidegateStoreDown"), ("severity", "critical")]);
        self.raise(Alert { labels, annotations, starts_at: since, ends_at: None });
    }

    /// Ends the alert that the store is lost.
    pub fn store_found(&self) {
        let now = SystemTime::now();
        let annotations = words([
            ("summary", "Tidegate reaches the store of its limits again".to_owned()),
            ("description", format!("Since {} the limits are decided by the store.", instant::rfc3339(now))),
        ]);
        let labels = self.labels(&[("alertname", "TidegateStoreDown"), ("severity", "critical")]);
        self.board.send_if_modified(|board| {
            let before = board.firing(now);
            board.resolve(&labels, annotations, now);
            board.firing(now) != before
        });
    }

    /// Raises the alert that a limit is nearly used up for some key, until that limit would have forgotten it. The key is
    /// no label: an alert is of a limit, and whoever floods it with keys must not flood a pager.
    pub fn limit_nearing(&self, nearing: &Nearing) {
        let now = SystemTime::now();
        let Nearing { limit, identity, used, of, alert_at, reset_after, .. } = nearing;
        let key = identity.as_ref().map(|identity| format!(", for the key {identity}")).unwrap_or_default();
        let mut annotations = words([
            ("summary", format!("The limit {limit} has risen to its alert_at of {alert_at} %")),
            ("description", format!("{used} of {of} units are used up{key}.")),
        ]);
        annotations.extend(identity.iter().map(|identity| ("key".to_owned(), identity.clone())));
        let labels =
            self.labels(&[("alertname", "TidegateLimitNearing"), ("severity", "warning"), ("limit", limit)]);
        let ends_at = now.checked_add(Duration::from_micros(reset_after.as_micros()));
        self.raise(Alert { labels, annotations, starts_at: now, ends_at });
    }

    fn raise(&self, alert: Alert) {
        self.board.send_modify(|board| board.raise(alert, SystemTime::now()));
    }

    /// Returns an alert's labels: the policy's, which may say another severity, and those that say what it is.
    fn labels(&self, own: &[(&str, &str)]) -> Words {
        let mut labels = Words::clone(&self.labels);
        for (name, value) in own {
            if *name == "severity" && labels.contains_key("severity") {
                continue;
            }
            labels.insert((*name).to_owned(), (*value).to_owned());
        }
        labels
    }
}

fn words<const N: usize>(pairs: [(&str, String); N]) -> Words {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
