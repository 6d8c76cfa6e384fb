"""What the document shows is so."""

from __future__ import annotations

import re
from typing import Any, get_args

from citywise.apps.travel_planner.decisions import Code
from citywise.apps.travel_planner.decisions.running import RULES
from citywise.backend.machine import REPOSITORY

TEXT = (REPOSITORY / "docs" / "decision-support.md").read_text(encoding="utf-8")


def test_the_example_gives_what_it_says() -> None:
    (code, *_others) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    shown = re.findall(r"^(answer\S.*?)\s+# (.*)$", code, re.MULTILINE)
    assert len(shown) == 5
    for expression, expected in shown:
        assert eval(expression, names) == eval(expected, names), expression


def test_every_code_and_every_file_of_rules_is_told() -> None:
    told = set(re.findall(r"^\| `(\S+?)` \|", TEXT, re.MULTILINE))
    assert told == {*get_args(Code), *(path.name for path in RULES.glob("*.casp"))}


def test_the_rules_read_what_the_document_says() -> None:
    for path in RULES.glob("*.casp"):
        inputs = re.findall(r"^#input (\S+)\.$", path.read_text(encoding="utf-8"), re.MULTILINE)
        (row,) = re.findall(rf"^\| `{path.name}` \| (.*?) \|", TEXT, re.MULTILINE)
        assert re.findall(r"`(\w+/\d)`", row) == inputs, path.name
