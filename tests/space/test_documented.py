"""docs/space.md says what every fact about space and time means."""

from __future__ import annotations

import re

from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.vocabulary import PREDICATES

SPACE_AND_TIME = "near ahead passed opposite distance off_ inside i_am during open time week date"


def test_every_fact_about_space_and_time_is_documented_as_it_is_supplied() -> None:
    text = (REPOSITORY / "docs" / "space.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)\(([^)]*)\)`", text, re.MULTILINE)
    documented = {(name, arguments.count(",") + 1) for name, arguments in rows}
    kinds = tuple(SPACE_AND_TIME.split())
    supplied = [each.signature for each in PREDICATES.values()]
    assert documented == {(s.name, s.arity) for s in supplied if s.name.startswith(kinds)}
