"""From MQTT to a durable log: payload schema, segment log, what stands, dead letters.

A message is acknowledged only after it can no longer be lost.
"""
