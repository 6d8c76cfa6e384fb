"""Travel planner and parking planner: plans with live city data, watched while one follows them.

Thesis, 7.1.3 and 7.1.4; docs/travel-planner.md.
"""
