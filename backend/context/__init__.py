"""Contextual filtering: which of the city's events are critical to whom (thesis 5.1.1, 7.1).

`pack/` is an app pack like any other, and `citypulse` reads and writes the messages in which
the CityPulse project spoke of the same (docs/contextual-filtering.md).
"""
