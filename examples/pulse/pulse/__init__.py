"""An app with a page of its own."""
