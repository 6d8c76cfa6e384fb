"""`python -m citywise`: the same as the command."""

from citywise.backend.cli import main

main()
