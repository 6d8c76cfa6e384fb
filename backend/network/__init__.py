"""The system's edge: who may what at the broker, HTTPS for phones, the way to open a page."""
