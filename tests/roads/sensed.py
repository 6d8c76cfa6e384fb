"""The edges of a network that a sensor tells of."""

from __future__ import annotations

from citywise.apps.travel_planner.roads.network import I32, RoadNetwork


def edges_of(network: RoadNetwork, sensor: int) -> I32:
    """Those of the sensor at an index of `network.sensors`."""
    return network.sensed[network.sensed_at[sensor] : network.sensed_at[sensor + 1]]
