"""What `citywise app test` says of scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from citywise.backend.packs.manifest import Pack
from citywise.backend.packs.scenario_run import Difference, Outcome
from citywise.backend.packs.scenarios import expected_path


def report(
    pack: Pack, outcome: Outcome, *, updated: bool = False, kinds: Sequence[Path] = ()
) -> Iterator[str]:
    """Whether a scenario went as expected; if not, what failed, the differences, and how to
    go on: with the same folders of `kinds`."""
    name, notices = outcome.path.stem, _counted(len(outcome.got), "notice")
    if outcome.failures:
        yield f"{name}: {_counted(len(outcome.failures), 'error')}"
        yield from (f"! {failure.t} {failure.name}: {failure.why}" for failure in outcome.failures)
        if updated:
            yield f"nothing is written to {expected_path(outcome.path)}: mend what failed first"
        elif not outcome.differences:
            yield f"{name}: {notices}, all as expected but for that"
    elif updated:
        yield f"{name}: wrote {notices} to {expected_path(outcome.path)}"
    elif not outcome.has_expected and not outcome.got:
        yield (
            f"{name}: no notices, and no {expected_path(outcome.path)}; "
            "if none should come: add --update"
        )
    elif not outcome.differences:
        yield f"{name}: {notices} as expected"
    if outcome.differences and not updated:
        yield from _differences(pack, outcome, "".join(f" --kinds {folder}" for folder in kinds))


def _differences(pack: Pack, outcome: Outcome, kinds: str) -> Iterator[str]:
    name = outcome.path.stem
    yield f"{name}: {_counted(len(outcome.differences), 'difference')}"
    if outcome.has_expected:
        yield f"--- {expected_path(outcome.path)}"
        yield "+++ what came"
    for difference in outcome.differences:
        yield from difference.lines()
    yield f"why: {_why(pack, name, outcome.differences[0])}{kinds}"
    yield "if this is what should come: add --update"


def _why(pack: Pack, scenario: str, difference: Difference) -> str:
    line = difference.expected or difference.got or {}
    return (
        f"citywise app why {pack.folder} {scenario} --at {line.get('t')} "
        f"--instance {line.get('instance')} --notice {line.get('notice')} "
        f"--about {line.get('about')}"
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
