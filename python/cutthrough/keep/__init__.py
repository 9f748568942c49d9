"""Files of a run that are read again: finished points, the experiment's files, shares of a sweep."""
