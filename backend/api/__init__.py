"""The HTTP side: Flask application, JSON API, event stream and the web shell's pages.

Nothing is imported here: `serve` must patch the standard library before the rest loads.
"""
