//! What happens inside: routers, links and credits.

pub mod catalogue;
