"""Lengths on the map are those on the ground."""

from __future__ import annotations

import numpy as np
import pytest
from pyproj import Transformer

from citywise.backend.ingest.payloads import LineString, Place
from citywise.backend.space.geometry import Path, Spot, apart_m, between, plane, project
from tests.space.reference import EARTH


@pytest.mark.parametrize("latitude", [-70, -33, 0, 56, 70])
@pytest.mark.parametrize(("metres", "error"), [(100, 1e-9), (1000, 1e-7), (50_000, 1e-4)])
def test_distances_are_the_geodesic_ones(latitude: float, metres: float, error: float) -> None:
    azimuth = np.arange(0.0, 360.0, 7.0)
    lon, lat = np.full_like(azimuth, 10.2), np.full_like(azimuth, latitude)
    to = project(*EARTH.fwd(lon, lat, azimuth, np.full_like(azimuth, metres))[:2])
    assert between(project(lon, lat), to.x, to.y) == pytest.approx(metres, rel=error)


def test_the_length_of_a_path_is_that_of_its_geodesics() -> None:
    line = [(10.1, 56.1), (10.15, 56.2), (10.3, 56.2), (10.3, 56.05)]
    assert Path.of(line).along[-1] == pytest.approx(
        EARTH.line_length([p[0] for p in line], [p[1] for p in line]), 1e-5
    )


def test_a_line_is_where_the_middle_of_its_place_is() -> None:
    line = [(10.1, 56.1), (10.2, 56.2), (10.5, 56.3), (10.5, 56.3), (10.6, 56.3)]
    place = Place(
        id="1", kind="road", name="x", geometry=LineString(coordinates=line), sensors=("traffic",)
    )
    spot = Spot.of(place.model_dump(mode="json")["geometry"], directed=True)
    assert spot == (*place.middle, 10.5, 56.3)
    assert Spot.of({"type": "Point", "coordinates": [10.1, 56.1, 7.0]}, True)[:2] == (10.1, 56.1)


def test_the_pole_is_as_near_as_the_map_goes() -> None:
    assert np.isfinite(project(np.array([0.0]), np.array([90.0])).y).all()


@pytest.mark.parametrize("lat", [0.0, 30.0, 56.15, 70.0])
def test_metres_on_a_plane_are_good_enough_for_what_is_near(lat: float) -> None:
    lons, lats = 10.2 + np.array([0.001, 0.0, -0.05]), lat + np.array([0.0, 0.001, 0.1])
    here = np.full(3, 10.2), np.full(3, lat)
    exact = EARTH.inv(*here, lons, lats)[2]
    assert apart_m(10.2, lat, lons, lats) == pytest.approx(exact, rel=0.007)
    assert apart_m(*here, lons, lats) == pytest.approx(
        np.hypot(*(plane(lat)[:, None] * np.array([lons - 10.2, lats - lat]))), rel=0.005
    )


def test_the_projection_is_the_one_of_proj() -> None:
    drawn = np.random.default_rng(1)
    lon, lat = drawn.uniform(-180, 180, 5_000), drawn.uniform(-89, 89, 5_000)
    x, y = Transformer.from_crs("EPSG:4326", "EPSG:3395", always_xy=True).transform(lon, lat)
    found = project(lon, lat)
    assert np.abs(found.x - x).max() < 1e-5
    assert np.abs(found.y - y).max() < 1e-5
