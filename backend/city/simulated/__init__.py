"""What the simulated city is made of: its map and its days."""
