"""Recording of real MPI programs: a library that is loaded before MPI, and the run of a command with it."""
