"""The conference systems in which meetings are held, and what they are told."""
