"""`python -m cutthrough.cli`."""

from cutthrough.cli import main

main()
