"""One running city for all who follow a plan in it; it ends after the last of them."""
