//! Reloading when asked to, and watching the files of a policy.
//!
//! Files are watched by content, twice a second, and not by the system's events: those are of names, and each way to
//! replace a file (renaming another over it, leading a link elsewhere, writing into it, a volume that Kubernetes
//! mounts) sends others or, over a network, none. A change is taken once two looks in a row saw the same bytes, and
//! the policy was read from just those.

mod look;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidegate::files::{LoadError, Loaded, Source};
use tidegate_policy::Policy;
use tokio::task::JoinHandle;

use crate::reload::{
    Changes, ReloadError, Reloader, Shared, warn_of_findings, warn_of_shadow, warn_of_words,
};
use look::Look;

/// How long to wait between two looks. A change is taken by the second look after it, within two seconds.
const EVERY: Duration = Duration::from_millis(500);

/// What is known of a policy's files.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// What is in force.
    kept: Look,
    /// What the last look saw, if it was another.
    seen: Option<Look>,
    /// Files beyond those in force that a change refers to.
    more: BTreeSet<PathBuf>,
    /// The fingerprint of what was last refused, so that it is told once.
    refused: Option<[u8; 32]>,
}

impl Watched {
    /// Begins with the files of a policy that is in force.
    pub(crate) fn of(policy: &Policy, sources: &[Source]) -> Self {
        Self { kept: look_at(policy, sources), ..Self::default() }
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.kept.paths().chain(&self.more).cloned().collect()
    }
}

/// Looks at all files of a policy; what was read of them to make it counts, whatever they hold by now.
fn look_at(policy: &Policy, sources: &[Source]) -> Look {
    let paths = sources.iter().map(|source| source.path.clone()).chain(policy.files().cloned());
    let mut look = Look::at(paths);
    for source in sources {
        look.note(&source.path, source.digest);
    }
    look
}

impl Reloader {
    /// Reads the policy anew and puts it into force, whatever became of its files.
    ///
    /// # Errors
    /// When it cannot be put into force; the one that is stays, whole.
    pub async fn reload(&self) -> Result<Changes, ReloadError> {
        let this = self.clone();
        // On its own: whoever asked may leave, and half of it must not be all.
        finished(tokio::spawn(async move { this.reload_now().await })).await
    }

    async fn reload_now(&self) -> Result<Changes, ReloadError> {
        let mut watched = self.shared.watched.lock().await;
        let done = match self.load().await {
            Ok(loaded) => self.put_into_force(loaded, &mut watched).await,
            Err(error) => {
                if let ReloadError::Load(error) = &error {
                    watched.more.extend(error.sources().iter().map(|source| source.path.clone()));
                }
                Err(error)
            }
        };
        if let Err(error) = &done {
            self.shared.status.refuse(error);
            if matches!(error, ReloadError::NoFile) {
                // No file is at fault, and none can be mended.
                self.shared.status.recover();
            }
            // What was told just now is not told again by the next look.
            let look = look(watched.paths()).await;
            watched.refused = Some(look.fingerprint());
            watched.seen = Some(look);
        }
        done
    }

