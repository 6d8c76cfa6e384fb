"""What `citywise app test` says of scenarios."""

from __future__ import annotations

from collections.abc import Iterator

from backend.packs.manifest import Pack
from backend.packs.scenario_run import Difference, Outcome
from backend.packs.scenarios import expected_path


def report(pack: Pack, outcome: Outcome, *, updated: bool = False) -> Iterator[str]:
    """Whether a scenario went as expected; if not, the differences and how to go on."""
    name, count = outcome.path.stem, len(outcome.got)
    notices = "1 notice" if count == 1 else f"{count} notices"
    if updated:
        yield f"{name}: wrote {notices} to {expected_path(outcome.path)}"
    elif not outcome.differences:
        yield f"{name}: {notices} as expected"
    else:
        yield from _differences(pack, outcome)


def _differences(pack: Pack, outcome: Outcome) -> Iterator[str]:
    name, count = outcome.path.stem, len(outcome.differences)
    yield f"{name}: {'1 difference' if count == 1 else f'{count} differences'}"
    if outcome.has_expected:
        yield f"--- {expected_path(outcome.path)}"
        yield "+++ what came"
    for difference in outcome.differences:
        yield from difference.lines()
    yield f"why: {_why(pack, name, outcome.differences[0])}"
    yield "if this is what should come: add --update"


def _why(pack: Pack, scenario: str, difference: Difference) -> str:
    line = difference.expected or difference.got or {}
    return (
        f"citywise app why {pack.folder} {scenario} --at {line.get('t')} "
        f"--instance {line.get('instance')} --notice {line.get('notice')} "
        f"--about {line.get('about')}"
    )
