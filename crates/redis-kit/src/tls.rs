//! Certificates made on the spot, so that none expires.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use crate::Server;
use crate::server::temporary;

/// An authority, with a server's and a client's certificate by it.
#[derive(Debug)]
pub struct Certificates {
    /// The authority's certificate, as PEM.
    pub authority: String,
    /// The client's certificate and its key, both as PEM.
    pub client: (String, String),
    folder: PathBuf,
}

impl Certificates {
    /// Makes all of them; the server's is for `localhost` and 127.0.0.1.
    pub fn make() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // One that is named as what it signs looks to OpenSSL as if it had signed itself.
        params.distinguished_name.push(DnType::CommonName, "an authority of tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let issue = |names: &[&str]| {
            let key = KeyPair::generate().unwrap();
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
            (certificate.pem(), key.serialize_pem())
        };
        let folder = temporary("certificates");
        std::fs::create_dir_all(&folder).unwrap();
        let server = issue(&["localhost", "127.0.0.1"]);
        for (name, pem) in
            [("authority.pem", &authority), ("server.pem", &server.0), ("server.key", &server.1)]
        {
            std::fs::write(folder.join(name), pem).unwrap();
        }
        Self { authority, client: issue(&["client"]), folder }
    }

    /// Starts Debian's Redis with some arguments besides; it speaks TLS alone, with clients that show a certificate.
    pub fn start_server(&self, arguments: &[&str]) -> Server {
        let path = |name: &str| self.folder.join(name).to_string_lossy().into_owned();
        let (authority, certificate, key) = (path("authority.pem"), path("server.pem"), path("server.key"));
        let tls = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-ca-cert-file", &authority];
        Server::start(&[tls.as_slice(), &["--tls-auth-clients", "yes"], arguments].concat())
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
