//! The dialect as a client meets it: through the router, and where connections matter through a socket.

mod control;
mod data;
mod errors;
mod secrets;
mod support;
