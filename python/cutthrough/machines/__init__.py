"""Topologies and machines to query, and routings as tables."""
