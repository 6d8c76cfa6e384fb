"""Plain LARS (DESIGN A8): programs, and their evaluation at every point of time."""
