"""The HTTP side over a real database, and over a real server where that matters."""
