//! Making one connection: to a server, or to whichever the sentinels name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, Cmd, ConnectionAddr, IntoConnectionInfo, ProtocolVersion,
    PushInfo, RedisConnectionInfo, TlsCertificates, Value,
};
use tokio::sync::mpsc;

use crate::digest::Namer;
use crate::error::NoConnection;
use crate::measures::{Counters, Event};
use crate::options::{Secret, Servers, Tls};
use crate::script::Script;

/// How long each step of making a connection may take at least: names are resolved and keys exchanged in it.
const LEAST_PATIENCE: Duration = Duration::from_millis(500);

/// What to connect to.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Server {
        host: String,
        port: u16,
    },
    Primary {
        sentinels: Vec<(String, u16)>,
        name: String,
        username: Option<String>,
        password: Option<Secret>,
    },
}

impl Target {
    /// Returns what the servers of a store are; of a cluster no server in particular.
    pub(crate) fn of(servers: &Servers) -> Self {
        match servers.clone() {
            Servers::Standalone { host, port } => Self::Server { host, port },
            Servers::Sentinel { sentinels, name, username, password } => {
                Self::Primary { sentinels, name, username, password }
            }
            Servers::Cluster { .. } => Self::Server { host: String::new(), port: 0 },
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { host, port } => write!(f, "{host}:{port}"),
            Self::Primary { name, .. } => write!(f, "the primary of {name}"),
        }
    }
}

/// What every connection of a store is made with.
#[derive(Debug, Clone)]
pub(crate) struct Dialer {
    pub(crate) target: Target,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) tls: Option<Tls>,
    pub(crate) database: i64,
    pub(crate) timeout: Duration,
    pub(crate) script: Script,
    pub(crate) namer: Namer,
    pub(crate) prefix: String,
    pub(crate) counters: Arc<Counters>,
}

type Connected = (MultiplexedConnection, mpsc::UnboundedReceiver<PushInfo>);
/// A sentinel, and where it says that the primary is.
type Said = (String, Result<(String, u16), String>);

impl Dialer {
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Makes a connection and readies it: the user is known to the server, and the script loaded.
    ///
    /// # Errors
    /// With the reason, without a password.
    pub(crate) async fn dial(&self) -> Result<Connected, NoConnection> {
        match &self.target {
            Target::Server { host, port } => self.connect(host, *port, false).await,
            Target::Primary { .. } => self.dial_primary().await,
        }
    }

