"""What leaves the city for others: announcements as MQTT topics and webhooks, and events as feeds
(docs/outgoing.md). All follow the outbox by its ids, so that each change leaves once and in order.
"""
