"""How a meeting goes on: its agenda in another order, shorter, or at another time.

What everyone can take part in becomes a problem, the rules in `rules/` plan it, and the host
is told what to do about it and why (thesis, Listing 7.5). Plain functions over values.
"""

from citywise.apps.meeting_mgr.agenda.proposing import proposed, same_as

__all__ = ["proposed", "same_as"]
