"""Evaluation by key: of facts that stand until they change, only what can be reached from
the keys concerned is evaluated again (docs/keyed.md)."""
