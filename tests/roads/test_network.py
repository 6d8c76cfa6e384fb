"""The network's arrays, built street by street, written and read."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from citywise.apps.travel_planner.roads import Mode, NetworkError, RoadNetwork
from citywise.apps.travel_planner.roads.building import NetworkBuilder
from tests.roads.sensed import edges_of

CAR, BICYCLE, WALK = (mode.bit for mode in Mode)


def small() -> RoadNetwork:
    """A street there and back with a bend, and a one-way street that has a sensor."""
    builder = NetworkBuilder()
    a, b, c = (builder.add_node(*at) for at in ((10.0, 56.0), (10.01, 56.0), (10.01, 56.01)))
    builder.add_street(a, b, via=[(10.005, 56.001)], name="Ågade", highway="tertiary")
    there, back = builder.add_street(b, c, modes=CAR | WALK, back=WALK, speed_kmh=30, length_m=1200)
    assert there is not None
    assert back is not None
    builder.sense("S1", [there])
    return builder.build("test", "none")


@pytest.fixture(scope="module")
def network() -> RoadNetwork:
    return small()


def test_a_street_is_an_edge_each_way_with_its_shape_in_that_direction(
    network: RoadNetwork,
) -> None:
    assert (network.nodes, network.edges) == (3, 4)
    assert network.line(0).tolist() == [[10.0, 56.0], [10.005, 56.001], [10.01, 56.0]]
    assert network.line(1).tolist() == network.line(0)[::-1].tolist()
    assert network.street(0) == network.street(1) == "Ågade"
    assert network.street(2) is None


def test_modes_are_told_edge_by_edge(network: RoadNetwork) -> None:
    assert network.allows(Mode.CAR).tolist() == [True, True, True, False]
    assert network.allows(Mode.BICYCLE).tolist() == [True, True, False, False]
    assert network.allows(Mode.WALK).all()


def test_length_and_speed_come_from_shape_and_class_where_nobody_says(
    network: RoadNetwork,
) -> None:
    assert network.length_m[0] == pytest.approx(662.6, abs=0.5)
    assert network.length_m.tolist()[2:] == [1200, 1200]
    assert network.speed_kmh.tolist() == [36, 36, 30, 30]


def test_sensors_know_their_edges(network: RoadNetwork) -> None:
    assert network.sensors == ("S1",)
    assert edges_of(network, 0).tolist() == [2]
    assert network.bounds == (10.0, 56.0, 10.01, 56.01)


def test_what_is_written_is_read_again(network: RoadNetwork, tmp_path: Path) -> None:
    network.save(tmp_path / "new" / "network.npz")
    read = RoadNetwork.load(tmp_path / "new" / "network.npz")
    for field in fields(RoadNetwork):
        was, now = getattr(network, field.name), getattr(read, field.name)
        assert np.array_equal(was, now), field.name
        assert getattr(was, "dtype", None) == getattr(now, "dtype", None), field.name
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["network.npz"]


def test_the_digest_is_of_the_content(network: RoadNetwork) -> None:
    assert small().digest == network.digest
    builder = NetworkBuilder()
    builder.add_street(builder.add_node(10, 56), builder.add_node(10.01, 56))
    assert builder.build("test", "none").digest != network.digest


def test_an_empty_network_can_be_built() -> None:
    empty = NetworkBuilder().build("nothing", "none")
    assert (empty.nodes, empty.edges, empty.shape.shape) == (0, 0, (0, 2))


@pytest.mark.parametrize("content", [b"", b"not a network", b"PK\x03\x04torn"])
def test_a_broken_file_is_named_with_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "network.npz"
    path.write_bytes(content)
    with pytest.raises(NetworkError, match="citywise city import") as raised:
        RoadNetwork.load(path)
    assert str(path) in str(raised.value)


def test_a_file_of_another_format_is_refused(
    network: RoadNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "network.npz"
    network.save(path)
    monkeypatch.setattr("citywise.apps.travel_planner.roads.network.FORMAT", 99)
    with pytest.raises(NetworkError, match="format 1, expected 99"):
        RoadNetwork.load(path)
