//! Clock, event wheel, windows, random streams and statistics; knows no networks.
