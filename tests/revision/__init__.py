"""Answers that correct themselves (docs/revision.md)."""
