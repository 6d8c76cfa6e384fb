"""What the tests of the city streams share: packs, brokers and a wall clock of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from citywise.backend.broker import EmbeddedBroker
from citywise.backend.settings import Broker
from tests.api.town import soon

SEGMENTS = """\
REPORT_ID,DISTANCE_IN_METERS,NDT_IN_KMH,POINT_1_NAME,POINT_1_STREET,POINT_1_CITY,POINT_1_LAT,\
POINT_1_LNG,POINT_2_NAME,POINT_2_STREET,POINT_2_CITY,POINT_2_LAT,POINT_2_LNG
11,1030,71,4320,Århusvej,Hinnerup,56.2317,10.1049,4322,Århusvej,Hinnerup,56.2257,10.1165
12,3257,195,4322,Århusvej,Hinnerup,56.2257,10.1165,4321,15,Tilst,56.2174,10.1070
"""
GARAGES = """\
garagecode,city,postalcode,street,housenumber,latitude,longitude,totalspaces
BRUUNS,Aarhus,8000,Værkmestergade,25.0,56.14951,10.20596,953
NORREPORT,Aarhus,8000,Kærlighedsstien,,56.16184,10.21284,65
"""
PARKING = "garagecode,updatetime,vehiclecount,totalspaces,observation_id,streamtime\n"
WEATHER = "timestamp,temperature_c,humidity_pct,wind_speed_kmh\n"
POLLUTANTS = (
    "ozone",
    "particullate_matter",
    "carbon_monoxide",
    "sulfure_dioxide",
    "nitrogen_dioxide",
)


class PackBuilder:
    """Writes a small data pack of the real layout."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.folder = folder / "citybench"
        self.folder.mkdir()
        self.text("traffic_metadata.csv", SEGMENTS)
        self.text("parking_metadata.csv", GARAGES)

    def text(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        return path

    def traffic(
        self,
        rows: Sequence[tuple[int, str | None, int, int]],
        name: str = "traffic_observations_2014-08-04_2014-08-31.parquet",
        drop: str | None = None,
    ) -> Path:
        """Rows of (report id, UTC time, speed, count)."""
        ids, times, speeds, counts = (list(column) for column in zip(*rows, strict=True))
        columns: dict[str, Any] = {
            "report_id": pa.array(ids, pa.int32()),
            "timestamp": pa.array([_naive(t) for t in times], pa.timestamp("ms")),
            "avg_speed_kmh": pa.array(speeds, pa.int16()),
            "vehicle_count": pa.array(counts, pa.int16()),
        }
        columns.pop(drop or "", None)
        pq.write_table(pa.table(columns), self.folder / name)
        return self.folder / name

    def air(self, name: str, rows: Sequence[tuple[int, str, int]]) -> None:
        """Rows of (report id, UTC time, index of every pollutant)."""
        ids, times, values = (list(column) for column in zip(*rows, strict=True))
        columns = {
            "report_id": pa.array(ids, pa.int32()),
            "timestamp": pa.array([_naive(t) for t in times], pa.timestamp("ms")),
        } | {pollutant: pa.array(values, pa.uint8()) for pollutant in POLLUTANTS}
        pq.write_table(pa.table(columns), self.folder / name)

    def parking(self, rows: Sequence[tuple[str, str, int, int, int]]) -> None:
        """Rows of (garage, local time, occupied, capacity, observation id)."""
        lines = [",".join(map(str, row)) + ",2014-11-03 16:18:44\n" for row in rows]
        self.text("parking_observations_2014.csv", PARKING + "".join(lines))

    def weather(self, lines: Sequence[str]) -> None:
        self.text("weather_2014-08.csv", WEATHER + "\n".join(lines) + "\n")


def _naive(time: str | None) -> datetime | None:
    return None if time is None else datetime.fromisoformat(time)


@pytest.fixture
def small_pack(tmp_path: Path) -> PackBuilder:
    return PackBuilder(tmp_path)


@pytest.fixture(scope="session")
def pack(data_pack: Path) -> Path:
    """The real data pack, where there is one."""
    return data_pack


class RestartableBroker:
    """The embedded broker on a port that stays the same when it is killed and restarted."""

    def __init__(self, username: str | None = None, password: str | None = None) -> None:
        self._credentials = (username, password)
        self._broker = EmbeddedBroker(0, username, password)
        self.port = self._broker.start()

    def settings(self, **more: Any) -> Broker:
        return Broker(port=self.port, **more)

    def kill(self) -> None:
        assert self._broker.process is not None
        self._broker.process.kill()
        self._broker.stop()

    def restart(self) -> None:
        self._broker = EmbeddedBroker(self.port, *self._credentials)
        self._broker.start()

    def stop(self) -> None:
        self._broker.stop()


@pytest.fixture
def broker() -> Iterator[RestartableBroker]:
    broker = RestartableBroker()
    yield broker
    broker.stop()


@pytest.fixture
def guarded_broker() -> Iterator[RestartableBroker]:
    broker = RestartableBroker("city", "secret")
    yield broker
    broker.stop()


class Reader:
    """A client that keeps what it reads; after a lost connection it comes back.

    `announce` is a topic on which it says, again and again, that it is there.
    """

    def __init__(self, broker: Broker, topics: Sequence[str], announce: str | None = None) -> None:
        self.messages: list[tuple[str, bytes, bool]] = []
        self._subscribed = threading.Event()
        self._announce = announce
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2, f"reader-{id(self)}")
        self._client.reconnect_delay_set(0.5, 0.5)  # type: ignore[arg-type]
        self._client.on_message = self._keep
        self._client.on_connect = lambda client, *_: client.subscribe([(t, 1) for t in topics])
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.on_disconnect = lambda *_: self._subscribed.clear()
        self._client.connect(broker.host, broker.port)
        self._client.loop_start()
        assert self._subscribed.wait(120)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._say)
        self._thread.start()

    def _keep(self, _client: Any, _data: Any, message: mqtt.MQTTMessage) -> None:
        self.messages.append((message.topic, bytes(message.payload), message.retain))

    def _say(self) -> None:
        while not self._stop.wait(0.1):
            if self._announce and self._subscribed.is_set():
                self._client.publish(self._announce, b'{"state": "online"}')

    def payloads(self, topic: str) -> list[bytes]:
        return [payload for name, payload, _ in list(self.messages) if name == topic]

    def send(self, topic: str, payload: bytes) -> None:
        self._client.publish(topic, payload, 1).wait_for_publish(120)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._client.disconnect()
        self._client.loop_stop()


@pytest.fixture
def reader() -> Iterator[Callable[..., Reader]]:
    readers: list[Reader] = []

    def start(broker: Broker, *topics: str, announce: str | None = None) -> Reader:
        readers.append(Reader(broker, topics, announce))
        return readers[-1]

    yield start
    for each in readers:
        each.close()


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Wait until something is so."""
    return soon
