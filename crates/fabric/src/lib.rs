//! What happens inside: routers, links, credits.
