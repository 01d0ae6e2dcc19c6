//! Forward-auth: what a call is answered, and what real proxies make of it.

mod caddy;
mod calls;
mod haproxy;
mod nginx;
mod page;
mod redirects;
mod repeats;
mod world;
