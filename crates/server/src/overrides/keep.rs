//! Seeing what other instances change, and ending what has ended.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tidegate::StoreError;
use tidegate_store::jittered;
use tokio::time::Instant;

use super::Overrides;
use crate::watch::aside;

/// How often the store is asked at least: everybody sees a change within a second.
const EVERY: Duration = Duration::from_millis(500);
/// How long a start waits for the store's overrides.
const FIRST: Duration = Duration::from_millis(250);
/// How soon it asks again meanwhile.
const SOON: Duration = Duration::from_millis(20);

impl Overrides {
    /// Reads what is in the store before anything is served, and waits a little for a connection to be made.
    pub(crate) async fn begin(&self) {
        let read = async {
            while self.look().await.is_err() {
                tokio::time::sleep(SOON).await;
            }
        };
        // Whoever is served meanwhile is served by the file.
        let _ = tokio::time::timeout(FIRST, read).await;
    }

    /// Keeps what is in force as the store says it, until `stop` completes.
    pub(crate) async fn keep(&self, stop: impl Future<Output = ()>) {
        tokio::select! {
            () = stop => {}
            () = self.follow() => {}
        }
    }

    async fn follow(&self) {
        let mut failing = false;
        loop {
            let this = self.clone();
            let next = aside(move || this.end(Instant::now())).await;
            let pause = Instant::now() + jittered(EVERY);
            tokio::time::sleep_until(next.map_or(pause, |next| next.min(pause))).await;
            // What is in force then stays until its end, and a store that is gone is left to those who look for its return.
            if self.limiter.store_health().is_down() {
                continue;
            }
            match self.look().await {
                Err(error) if !failing => {
                    tracing::warn!(%error, "the overrides in the store cannot be read; those in force stay until they end");
                    failing = true;
                }
                Ok(()) if failing => {
                    tracing::info!("the overrides in the store can be read again");
                    failing = false;
                }
                _ => {}
            }
        }
    }

    /// Puts into force what the store says.
    async fn look(&self) -> Result<(), StoreError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let store = self.limiter.store();
        let Some(notes) = store.notes() else { return Ok(()) };
        let found = notes.all().await?;
        let (this, received) = (self.clone(), Instant::now());
        // The turn ends with the installing, which goes on when nobody waits for it any more.
        aside(move || {
            this.install(&found, received, None);
            drop(turn);
        })
        .await;
        Ok(())
    }
}
