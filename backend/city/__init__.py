"""City streams: the Aarhus replay, the simulated city, and the publisher both use."""
