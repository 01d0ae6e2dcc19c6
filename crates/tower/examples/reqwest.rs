//! A client that keeps to a limit: each request waits until it may be sent, rather than being refused by the service.
//!
//! ```sh
//! cargo run -p tidegate-tower --example reqwest -- http://127.0.0.1:3000/
//! ```

use std::error::Error;
use std::time::Duration;

use reqwest::{Client, Method, Request, StatusCode};
use tidegate::{Limit, Limiter, Quota, Rate, Span};
use tidegate_tower::PaceLayer;
use tower::{Service, ServiceBuilder, ServiceExt};

/// Asks a service so many times at once, `per_second` of them a second, and returns how it answered.
pub(crate) async fn ask(
    url: &str,
    times: usize,
    per_second: u32,
) -> Result<Vec<StatusCode>, Box<dyn Error + Send + Sync>> {
    // A leaky bucket spaces requests out; its queue is the most that may wait.
    let pace = Quota::leaky_bucket(Rate::new(per_second.into(), Span::from_secs(1))?, 10_000)?;
    let limiter = Limiter::in_memory([Limit::new("service", pace)])?;
    // The service counts each of its hosts by itself.
    let layer = PaceLayer::new(limiter, "service", Duration::from_mins(1))?
        .keyed(|request: &Request| request.url().host_str().unwrap_or_default().to_owned());
    let client = ServiceBuilder::new().layer(layer).service(Client::new());

    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..times {
        let (mut client, request) = (client.clone(), Request::new(Method::GET, url.parse()?));
        asked.spawn(async move { client.ready().await?.call(request).await });
    }
    let mut statuses = Vec::new();
    while let Some(answer) = asked.join_next().await {
        statuses.push(answer??.status());
    }
    Ok(statuses)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:3000/".to_owned());
    let statuses = ask(&url, 20, 5).await?;
    let well = statuses.iter().filter(|status| status.is_success()).count();
    // An example tells whoever runs it.
    std::io::Write::write_fmt(
        &mut std::io::stdout(),
        format_args!("{well} of {} went well\n", statuses.len()),
    )?;
    Ok(())
}