    /// Watches the policy's files, and puts into force what they come to say, until it is dropped.
    pub async fn watch(&self) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.look_once().await;
            self.shared.in_force.limiter.look_back();
        }
    }

    async fn look_once(&self) {
        let mut watched = self.shared.watched.lock().await;
        let now = look(watched.paths()).await;
        if now.covers(&watched.kept) {
            watched.seen = None;
            watched.more.clear();
            if watched.refused.take().is_some() {
                self.shared.status.recover();
                tracing::info!("the policy's files are again what is in force");
            }
            return;
        }
        if watched.seen.as_ref() != Some(&now) {
            watched.seen = Some(now);
            return;
        }
        let fingerprint = now.fingerprint();
        if watched.refused == Some(fingerprint) {
            return;
        }
        let refused = match look_amiss(&now, &watched.kept) {
            Some(why) => Some(why),
            None => self.take(&now, &mut watched).await,
        };
        if let Some(why) = refused {
            watched.refused = Some(fingerprint);
            self.shared.status.refuse(&why);
        }
    }

    /// Puts into force what two looks have seen, and returns why not when it is refused. When the policy turns out to
    /// refer to more files, or was read from other bytes than were seen, that is left to later looks.
    async fn take(&self, now: &Look, watched: &mut Watched) -> Option<String> {
        let loaded = match self.load().await {
            Ok(loaded) => loaded,
            Err(ReloadError::Load(error)) => {
                return (!extend(watched, now, error.sources(), [])).then(|| error.to_string());
            }
            Err(error) => return Some(error.to_string()),
        };
        if extend(watched, now, &loaded.sources, loaded.policy.files()) {
            return None;
        }
        self.put_into_force(loaded, watched).await.err().map(|error| error.to_string())
    }

    async fn load(&self) -> Result<Loaded, ReloadError> {
        if self.shared.load.is_none() {
            return Err(ReloadError::NoFile);
        }
        let shared = Arc::clone(&self.shared);
        let load = move || shared.load.as_ref().map(|load| load());
        let loaded: Option<Result<Loaded, LoadError>> = aside(load).await;
        loaded.ok_or(ReloadError::NoFile)?.map_err(ReloadError::Load)
    }

    async fn put_into_force(&self, loaded: Loaded, watched: &mut Watched) -> Result<Changes, ReloadError> {
        let shared = Arc::clone(&self.shared);
        let (look, sources, done) = aside(move || {
            let Loaded { policy, sources } = loaded;
            // Before certificates and tokens are read: what changes in between is seen by the next look.
            let look = look_at(&policy, &sources);
            let done = shared.in_force.replace(policy);
            (look, sources, done)
        })
        .await;
        match &done {
            Ok(changes) => {
                *watched = Watched { kept: look, ..Watched::default() };
                self.tell(changes, &sources);
            }
            Err(_) => watched.more.extend(look.paths().cloned()),
        }
        done
    }

    fn tell(&self, changes: &Changes, sources: &[Source]) {
        let Shared { status, .. } = &*self.shared;
        status.apply(sources);
        let version = status.version().hash;
        for change in &changes.lines {
            tracing::info!(version, "the policy changes {change}");
        }
        tracing::info!(version, "the policy was reloaded: {changes}");
        if let Some(policy) = self.shared.in_force.limiter.policy() {
            warn_of_shadow(&policy);
            warn_of_words(&policy);
            warn_of_findings(&policy);
        }
    }
}

/// Says what looks like an accident rather than a new policy.
fn look_amiss(now: &Look, kept: &Look) -> Option<String> {
    if let Some(path) = now.gone_since(kept) {
        return Some(format!("{} cannot be read any more; put it back", path.display()));
    }
    let path = now.truncated_since(kept)?;
    Some(format!(
        "{} holds only the beginning of what it held, so it is taken for cut off; if it is meant so, send SIGHUP",
        path.display()
    ))
}

/// Returns whether a later look has to decide: files are named that were not looked at yet, or held something else.
fn extend<'a>(
    watched: &mut Watched,
    now: &Look,
    sources: &'a [Source],
    named: impl IntoIterator<Item = &'a PathBuf>,
) -> bool {
    let paths: Vec<_> = sources.iter().map(|source| &source.path).chain(named).collect();
    let unknown = paths.iter().any(|path| !now.has(path));
    if unknown {
        watched.more.extend(paths.into_iter().cloned());
    }
    let later = unknown || !sources.iter().all(|source| now.holds(&source.path, &source.digest));
    if later {
        watched.seen = None;
    }
    later
}

async fn look(paths: Vec<PathBuf>) -> Look {
    aside(move || Look::at(paths)).await
}

/// Runs what reads files where it holds up nobody.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    finished(tokio::task::spawn_blocking(work)).await
}

/// Waits for a task, which ends whether somebody waits or not.
pub(crate) async fn finished<T>(task: JoinHandle<T>) -> T {
    match task.await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and with it whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}
