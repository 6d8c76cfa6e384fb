"""The city for clients of OGC SensorThings 1.1: places are Things, the fields of their sensors
Datastreams, and history their Observations; to read (docs/sensorthings.md).
"""
