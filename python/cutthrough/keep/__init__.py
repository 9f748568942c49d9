"""Storage of a run: finished points on disk, the lock of a folder, the files that an experiment reads."""
