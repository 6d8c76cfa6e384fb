"""Backups of a system, and bringing one back.

A backup is one file: an archive of parts with a manifest, encrypted if asked. It holds the
database at one moment, the log up to that moment, and what both need.
"""
