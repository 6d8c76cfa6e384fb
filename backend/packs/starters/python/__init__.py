"""Tells people what happens in their area, and keeps a note of each."""
