"""Meetings over HTTP: for their hosts, for who takes part, and the event streams of both."""
