"""What keeps the work of a run: finished points on disk, one run a folder, the files that an experiment reads."""
