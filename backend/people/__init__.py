"""People: accounts, what they allow, who may do what, and being forgotten.

Low in the house: it knows the store and the settings, nothing of HTTP or MQTT.
"""
