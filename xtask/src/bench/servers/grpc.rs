//! Load over gRPC: a few connections of HTTP/2 with some streams each, every one of which asks again as soon as it has its
//! answer. It is the same for all servers.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, Request};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::super::computed::figures::percentile;
use super::super::computed::message::{Calls, first_number};
use super::super::memory::race::pin;
use super::super::process::{ASKING, loopback};
use super::super::redis::keys::Random;
use super::super::subject::Turn;

pub(super) const CONNECTIONS: u64 = 4;
pub(super) const STREAMS: u64 = 16;

/// Puts the load on the server of that port for so long, from the processor of those who ask. Returns how it went, and how many
/// calls were admitted.
///
/// # Errors
/// When a call fails, or is answered by what is neither an admission nor a refusal.
pub(super) fn run(calls: &Calls, port: u16, seconds: f64) -> Result<(Turn, u64)> {
    let asked = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            pin(ASKING)?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(tokio::task::LocalSet::new().run_until(ask(calls, port, seconds)))
        });
        thread.join()
    });
    asked.map_err(|_| anyhow!("the generator panicked"))?
}

/// What a stream has seen.
#[derive(Default)]
struct Asked {
    admitted: u64,
    /// Microseconds of each call.
    waits: Vec<u32>,
}

async fn ask(calls: &Calls, port: u16, seconds: f64) -> Result<(Turn, u64)> {
    let mut streams = JoinSet::new();
    let began = Instant::now();
    let until = began + Duration::from_secs_f64(seconds);
    let shared = std::rc::Rc::new(Shared::of(calls, port)?);
    for connection in 0..CONNECTIONS {
        let stream = TcpStream::connect(loopback(port)).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) = h2::client::handshake(stream).await?;
        tokio::task::spawn_local(async move {
            // When it breaks, the calls on it say so.
            let _ = driver.await;
        });
        for number in 0..STREAMS {
            let (sender, shared) = (sender.clone(), std::rc::Rc::clone(&shared));
            let random = Random::new(connection * STREAMS + number);
            streams.spawn_local(async move { shared.stream(sender, random, until).await });
        }
    }
    let mut all = Asked::default();
    while let Some(one) = streams.join_next().await {
        let one = one??;
        all.admitted += one.admitted;
        all.waits.extend(one.waits);
    }
    let took = began.elapsed().as_secs_f64();
    ensure!(!all.waits.is_empty(), "nothing was answered");
    all.waits.sort_unstable();
    #[allow(clippy::cast_precision_loss, reason = "calls of seconds")]
    let rate = all.waits.len() as f64 / took;
    let turn = Turn { requests: all.waits.len() as u64, rate, p99: percentile(&all.waits, 99.0) };
    Ok((turn, all.admitted))
}

/// What all streams send.
struct Shared {
    request: Request<()>,
    messages: Vec<Bytes>,
    admits: u64,
    refuses: u64,
}

impl Shared {
    fn of(calls: &Calls, port: u16) -> Result<Self> {
        let request = Request::post(format!("http://127.0.0.1:{port}{}", calls.path))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())?;
        let messages = calls.messages.iter().map(|message| Bytes::copy_from_slice(message)).collect();
        Ok(Self { request, messages, admits: calls.admits, refuses: calls.refuses })
    }

    /// Calls again and again.
    async fn stream(
        &self,
        mut sender: SendRequest<Bytes>,
        mut random: Random,
        until: Instant,
    ) -> Result<Asked> {
        let mut asked = Asked::default();
        loop {
            let began = Instant::now();
            if began >= until {
                return Ok(asked);
            }
            let message = self.messages.get(random.below(self.messages.len())).cloned().unwrap_or_default();
            asked.admitted += u64::from(self.call(&mut sender, message).await?);
            asked.waits.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
        }
    }

    /// Makes one call, and returns whether it was admitted.
    async fn call(&self, sender: &mut SendRequest<Bytes>, message: Bytes) -> Result<bool> {
        let mut ready = sender.clone().ready().await?;
        let (response, mut body) = ready.send_request(self.request.clone(), false)?;
        body.send_data(message, true)?;
        let response = response.await?;
        ensure!(response.status() == 200, "the status {}", response.status());
        let (parts, mut body) = response.into_parts();
        let mut answer = BytesMut::new();
        while let Some(piece) = body.data().await {
            let piece = piece?;
            body.flow_control().release_capacity(piece.len())?;
            answer.extend_from_slice(&piece);
        }
        let trailers = body.trailers().await?;
        succeeded(trailers.as_ref().unwrap_or(&parts.headers))?;
        match first_number(&answer).context("an answer that is no message")? {
            number if number == self.admits => Ok(true),
            number if number == self.refuses => Ok(false),
            other => bail!("an answer of {other}"),
        }
    }
}

fn succeeded(trailers: &HeaderMap) -> Result<()> {
    let status = trailers.get("grpc-status").context("no status of gRPC")?;
    ensure!(status == "0", "the status {status:?} of gRPC: {:?}", trailers.get("grpc-message"));
    Ok(())
}
