//! The load test: how fast a limiter decides, and what everybody else feels of a flood.
//!
//! A [`Plan`](plan::Plan) says whom to ask (a [`Target`](target::Target)), who asks (a [`Shape`](plan::Shape) of classes of
//! traffic), and when: by a schedule of arrivals (open loop), or each connection as soon as it has its answer (closed loop).
//! [`run`](run::run) plays it in phases, [`report`] tells what was seen, in words, JSON and as a page.
//!
//! In an open loop a latency counts from when a request was meant to be sent. A client that waits for an answer before it asks
//! again leaves out, of a target that stalls, just the requests that would have had to wait: what it measures then is its own
//! patience (coordinated omission). Here they are all counted, each with its wait.
//!
//! The generator watches itself: how late it was against its own schedule, and how busy its threads were. Where it could not
//! have offered more, it says so and blames nobody else.

mod arrivals;
mod clock;
mod door;
mod lane;
pub mod machine;
mod outcome;
mod people;
pub mod plan;
pub mod report;
pub mod run;
mod scrape;
mod tally;
pub mod target;
pub mod template;
mod worker;
