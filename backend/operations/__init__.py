"""Whether the system is ready, and what operators see and do: sensors that fail, requests that
lag, dead letters sent again, and events opened by hand.

Above the store, the ingest and people; knows nothing of HTTP.
"""