    /// Makes a connection to a server on which the user is known, and nothing more.
    ///
    /// # Errors
    /// With the reason, without a password.
    pub(crate) async fn open(&self, host: &str, port: u16) -> Result<Connected, NoConnection> {
        let redis = settings(self.username.as_deref(), self.password.as_ref(), self.database);
        let client = self.client(host, port, redis);
        let client = client.map_err(|error| NoConnection::of(&error).at(&format!("{host}:{port}: TLS")))?;
        let (sender, gone) = mpsc::unbounded_channel();
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.patience()))
            // Whoever asks has a deadline; a late answer is still read off the connection.
            .set_response_timeout(None)
            .set_push_sender(sender);
        let dialled = client.get_multiplexed_async_connection_with_config(&config);
        let connection = self.in_time(dialled).await;
        let connection = connection.map_err(|why| why.at(&format!("{host}:{port}: connecting")))?;
        Ok((connection, gone))
    }

    async fn connect(&self, host: &str, port: u16, must_be_primary: bool) -> Result<Connected, NoConnection> {
        let at = |what: &str| format!("{host}:{port}: {what}");
        let (mut connection, gone) = self.open(host, port).await?;
        if must_be_primary {
            let role = self.ask(&mut connection, &redis::cmd("ROLE")).await;
            if !is_primary(&role.map_err(|why| why.at(&at("ROLE")))?) {
                let why = NoConnection::from("the sentinels named a server that is no primary");
                return Err(why.at(&at("ROLE")));
            }
        }
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(self.script.source());
        self.ask(&mut connection, &load).await.map_err(|why| why.at(&at("SCRIPT LOAD")))?;
        self.compare_secrets(&mut connection).await;
        Ok((connection, gone))
    }

    fn client(&self, host: &str, port: u16, redis: RedisConnectionInfo) -> redis::RedisResult<Client> {
        let host = host.to_owned();
        let Some(tls) = &self.tls else {
            let info = ConnectionAddr::Tcp(host, port).into_connection_info()?;
            return Client::open(info.set_redis_settings(redis).set_tcp_settings(self.tcp()));
        };
        let address = ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None };
        let info = address.into_connection_info()?.set_redis_settings(redis).set_tcp_settings(self.tcp());
        let client_tls = tls.identity.as_ref().map(|(certificate, key)| ClientTlsConfig {
            client_cert: certificate.clone(),
            client_key: key.bytes().to_vec(),
        });
        Client::build_with_tls(info, TlsCertificates { client_tls, root_cert: tls.authorities.clone() })
    }

    /// Asks the sentinels, one after the other, until the server that one of them names turns out to be primary.
    async fn dial_primary(&self) -> Result<Connected, NoConnection> {
        let mut why = NoConnection::from("there are no sentinels");
        let Target::Primary { sentinels, name, username, password } = &self.target else { return Err(why) };
        for (host, port) in sentinels {
            let settings = settings(username.as_deref(), password.as_ref(), 0);
            // One that was cut off may name the primary of before.
            let dialled = match self.ask_sentinel(host, *port, settings, name).await {
                Ok((host, port)) => self.connect(&host, port, true).await,
                Err(error) => Err(error),
            };
            match dialled {
                Ok(connected) => return Ok(connected),
                Err(error) => why = error.at(&format!("sentinel {host}:{port}")),
            }
        }
        Err(why)
    }

    /// Returns what each sentinel says where the primary is.
    pub(crate) async fn sentinels_say(&self) -> Vec<Said> {
        let Target::Primary { sentinels, name, username, password } = &self.target else { return Vec::new() };
        let mut said = Vec::new();
        for (host, port) in sentinels {
            let settings = settings(username.as_deref(), password.as_ref(), 0);
            let primary = self.ask_sentinel(host, *port, settings, name).await;
            said.push((format!("{host}:{port}"), primary.map_err(|error| error.why)));
        }
        said
    }

    async fn ask_sentinel(
        &self,
        host: &str,
        port: u16,
        settings: RedisConnectionInfo,
        name: &str,
    ) -> Result<(String, u16), NoConnection> {
        let client = self.client(host, port, settings).map_err(|error| NoConnection::of(&error))?;
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(self.patience()));
        let mut connection =
            self.in_time(client.get_multiplexed_async_connection_with_config(&config)).await?;
        let mut question = redis::cmd("SENTINEL");
        question.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
        match self.ask(&mut connection, &question).await? {
            Value::Array(parts) => {
                let [Value::BulkString(host), Value::BulkString(port)] = parts.as_slice() else {
                    return Err("it answers what no sentinel does".into());
                };
                let port = std::str::from_utf8(port).ok().and_then(|port| port.parse().ok());
                let port = port.ok_or("it names no port")?;
                Ok((String::from_utf8_lossy(host).into_owned(), port))
            }
            Value::Nil => Err(format!("it watches no primary of the name {name:?}").into()),
            _ => Err("it answers what no sentinel does".into()),
        }
    }

    /// Asks over a connection, for as long as each step of making one may take.
    ///
    /// # Errors
    /// With the server's words, or that there were none in time.
    pub(crate) async fn ask(
        &self,
        connection: &mut MultiplexedConnection,
        cmd: &Cmd,
    ) -> Result<Value, NoConnection> {
        let answer = self.in_time(connection.send_packed_command(cmd)).await?;
        // The library hands a server's error over as a value.
        answer.extract_error().map_err(|error| NoConnection::of(&error))
    }

    async fn in_time<T>(&self, step: impl Future<Output = redis::RedisResult<T>>) -> Result<T, NoConnection> {
        let done = tokio::time::timeout(self.patience(), step).await;
        done.map_err(|_| "no answer in time")?.map_err(|error| NoConnection::of(&error))
    }

    /// Leaves the fingerprint of the secret, and looks whether another instance left another: two secrets are two sets of
    /// counts. Where the server does not permit it, or is a replica, nothing is compared.
    async fn compare_secrets(&self, connection: &mut MultiplexedConnection) {
        let (key, own) = (format!("{}:secret", self.prefix), self.namer.fingerprint());
        let mut leave = redis::cmd("SET");
        leave.arg(&key).arg(&own).arg("NX");
        let mut look = redis::cmd("GET");
        look.arg(&key);
        // It may be there already; whether it is ours is what the second question tells.
        let _ = self.ask(connection, &leave).await;
        if let Ok(Value::BulkString(held)) = self.ask(connection, &look).await
            && held != own.as_bytes()
        {
            self.counters.happened(Event::SecretDiffers, 1);
            tracing::error!(
                key,
                "another instance names keys under another secret, so that every limit is counted twice: give every \
                 instance the same key_secret_file, or delete this key if all of them have the new one"
            );
        }
    }

    /// Small calls are not held back to be sent together, and a peer that is gone without a word is noticed.
    fn tcp(&self) -> TcpSettings {
        TcpSettings::default().set_nodelay(true).set_user_timeout(self.patience() * 4)
    }

    fn patience(&self) -> Duration {
        self.timeout.max(LEAST_PATIENCE)
    }
}

fn settings(username: Option<&str>, password: Option<&Secret>, database: i64) -> RedisConnectionInfo {
    // The name of the library is worth no right of its own.
    let mut info = RedisConnectionInfo::default()
        .set_db(database)
        .set_protocol(ProtocolVersion::RESP3)
        .set_skip_set_lib_name();
    if let Some(username) = username {
        info = info.set_username(username);
    }
    if let Some(password) = password {
        info = info.set_password(String::from_utf8_lossy(password.bytes()));
    }
    info
}

fn is_primary(role: &Value) -> bool {
    let Value::Array(parts) = role else { return false };
    matches!(parts.first(), Some(Value::BulkString(role)) if role == b"master")
}
