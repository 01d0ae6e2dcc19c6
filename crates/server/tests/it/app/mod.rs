//! The whole application: every face of a policy on real sockets, before a real upstream.

mod bad_input;
mod changes;
mod faces;
mod failures;
mod gateway;
mod metrics;
mod outage;
mod overrides;
mod redis;
mod reload;
mod reset;
mod unread;
mod world;
