"""One running city by the wall's clock for all of these; the last of them ends it."""
