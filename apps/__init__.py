"""Apps on the framework; each a pack that the app loader finds by name."""
