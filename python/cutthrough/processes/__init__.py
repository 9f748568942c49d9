"""Runs in several processes: their MPI launcher, the shim that calls MPI, and the points that they run together."""
