//! A store in a Redis, asked as a gateway asks it.

use std::time::Duration;

use tidegate_algorithms::{Ask, Quota};
use tidegate_store::{Check, LimitId, Store as _, StoreError};
use tidegate_store_redis::{RedisOptions, RedisStore, Secret, Servers};

use crate::outcome::{Fault, Odd, Outcome, Said};
use crate::people::Who;
use crate::target::RedisPlace;

/// What the names of keys begin with, which keeps them apart from those of gateways.
const PREFIX: &str = "tidegate-loadtest";
/// Keys are those of a load test and hide nobody.
const SECRET: &str = "the keys of a load test are nobody's";
/// The limit's name.
pub(crate) const LIMIT: &str = "loadtest";

/// A store.
#[derive(Debug)]
pub(crate) struct Door {
    store: RedisStore,
    limit: LimitId,
    quota: Quota,
}

impl Door {
    /// Begins to keep a connection, inside a runtime, on which an answer is waited for so long.
    pub(super) fn new(redis: &RedisPlace, quota: &Quota, timeout: Duration) -> Result<Self, String> {
        let servers = Servers::Standalone { host: redis.host.clone(), port: redis.port };
        let mut options = RedisOptions::new(servers, Secret::new(SECRET));
        PREFIX.clone_into(&mut options.prefix);
        options.timeout = timeout;
        let store = RedisStore::connect(options).map_err(|error| error.to_string())?;
        let limit = store.limit(LIMIT);
        Ok(Self { store, limit, quota: *quota })
    }

    /// Waits until the store answers.
    pub(super) async fn ready(&self) -> Result<(), Fault> {
        self.store.ping().await.map_err(|error| fault(&error))
    }

    pub(super) async fn ask(&self, who: Who) -> Outcome {
        let key = who.to_string();
        let check = Check {
            limit: self.limit,
            key: key.as_bytes(),
            quota: &self.quota,
            ask: Ask::ONE,
            shadow: false,
        };
        let decided = self.store.decide(&[check], None).await.map_err(|error| fault(&error))?;
        Ok(if decided.admitted { Said::Admitted } else { Said::Refused })
    }

    /// Returns how many calls it has made.
    pub(super) fn calls(&self) -> u64 {
        self.store.measures().calls.iter().map(|(_, count)| count).sum()
    }
}

fn fault(error: &StoreError) -> Fault {
    if error.is_timeout() {
        Fault::Timeout
    } else if error.is_unavailable() {
        Fault::Connect
    } else {
        Fault::Status(Odd::Unread)
    }
}
