"""Decision support: what is chosen, in what order, why, and what stands in the way."""
