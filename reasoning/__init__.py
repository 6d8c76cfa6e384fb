"""Continuous reasoning over streams: languages, windows, engines and explanations.

Imports nothing of `backend` or `apps`, and no Spark, Flask, MQTT or SQL.
"""
