"""The system around the reasoner: city streams, ingest, pipeline, store and API.

Imports `reasoning`; never `apps`.
"""
