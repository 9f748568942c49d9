"""Parallel runs of points, in this process and others, and the folders that keep them."""
