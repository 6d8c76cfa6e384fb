"""Running an app's scenarios, and comparing their notices with those expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from citywise.backend.notices.objects import LANGUAGE, filled
from citywise.backend.notices.wording import spoken
from citywise.backend.packs import scenarios
from citywise.backend.packs.manifest import Pack
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.times import iso, parse_ms

Line = dict[str, Any]
"""A notice as expected files have it."""
IDENTITY = ("t", "change", "notice", "instance", "about")
_ALWAYS = (*IDENTITY, "criticality")
_KEYS = (*_ALWAYS, "details", "text", "closed_because")


@dataclass(frozen=True)
class Difference:
    """A notice that is expected and did not come, or that came and is not expected.

    Where both are there they are the same notice, said differently.
    """

    expected: Line | None
    got: Line | None

    def lines(self) -> Iterator[str]:
        """The difference as `- expected` and `+ got`."""
        if self.expected is not None:
            yield f"- {text(self.expected)}"
        if self.got is not None:
            keys = self.expected or _ALWAYS
            yield f"+ {text({key: v for key, v in self.got.items() if key in keys})}"


@dataclass(frozen=True)
class Outcome:
    """What became of a scenario."""

    path: Path
    got: tuple[Line, ...]
    failures: tuple[Failure, ...]
    """What could not be evaluated: without it, what came says little."""
    differences: tuple[Difference, ...]
    has_expected: bool

    @property
    def is_as_expected(self) -> bool:
        """Whether it went as somebody said that it should."""
        return self.has_expected and not self.failures and not self.differences


class Failure(NamedTuple):
    """A template or request that could not be evaluated: since when, and why."""

    t: str
    name: str
    why: str


Failed = Callable[[int, str, str], None]
Conclude = Callable[[Sequence[Any], Sequence[TemplateVersion], Failed], Iterable[Mapping[str, Any]]]
"""What templates conclude from entries of a log, as changes of notices; tells of what could
not be evaluated: the time (Unix ms), the name of the template, and why."""


def run(pack: Pack, path: Path, conclude: Conclude) -> Outcome:
    """Run a scenario by `backend.pipeline.recorded`, or a part of it, and compare; raises
    `ScenarioError`.

    Without a file of expected notices every notice is a difference.
    """
    failures: dict[tuple[str, str], Failure] = {}

    def failed(t_ms: int, name: str, why: str) -> None:
        failures.setdefault((name, why), Failure(iso(t_ms), name, why))

    got = tuple(produced(pack, path, conclude, failed))
    expected = scenarios.expected_path(path)
    wanted = list(read_expected(expected)) if expected.is_file() else []
    differences = tuple(compare(wanted, got))
    return Outcome(path, got, tuple(failures.values()), differences, expected.is_file())


def produced(pack: Pack, path: Path, conclude: Conclude, failed: Failed) -> Iterator[Line]:
    """The notices that a scenario brings, in order; raises `ScenarioError`."""
    entries = scenarios.entries(path, pack.templates, scenarios.ALONE, pack.kinds)
    names = scenarios.names(entries)
    templates = {template.name: template for template in pack.templates}
    for change in conclude(entries, pack.templates, failed):
        yield _line(change, templates[change["template"]], names)


def _line(change: Mapping[str, Any], template: TemplateVersion, names: Mapping[str, str]) -> Line:
    about = str(change["about"])
    words = spoken(
        change["notice"],
        {kind: notice.model_dump() for kind, notice in template.notices.items()},
        template.strings,
    )
    values = {**change["details"], "about": names.get(about, about)}
    found = {
        "t": iso(change["t_ms"]),
        **{key: change[key] for key in ("change", "notice", "instance", "about", "criticality")},
        "details": change["details"],
        "text": filled(words[LANGUAGE].text, values) if words else "",
    }
    because = change["closed_because"]
    return {**found, "closed_because": because} if change["change"] == "closed" else found


def read_expected(path: Path) -> Iterator[Line]:
    """The lines of a file of expected notices; raises `ScenarioError`."""
    for number, line in scenarios.lines(path):
        missing = [key for key in IDENTITY if key not in line]
        unknown = [key for key in line if key not in _KEYS]
        if missing or unknown:
            said = [f"missing {', '.join(missing)}"] if missing else []
            said += [f"unknown {', '.join(unknown)}"] if unknown else []
            message = f"{path}:{number}: {'; '.join(said)}; a notice has {', '.join(_KEYS)}"
            raise scenarios.ScenarioError(message)
        try:
            yield {**line, "t": iso(parse_ms(line["t"]))}
        except (ValueError, TypeError):
            message = f"{path}:{number}: `t` is {line['t']!r}, expected a time with zone"
            raise scenarios.ScenarioError(message) from None


def compare(expected: Sequence[Line], got: Sequence[Line]) -> Iterator[Difference]:
    """The differences, in order of time; only keys that are expected are compared."""
    left = list(got)
    found: list[Difference] = []
    for wanted in expected:
        same = [line for line in left if _identity(line) == _identity(wanted)]
        match = next((line for line in same if _fits(wanted, line)), None) or next(iter(same), None)
        if match is not None:
            left.remove(match)
        if match is None or not _fits(wanted, match):
            found.append(Difference(wanted, match))
    found += (Difference(None, line) for line in left)
    yield from sorted(found, key=lambda d: _identity(d.expected or d.got or {}))


def _identity(line: Line) -> tuple[str, ...]:
    return tuple(str(line.get(key)) for key in IDENTITY)


def _fits(expected: Line, got: Line) -> bool:
    return all(got.get(key) == value for key, value in expected.items())


def text(line: Line) -> str:
    """A line of an expected file."""
    return json.dumps(line, ensure_ascii=False)


def update(outcome: Outcome) -> None:
    """Write what came as what is expected, without texts: these may be reworded."""
    kept = ({k: v for k, v in line.items() if k != "text"} for line in outcome.got)
    content = "".join(f"{text(line)}\n" for line in kept)
    scenarios.expected_path(outcome.path).write_text(content, encoding="utf-8")


def chosen(pack: Pack, wanted: Sequence[str]) -> list[Path]:
    """The scenarios of an app that some names or paths mean, all without them.

    Raises `ScenarioError` where there is none.
    """
    there = {path.stem: path for path in scenarios.of_pack(pack.folder)}
    if not there and not wanted:
        folder = pack.folder / "scenarios"
        raise scenarios.ScenarioError(f"{folder}: no scenarios; write what happens to first.jsonl")
    found = []
    for name in wanted or there:
        path = there.get(name) or Path(name)
        if not path.is_file():
            known = ", ".join(there) or "none"
            raise scenarios.ScenarioError(f"no scenario `{name}`; there are {known}")
        found.append(path)
    return found
