"""A notice is fast to reach everybody, and nobody waits for who does not read."""

from __future__ import annotations

import pytest

from benchmarks import devices, streams


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_notice_reaches_a_thousand_streams_within_two_seconds() -> None:
    """On two cores, one more client being stalled."""
    small, large = streams.run("1000")
    print(streams.report([small, large]))
    assert large["lost_or_doubled"] == 0
    assert large["notice_p99_ms"] < 2000
    assert large["event_p99_ms"] < 2000


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_every_device_gets_every_notice_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "NOTICES", 1_000)
    (found,) = devices.run("10")
    assert found["lost_or_doubled"] == 0
