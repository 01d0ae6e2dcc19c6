//! A store in a Redis, asked as a gateway asks it.

use tidegate_algorithms::{Ask, Quota};
use tidegate_store::{Check, LimitId, Measures, Store as _, StoreError};
use tidegate_store_redis::{RedisOptions, RedisStore, Secret, Servers};

use crate::outcome::{Fault, Outcome, Said};
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
    /// Begins to keep a connection, inside a runtime.
    pub(super) fn new(redis: &RedisPlace, quota: &Quota) -> Result<Self, String> {
        let servers = Servers::Standalone { host: redis.host.clone(), port: redis.port };
        let mut options = RedisOptions::new(servers, Secret::new(SECRET));
        PREFIX.clone_into(&mut options.prefix);
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

    pub(super) fn measures(&self) -> Measures {
        self.store.measures()
    }
}

fn fault(error: &StoreError) -> Fault {
    if error.is_timeout() {
        Fault::Timeout
    } else if error.is_unavailable() {
        Fault::Connect
    } else {
        Fault::Status
    }
}
