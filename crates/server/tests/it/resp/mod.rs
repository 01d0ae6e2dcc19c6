//! `CL.THROTTLE` over real sockets: by clients of a Redis that are not ours, and byte by byte.

mod clients;
mod connections;
mod shared;
mod vectors;
mod world;
