"""The connectors that come with Citywise, by name."""

from __future__ import annotations

from collections.abc import Mapping

from citywise.backend.connectors.airsensors import OpenSenseMap, SensorCommunity
from citywise.backend.connectors.apds import Apds
from citywise.backend.connectors.cap import Cap
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.datex2 import Datex2
from citywise.backend.connectors.gbfs import Gbfs
from citywise.backend.connectors.gtfs_rt import GtfsRealtime
from citywise.backend.connectors.homeassistant import HomeAssistant
from citywise.backend.connectors.lorawan import ChirpStack, Ttn
from citywise.backend.connectors.ngsi import Ngsi
from citywise.backend.connectors.sensorthings import SensorThings
from citywise.backend.connectors.wzdx import Wzdx

_ALL = (
    Ngsi, SensorThings, HomeAssistant, SensorCommunity, OpenSenseMap, Ttn, ChirpStack, Gbfs,
    GtfsRealtime, Datex2, Apds, Wzdx, Cap,
)  # fmt: skip
BUILTIN: Mapping[str, type[Connector]] = {one.name: one for one in _ALL}
