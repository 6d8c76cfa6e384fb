"""Meetings of people on the move: what each can do right now, and an agenda that adapts.

What people's devices tell becomes capabilities (`capabilities`), what they can do becomes an
agenda (`agenda`); both by rules in `rules/` (thesis, 7.2). The rest keeps, shows and tells it.
"""
