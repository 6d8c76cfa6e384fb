"""The city as one moves in it: streets, named points, routes, and what is live on them.

`network` holds the streets as arrays; `aarhus`, `osm` and `simulated` build them; `gazetteer`
finds named points; `cityfiles` keeps both as files (docs/city.md).
"""

from citywise.apps.travel_planner.roads.cityfiles import City, city_of
from citywise.apps.travel_planner.roads.gazetteer import Entry, Found, Gazetteer
from citywise.apps.travel_planner.roads.network import Mode, NetworkError, RoadNetwork

__all__ = ["City", "Entry", "Found", "Gazetteer", "Mode", "NetworkError", "RoadNetwork", "city_of"]
