//! When a source generates its messages.
