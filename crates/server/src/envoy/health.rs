//! gRPC's standard health service, for whoever chooses instances by it.
//!
//! It says `NOT_SERVING` once a stop was asked for, and ends the streams of those who watch: they would hold the stop up. A
//! store that is gone changes nothing, as for readiness: every instance would go at once.

use std::pin::Pin;

use futures_util::{Stream, StreamExt, stream};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::SERVICE;

/// The whole server, the service, and the name that envoyproxy/ratelimit goes by.
const SERVICES: [&str; 3] = ["", SERVICE, "ratelimit"];

/// The service's health: that of the process.
#[derive(Debug)]
pub(super) struct Serving {
    pub(super) draining: CancellationToken,
}

impl Serving {
    /// Returns a service's status, `None` for one that is not here.
    fn status(&self, service: &str) -> Option<ServingStatus> {
        let status =
            if self.draining.is_cancelled() { ServingStatus::NotServing } else { ServingStatus::Serving };
        SERVICES.contains(&service).then_some(status)
    }
}

fn said(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

#[tonic::async_trait]
impl Health for Serving {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = &request.get_ref().service;
        let status = self.status(service).ok_or_else(|| {
            Status::not_found(format!("no service {service:?} here; ask about \"\", {SERVICE} or ratelimit"))
        })?;
        Ok(Response::new(said(status)))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let now = self.status(&request.get_ref().service);
        let draining = self.draining.clone().cancelled_owned();
        let later = stream::once(async move {
            draining.await;
            // A service that is not here does not end with the others; its stream does.
            now.filter(|now| *now == ServingStatus::Serving).map(|_| Ok(said(ServingStatus::NotServing)))
        });
        let first = stream::once(std::future::ready(Ok(said(now.unwrap_or(ServingStatus::ServiceUnknown)))));
        Ok(Response::new(Box::pin(first.chain(later.filter_map(std::future::ready)))))
    }
}
