"""Journeys by public transport: timetables (GTFS), their days, the search, the answer.

docs/public-transport.md.
"""
