"""The city for context brokers: its places, readings and events as entities of NGSI-LD (ETSI GS CIM
009), read and queried (docs/ngsi-ld.md).
"""
