//! The command as its users meet it: the real binary, its exit codes, its output, its signals.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod attack;
mod attack_envoy;
mod attack_live;
mod attack_mistakes;
mod attack_table;
mod bound;
mod cases;
mod check;
mod demo;
mod diff;
mod doctor;
mod explain;
mod help;
mod http;
mod import;
mod loadtest;
mod lost_pages;
mod named;
mod nginx_page;
mod overrides;
mod page;
mod process;
mod rate_limit_yaml;
mod reload;
mod restarts;
mod review;
mod seed_examined;
mod serve;
mod service;
mod shared;
mod store;
mod suites;
mod suites_envoy;
mod throttle;
mod topologies;
mod upstream;
mod why;
mod why_descriptors;
mod words;
