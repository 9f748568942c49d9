"""A laboratory for HPC and AI interconnects."""
