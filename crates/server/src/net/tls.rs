//! TLS for a listener: a certificate chain and its key from PEM files, HTTP/2 and HTTP/1.1 offered by ALPN.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tidegate::files::read_regular;
use tokio_rustls::TlsAcceptor;

/// Why TLS could not be set up; the words name the file and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read, or holds broken PEM.
    #[error(
        "cannot read {what} from {}: {source}; it must be a PEM file that this process may read",
        path.display()
    )]
    Read {
        /// What the file should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: pem::Error,
    },
    /// A file holds no block of the kind asked for.
    #[error("{} holds no {what}: it must be PEM with a `-----BEGIN {label}-----` block", path.display())]
    Missing {
        /// What the file should hold.
        what: &'static str,
        /// The PEM label looked for.
        label: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The key is not the certificate's, or of a kind not supported.
    #[error(
        "the certificate in {} cannot be used with the key in {}: {source}; the first certificate must be the server's own",
        certificate.display(), key.display()
    )]
    Unusable {
        /// The certificate file.
        certificate: PathBuf,
        /// The key file.
        key: PathBuf,
        /// What rustls says.
        source: rustls::Error,
    },
    /// The build knows no version of TLS.
    #[error("TLS cannot be set up: {0}")]
    Versions(#[source] rustls::Error),
}

/// Loads a certificate chain and its private key (PKCS#8, PKCS#1 or SEC1) and returns an acceptor for them.
///
/// # Errors
/// Fails when a file cannot be read, holds no certificate or key, or when the two do not belong together.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    Shown::read(certificate, key)?.acceptor()
}

/// The certificate that a listener shows, which can be replaced while it listens. Clones are the same certificate.
#[derive(Debug, Clone)]
pub struct Shown(Arc<Resolver>);

/// A certificate and its key, read and found to belong together.
#[derive(Debug, Clone)]
pub struct Certified(Arc<CertifiedKey>);

impl Certified {
    /// Reads a certificate chain and its private key.
    ///
    /// # Errors
    /// Fails when a file cannot be read, holds no certificate or key, or when the two do not belong together.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = read_chain(certificate)?;
        let private = read_key(key)?;
        let certified = CertifiedKey::from_der(chain, private, &rustls::crypto::ring::default_provider());
        let certified = certified.map_err(|source| TlsError::Unusable {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            source,
        })?;
        Ok(Self(Arc::new(certified)))
    }
}

impl Shown {
    /// Reads the certificate to begin with.
    ///
    /// # Errors
    /// As [`Certified::read`].
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let Certified(certified) = Certified::read(certificate, key)?;
        Ok(Self(Arc::new(Resolver(ArcSwap::new(certified)))))
    }

    /// Shows another certificate from the next handshake on.
    pub fn replace(&self, certified: Certified) {
        self.0.0.store(certified.0);
    }

    /// Builds an acceptor that shows it.
    ///
    /// # Errors
    /// Fails when the provider of ciphers knows no version of TLS.
    pub fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Resolver>::clone(&self.0);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Versions)?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

#[derive(Debug)]
struct Resolver(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    const WHAT: &str = "certificate";
    let read = |source| TlsError::Read { what: WHAT, path: path.to_owned(), source };
    let bytes = read_regular(path).map_err(|error| read(pem::Error::Io(error)))?;
    let chain = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>().map_err(read)?;
    if chain.is_empty() {
        return Err(TlsError::Missing { what: WHAT, label: "CERTIFICATE", path: path.to_owned() });
    }
    Ok(chain)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    const WHAT: &str = "private key";
    let bytes = read_regular(path).map_err(pem::Error::Io);
    bytes.and_then(|bytes| PrivateKeyDer::from_pem_slice(&bytes)).map_err(|source| match source {
        pem::Error::NoItemsFound => {
            TlsError::Missing { what: WHAT, label: "PRIVATE KEY", path: path.to_owned() }
        }
        source => TlsError::Read { what: WHAT, path: path.to_owned(), source },
    })
}
