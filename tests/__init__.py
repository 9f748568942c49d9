"""The tests of the Python package."""

import os

# What tests print has the width of a pipe, which is fixed as the package is imported. The processes of a parallel run
# are given one of a terminal.
os.environ.pop("COLUMNS", None)
