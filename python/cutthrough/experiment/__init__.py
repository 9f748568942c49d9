"""Experiments: the documents that the simulator reads, typed objects, and files to start from."""
