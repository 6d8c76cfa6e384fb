"""Notices to users: their texts, the object the API shows, and the book they are kept in."""
