"""The log over the network: the same records, for those who know the secret."""

from __future__ import annotations

import base64
import http.client
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citywise.backend import bounded_server
from citywise.backend.ingest import log, records, remote, seals, server
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.keyring import Key, Keyring, beside
from citywise.backend.ingest.server import LogServer, ServeError
from citywise.backend.ingest.standing import Entry
from tests.ports import nobody_at

pytestmark = pytest.mark.slow

TOKEN = "a secret of some length"


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a served log with nothing in it yet."""
    monkeypatch.setenv(remote.TOKEN, TOKEN)
    monkeypatch.setattr(remote, "_PAUSES_S", ())
    with LogServer(tmp_path, "127.0.0.1", 0, TOKEN) as serving:
        yield f"http://127.0.0.1:{serving.server_address[1]}/log"


def fill(folder: Path, payloads: list[bytes], segment_bytes: int = 16_000_000) -> list[int]:
    """Write records; returns the position after each."""
    writer = log.LogWriter(folder, segment_bytes)
    ends = [writer.append([payload]) for payload in payloads]
    writer.close()
    return ends


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    payloads=st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=12),
    segment_bytes=st.integers(1, 200),
    most=st.integers(1, 100),
    data=st.data(),
)
def test_a_stretch_reads_the_same_over_the_network_as_from_the_folder(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    payloads: list[bytes],
    segment_bytes: int,
    most: int,
    data: st.DataObject,
) -> None:
    """Whatever the sizes of records, segments and answers."""
    monkeypatch.setenv(remote.TOKEN, TOKEN)
    monkeypatch.setattr(server, "MOST_BYTES", most)
    folder = tmp_path_factory.mktemp("log")
    positions = [0, *fill(folder, payloads, segment_bytes)]
    start, end = sorted(data.draw(st.sampled_from(positions)) for _ in range(2))
    with LogServer(folder, "127.0.0.1", 0, TOKEN) as serving:
        there = f"http://127.0.0.1:{serving.server_address[1]}/log"
        assert list(log.read(there, start, end)) == list(log.read(folder, start, end))
        assert log.durable_end(there) == log.durable_end(folder)
        assert log.limit(there, 0, positions[-1], most) == log.limit(folder, 0, positions[-1], most)


def test_readings_are_decoded_alike(tmp_path: Path, address: str) -> None:
    (end,) = fill(tmp_path, [b'{"k":"traffic","r":5,"v":[["1",4,{"speed_kmh":31.5}]]}'])
    (reading,) = records.read(address, 0, end)
    assert isinstance(reading, records.Reading)
    assert [reading] == list(records.read(tmp_path, 0, end))
    assert reading.values == {"speed_kmh": 31.5}


@pytest.mark.parametrize("token", [None, "", TOKEN[:-1], TOKEN + "x", "ø"])
def test_without_the_secret_nothing_is_read(
    tmp_path: Path, address: str, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (end,) = fill(tmp_path, [b"one"])
    if token is None:
        monkeypatch.delenv(remote.TOKEN)
    else:
        monkeypatch.setenv(remote.TOKEN, token)
    with pytest.raises(log.LogError, match=r"secret is missing or wrong.*ingest\.serve_token"):
        list(log.read(address, 0, end))
    with pytest.raises(log.LogError, match="secret is missing or wrong"):
        log.durable_end(address)


def test_a_refusal_is_final_and_not_asked_again(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(remote, "_PAUSES_S", (1, 2))
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setenv(remote.TOKEN, "wrong")
    with pytest.raises(log.LogError, match="secret is missing or wrong"):
        log.durable_end(address)
    assert pauses == []


def test_what_is_not_durable_is_not_served(tmp_path: Path, address: str) -> None:
    writer = log.LogWriter(tmp_path)
    writer.append([b"one"])
    writer.sync()
    end = writer.append([b"two"])
    with pytest.raises(log.LogError, match=f"positions 0 to {end} are not in the log"):
        list(log.read(address, 0, end))
    writer.close()
    assert [r.payload for r in log.read(address, 0, end)] == [b"one", b"two"]


def test_a_removed_stretch_is_reported_with_where_the_log_begins(
    tmp_path: Path, address: str
) -> None:
    ends = fill(tmp_path, [b"x"] * 5, segment_bytes=1)
    for path in tmp_path.glob("*.log"):
        os.utime(path, (0, 0))
    log.trim(tmp_path, needed_from=ends[2], keep_seconds=60)
    message = f"position 0 is no longer in the log, it begins at {ends[2]}"
    with pytest.raises(log.LogError, match=message):
        list(log.read(address, 0, ends[4]))
    assert [r.position for r in log.read(address, ends[2], ends[4])] == [ends[2], ends[3]]


def test_a_record_damaged_on_the_disk_is_found_by_the_reader(tmp_path: Path, address: str) -> None:
    ends = fill(tmp_path, [b"one", b"two"])
    (segment,) = tmp_path.glob("*.log")
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    with pytest.raises(log.LogError, match=rf"{address}: damaged record at position {ends[0]}"):
        list(log.read(address, 0, ends[1]))


def test_nobody_there_is_an_error_that_names_the_address_and_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "_PAUSES_S", (0.1, 0.2))
    begun = time.monotonic()
    with nobody_at() as port:
        there = f"http://127.0.0.1:{port}/log"
        wrong = rf"{there}: no answer .*refused.*ingest\.serve_host"
        with pytest.raises(log.LogError, match=wrong):
            log.durable_end(there)
    assert time.monotonic() - begun > 0.3, "it should have tried again before it gave up"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/log?start=0", 400),
        ("/log?start=a&end=2", 400),
        ("/log?start=5&end=5", 416),
        ("/log?start=-1&end=1", 416),
        ("/other", 404),
        ("/log/../durable", 404),
    ],
)
def test_a_wrong_question_gets_an_explanation(
    tmp_path: Path, address: str, path: str, status: int
) -> None:
    fill(tmp_path, [b"one"])
    url = address.removesuffix("/log") + path
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=120)
    with caught.value as error:
        assert error.code == status
        assert error.read()


@contextmanager
def idling(folder: Path) -> Iterator[int]:
    """The port of a log that as many as are allowed are connected to, and ask nothing."""
    with LogServer(folder, "127.0.0.1", 0, TOKEN) as serving, ExitStack() as stack:
        port = int(serving.server_address[1])
        for _ in range(bounded_server.MOST):
            stack.enter_context(closing(socket.create_connection(("127.0.0.1", port))))
        yield port


def test_more_readers_than_allowed_are_sent_away_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_server, "MOST", 2)
    monkeypatch.setattr(server._Handler, "timeout", 3600)
    with idling(tmp_path) as port, closing(socket.create_connection(("127.0.0.1", port))) as third:
        third.settimeout(30)
        assert third.recv(1) == b""


def test_idle_connections_keep_nobody_out_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When they time out there is room."""
    monkeypatch.setenv(remote.TOKEN, TOKEN)
    monkeypatch.setattr(bounded_server, "MOST", 2)
    monkeypatch.setattr(server._Handler, "timeout", 0.3)
    (end,) = fill(tmp_path, [b"one"])
    with idling(tmp_path) as port:
        assert [r.payload for r in log.read(f"http://127.0.0.1:{port}/log", 0, end)] == [b"one"]


