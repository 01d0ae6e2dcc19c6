//! The store a policy names, when it is not in this process.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tidegate::Store;
use tidegate_policy::{Identities, Policy, RedisChoice, RedisServers, RedisTls, SharedCounter, StoreChoice};
use tidegate_store_redis::{OptionsError, RedisOptions, RedisStore, Secret, Servers, Tls};

/// Why the store a policy names cannot be made; whether it answers is another matter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SharedStoreError {
    /// A file with a certificate or a key cannot be read.
    #[error("{field}: {path}: {source}; {}", remedy(source))]
    File {
        /// The policy's field.
        field: &'static str,
        /// The path.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file of authorities or of a certificate holds none.
    #[error(
        "{field}: {path} holds no certificate; it has to have a block that begins with -----BEGIN CERTIFICATE-----"
    )]
    NoCertificate {
        /// The policy's field.
        field: &'static str,
        /// The path.
        path: String,
    },
    /// There is no secret to name keys under.
    #[error(
        "key_secret_file is missing: keys leave this process for Redis only under a secret that all instances share"
    )]
    NoSecret,
    /// Something the policy says cannot be right.
    #[error(transparent)]
    Options(#[from] OptionsError),
}

/// Begins to keep a connection to the store that a policy names, inside a runtime; `None` when that is in this process.
///
/// # Errors
/// When a file cannot be read or an option cannot be right. A server that is not there is no error.
pub fn connect(policy: &Policy) -> Result<Option<RedisStore>, SharedStoreError> {
    let StoreChoice::Redis(redis) = &policy.store else { return Ok(None) };
    let mut options = options(redis, policy.identities.as_ref())?;
    let counters = policy.limits().filter_map(|limit| limit.shared_counter.as_ref());
    let counters: BTreeSet<&str> = counters.map(SharedCounter::name).collect();
    options.shared_counters = counters.into_iter().map(str::to_owned).collect();
    Ok(Some(RedisStore::connect(options)?))
}

/// As [`connect`], for a limiter.
pub(crate) fn shared(policy: &Policy) -> Result<Option<Arc<dyn Store>>, SharedStoreError> {
    Ok(connect(policy)?.map(|store| Arc::new(store) as Arc<dyn Store>))
}

fn options(redis: &RedisChoice, identities: Option<&Identities>) -> Result<RedisOptions, SharedStoreError> {
    let secret = identities.ok_or(SharedStoreError::NoSecret)?.store_secret();
    let password = |password: &tidegate_policy::RedisPassword| Secret::new(password.reveal());
    let servers = match redis.servers.clone() {
        RedisServers::Standalone { host, port } => Servers::Standalone { host, port },
        RedisServers::Sentinel { sentinels, name, username, password: secret } => {
            Servers::Sentinel { sentinels, name, username, password: secret.as_ref().map(password) }
        }
        RedisServers::Cluster { seeds } => Servers::Cluster { seeds },
    };
    let mut options = RedisOptions::new(servers, Secret::new(secret));
    options.prefix.clone_from(&redis.prefix);
    options.timeout = redis.timeout.as_duration();
    options.queue = redis.queue;
    options.username.clone_from(&redis.username);
    options.password = redis.password.as_ref().map(password);
    options.database = redis.database.into();
    options.tls = redis.tls.as_ref().map(tls).transpose()?;
    Ok(options)
}

fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "write its path as it is from the policy's folder",
        _ => "give the process the right to read it",
    }
}

fn tls(files: &RedisTls) -> Result<Tls, SharedStoreError> {
    let read = |field, path: &Path| {
        std::fs::read(path).map_err(|source| SharedStoreError::File {
            field,
            path: path.display().to_string(),
            source,
        })
    };
    // The client library takes a file without any for nobody to trust, and then tells of the server's certificate.
    let certificates = |field, path: &Path| {
        let bytes = read(field, path)?;
        match CertificateDer::pem_slice_iter(&bytes).next() {
            Some(Ok(_)) => Ok(bytes),
            _ => Err(SharedStoreError::NoCertificate { field, path: path.display().to_string() }),
        }
    };
    let authorities =
        files.ca_file.as_deref().map(|path| certificates("store.redis.ca_file", path)).transpose()?;
    let identity = match (&files.certificate_file, &files.key_file) {
        (Some(certificate), Some(key)) => {
            let certificate = certificates("store.redis.certificate_file", certificate)?;
            Some((certificate, Secret::new(read("store.redis.key_file", key)?)))
        }
        _ => None,
    };
    Ok(Tls { authorities, identity })
}

#[cfg(test)]
mod tests {
    use tidegate_policy::{Reading, Surroundings};

    use super::*;

    /// A secret in memory.
    struct Secrets;

    impl Surroundings for Secrets {
        fn file(&self, _: &str) -> Result<Vec<u8>, String> {
            Ok(b"0123456789abcdef0123456789abcdef".to_vec())
        }

        fn variable(&self, _: &str) -> Option<String> {
            None
        }
    }

    /// The file and the library each say what holds unless something is said, and neither sees the other.
    #[test]
    fn what_a_policy_leaves_out_is_what_the_store_has_unless_said() {
        let text = "tidegate: 1
key_secret_file: secret
store: { redis: { url: \"redis://a\" } }
rules: [{ name: r, match: { path: /** }, limits: [{ name: l, says: Ten., key: client_ip, sliding_log: { limit: 10, window: 1m } }] }]
";
        let policy = Reading::of(&Secrets).embedded().parse("policy.yaml", text).unwrap();
        let StoreChoice::Redis(redis) = &policy.store else { panic!("{:?}", policy.store) };
        let read = options(redis, policy.identities.as_ref()).unwrap();
        let unless_said = RedisOptions::new(read.servers.clone(), read.secret.clone());
        assert_eq!(format!("{read:?}"), format!("{unless_said:?}"));
        assert_eq!(read.secret, unless_said.secret);
    }
}
