"""The base of errors whose message is meant for the person at the command line."""

from __future__ import annotations


class CitywiseError(Exception):
    """Something the user can mend; the message says what and how.

    `exit_code` is that of the command line: 1 for input at fault, 3 for the system's own.
    """

    exit_code = 1
