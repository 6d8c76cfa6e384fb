"""Recorded messages of the data pack give what is written in `feeds.txt`, by hand, beside this.

A line that begins with `>` is a command with its files; `(known)` leaves out what no kind knows.
The lines below it are what is printed, in the short form of `telling.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.backend.connectors import BUILTIN
from tests.conftest import PACK
from tests.connectors.telling import folded, printed, told

FEEDS = PACK / "feeds"
EXPECTED = Path(__file__).with_name("feeds.txt").read_text(encoding="utf-8").split("\n> ")
OTHERS = (
    "airsensors/irceline", "airsensors/purpleair", "README",
    "gtfs/", "siri/", "ocpi/", "curb_mobility/", "city_feeds/", "calendar/",
)  # fmt: skip
"""Files that no built-in connector is for."""


def _with_paths(arguments: list[str]) -> list[str]:
    paths = []
    for argument in arguments:
        topic, equals, file = argument.rpartition("=")
        there = FEEDS / file
        paths.append(f"{topic}{equals}{there}" if there.is_file() else argument)
    return paths


@pytest.mark.parametrize("block", EXPECTED, ids=lambda block: block.partition("\n")[0][:60])
def test_a_recorded_message_gives_what_is_expected_of_it(block: str) -> None:
    if not FEEDS.is_dir():
        pytest.skip(f"no data pack in {PACK}; CITYWISE_DATA names its folder")
    command, _newline, expected = block.removeprefix("> ").partition("\n")
    connector, *arguments = command.removesuffix(" (known)").split()
    found, code = printed(connector, *_with_paths(arguments))
    if command.endswith(" (known)"):
        found = [one for one in found if "unknown" not in one]
    lines = [told(one) for one in found]
    assert folded(lines) == [line.strip() for line in expected.splitlines() if line.strip()]
    assert code == any(line.startswith("refused") for line in lines)


def test_every_file_that_a_connector_is_for_is_expected_to_give_something() -> None:
    if not FEEDS.is_dir():
        pytest.skip(f"no data pack in {PACK}; CITYWISE_DATA names its folder")
    text = "\n".join(EXPECTED)
    files = [str(path.relative_to(FEEDS)) for path in sorted(FEEDS.rglob("*")) if path.is_file()]
    assert [f for f in files if f not in text and not f.startswith(OTHERS)] == []
    assert {block.split()[0] for block in EXPECTED if block} - {">", *BUILTIN} == set()
