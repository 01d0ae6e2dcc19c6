//! TLS for a listener: a certificate chain and its key from PEM files, HTTP/2 and HTTP/1.1 offered by ALPN.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
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
}

/// Loads a certificate chain and its private key (PKCS#8, PKCS#1 or SEC1) and returns an acceptor for them.
///
/// # Errors
/// Fails when a file cannot be read, holds no certificate or key, or when the two do not belong together.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let chain = read_chain(certificate)?;
    let private = read_key(key)?;
    let unusable =
        |source| TlsError::Unusable { certificate: certificate.to_owned(), key: key.to_owned(), source };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    const WHAT: &str = "certificate";
    let read = |source| TlsError::Read { what: WHAT, path: path.to_owned(), source };
    let chain =
        CertificateDer::pem_file_iter(path).map_err(read)?.collect::<Result<Vec<_>, _>>().map_err(read)?;
    if chain.is_empty() {
        return Err(TlsError::Missing { what: WHAT, label: "CERTIFICATE", path: path.to_owned() });
    }
    Ok(chain)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    const WHAT: &str = "private key";
    PrivateKeyDer::from_pem_file(path).map_err(|source| match source {
        pem::Error::NoItemsFound => {
            TlsError::Missing { what: WHAT, label: "PRIVATE KEY", path: path.to_owned() }
        }
        source => TlsError::Read { what: WHAT, path: path.to_owned(), source },
    })
}
