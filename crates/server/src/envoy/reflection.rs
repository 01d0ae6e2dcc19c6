//! gRPC's standard reflection service: tools such as grpcurl ask by it what can be called.
//!
//! `reflection.bin` is the definition of the service with all that it refers to, as a `FileDescriptorSet`. A test makes it
//! anew from the definitions that our messages come from, and fails where it differs.

use axum::Router;
use tonic_reflection::server::Builder;

use super::with;

/// The rate-limit service's definition.
const SERVICE_SET: &[u8] = include_bytes!("reflection.bin");

/// Returns the builder of the service, in either of its versions.
fn builder() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(SERVICE_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Adds both versions of the service to what is served.
pub(super) fn add(router: Router) -> Router {
    match (builder().build_v1(), builder().build_v1alpha()) {
        (Ok(v1), Ok(v1alpha)) => with(with(router, v1), v1alpha),
        (Err(error), _) | (_, Err(error)) => {
            tracing::error!(%error, "there is no reflection: its definitions cannot be read");
            router
        }
    }
}

#[cfg(test)]
mod tests;