def test_an_address_that_is_taken_is_reported_with_the_settings_to_change(tmp_path: Path) -> None:
    with (
        LogServer(tmp_path, "127.0.0.1", 0, TOKEN) as serving,
        pytest.raises(ServeError, match=r"in use.*ingest\.serve_port"),
    ):
        LogServer(tmp_path, "127.0.0.1", int(serving.server_address[1]), TOKEN)


def told_by_alice(folder: Path) -> tuple[int, Key]:
    """A log in which something personal stands; its end, and the key to it."""
    one = Journal(folder, 16_000_000)
    one.stand([Entry("position", "alice", {"lat": 56.0}), Entry("event", "e", {"n": 1})], 5)
    one.write()
    one.close()
    key = Keyring(beside(folder)).key_of("alice")
    assert key is not None
    return one.end, key


def test_what_is_sealed_is_read_over_the_network_until_its_user_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(remote.TOKEN, TOKEN)
    folder = tmp_path / "log"
    end, _key = told_by_alice(folder)
    with LogServer(folder, "127.0.0.1", 0, TOKEN) as serving:
        there = f"http://127.0.0.1:{serving.server_address[1]}/log"
        found = list(records.read(there, 0, end))
        assert (
            found
            == list(records.read(folder, 0, end))
            == list(records.read_standing(there, 0, end))
        )
        assert [e.key for e in found if isinstance(e, records.Standing)] == ["alice", "e"]
        Keyring(beside(folder)).forget("alice")
        seals._at.cache_clear()  # as if half a second had passed
        assert [e.key for e in records.read_standing(there, 0, end)] == ["e"]
        assert records.forgettings(there) == 1


def test_keys_are_given_to_nobody_without_the_secret_and_for_no_other_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "log"
    _end, key = told_by_alice(folder)
    with LogServer(folder, "127.0.0.1", 0, TOKEN) as serving:
        there = f"http://127.0.0.1:{serving.server_address[1]}/keys"

        def asked(data: bytes, token: str = TOKEN, address: str = there, size: int = 0) -> int:
            host, path = address.removeprefix("http://").split("/")
            with closing(http.client.HTTPConnection(host, timeout=5)) as connection:
                connection.putrequest("POST", f"/{path}")
                connection.putheader("Authorization", f"Bearer {token}")
                connection.putheader("Content-Length", str(size or len(data)))
                connection.endheaders(data)
                answer = connection.getresponse()
                told = answer.read()
            assert (encoded in told) == (answer.status == 200)
            return answer.status

        encoded = base64.b64encode(key.secret)
        question = orjson.dumps({"ids": [key.id]})
        assert asked(question) == 200
        assert asked(question, token=TOKEN[:-1]) == 401
        assert asked(question, address=there.replace("keys", "log")) == 404
        assert asked(question, size=9_000_000) == 413
        for wrong in (b"", b"[]", b'{"ids": 3}', b'{"ids": [1]}', b'{"ids": "ab"}', b"{"):
            assert asked(wrong) == 400
