"""Runs a case, and compares it with what `reason` says of the stream in order."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from citywise.reasoning import Evaluation, Recorded, Recording, write
from citywise.reasoning.partition.engine import ParallelEngine
from citywise.reasoning.run.requests import revising as revising_request
from citywise.reasoning.run.revision import Emission, Revising, described
from tests.lars.reference import TooManyError
from tests.reasoning.parallel.inline import Inline
from tests.revision import definitions
from tests.revision.cases import Case
from tests.revision.reference import corrected, last_of_each


def recorded(case: Case, folder: Path, lines: list[dict[str, Any]], **more: Any) -> Recorded:
    """A run of a case's program over some lines."""
    program, stream = folder / f"program{case.suffix}", folder / "stream.jsonl"
    program.write_text(case.program)
    stream.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Recorded(program, [stream], start=case.start, until=case.until, limits=None, **more)


def assert_agrees(
    case: Case,
    folder: Path,
    engine: str,
    *,
    prefix: int | None = None,
    deltas: bool = False,
    parallel: int = 0,
) -> None:
    """The last lines of a case are those of its stream in order and corrected; of a prefix those
    that are due by then."""
    lines = case.lines if prefix is None else case.lines[:prefix]
    ordered, newest = corrected(lines, case.horizon, case.start)
    reference = list(recorded(case, folder, ordered, engine=engine).results(deltas=deltas))
    expected = last_of_each(reference)
    results: list[dict[str, Any]] = []
    run = recorded(case, folder, lines, engine=engine, revise=case.horizon, parallel=parallel)
    if prefix is None:
        results = list(run.results(deltas=deltas))
    else:
        results = _begun(run, case)
        limit = -1 if newest is None else newest - run.request.lateness
        expected = {time: found for time, found in expected.items() if time < limit}
    _assert_numbered(results)
    found = last_of_each(results)
    found = {t: values for t, values in found.items() if values.get("answer_sets", ()) is not None}
    if deltas:
        _assert_changes(results)
    for values in (*found.values(), *expected.values()):
        # A first line is told against what was before it then, which may be another by now.
        for name in ("revision", "added", "removed"):
            values.pop(name, None)
    assert found == expected, f"{engine}: {found} != {expected}\n{_shown(case, lines)}"


def _begun(run: Recorded, case: Case) -> list[dict[str, Any]]:
    """The results before the end of the input comes."""
    found: list[dict[str, Any]] = []
    with run.parsed.course(run, case.start, case.until) as course:
        course.unix = False
        revising = Revising(course, case.horizon)
        for line in Recording(run.streams, run.request).lines():
            for result in revising.push(line):
                found.append(described(result, course, int, deltas=False))
    return found


def defined(case: Case, folder: Path) -> Mapping[Any, dict[str, Any]]:
    """The last results that the definitions have of the stream in order and corrected."""
    ordered, _newest = corrected(case.lines, case.horizon, case.start)
    try:
        return last_of_each(definitions.results(case, ordered, folder))
    except TooManyError:  # more sets than can be tried: the solver, point by point
        found = last_of_each(list(recorded(case, folder, ordered, engine="solver").results()))
    for values in found.values():
        values.update({"error": True} if "error" in values else {})
    return found


def assert_is_as_defined(
    case: Case,
    folder: Path,
    engine: str,
    expected: Mapping[Any, dict[str, Any]],
    *,
    stop: int,
    parts: bool = False,
    forgetful: bool = False,
) -> None:
    """After a run with a restart the last lines are those that are `expected`; in parts where it
    can be cut, and forgetting what it may after each line."""
    run = recorded(case, folder, case.lines, engine=engine)
    told = _with_restarts(run, case, (stop,), parts=parts, forgetful=forgetful, deltas=False)
    found = last_of_each([each for each in told if isinstance(each, dict)])
    found = {t: values for t, values in found.items() if values.get("answer_sets", ()) is not None}
    for values in found.values():
        for name in ("revision", "added", "removed", "entailed", "negated"):
            values.pop(name, None)
        if "error" in values:
            values["error"] = True
    way = f"{engine}, restart after {stop}, {parts=}, {forgetful=}"
    assert found == expected, f"{way}: {found} != {expected}\n{_shown(case, case.lines)}"


def assert_goes_on(case: Case, folder: Path, engine: str, chance: Random) -> None:
    """With a restart after any line, and another, the lines are those of a run without one: told
    as results with what came and went, and as a stream."""
    expected = _with_restarts(recorded(case, folder, case.lines, engine=engine), case, ())
    stops = {chance.randint(0, len(case.lines)) for _ in range(2)}
    run = recorded(case, folder, case.lines, engine=engine)
    found = _with_restarts(run, case, stops)
    told = f"{engine}, restarts after {sorted(stops)}: {found} != {expected}"
    assert found == expected, f"{told}\n{_shown(case, case.lines)}"


@contextmanager
def _revising(run: Recorded, case: Case, *, parts: bool, instances: bool) -> Iterator[Revising]:
    if not parts:
        with run.parsed.course(run, case.start, case.until, instances=instances) as course:
            yield Revising(course, case.horizon)
        return
    engine = ParallelEngine(
        run.request, executor=Inline(), partitions=2, adaptive=False, engine=run.engine
    )
    supplied = run.supplied()
    with (
        closing(engine),
        revising_request(
            run.request,
            horizon=case.horizon,
            start=case.start,
            until=case.until,
            engine=engine,
            supplied=supplied,
        ) as made,
    ):
        yield made


def _with_restarts(
    run: Recorded,
    case: Case,
    stops: Collection[int],
    *,
    parts: bool = False,
    forgetful: bool = False,
    deltas: bool = True,
) -> list[Any]:
    """What a run prints that goes on from a snapshot after so many lines: its results, and with
    `deltas` all else that it tells."""
    found: list[Any] = []
    lines = list(Recording(run.streams, run.request).lines())
    state, given = None, 0
    for end in (*sorted(stops), len(lines)):
        with _revising(run, case, parts=parts, instances=deltas) as revising:
            course = revising.course
            course.unix = False
            if state is not None:
                revising.restore(json.loads(state))
            emission = Emission(revising, "istream", "http://e/o")
            for line in lines[given:end]:
                if forgetful:
                    revising._tidy = -1
                results = revising.push(line)
                found += [described(each, course, int, deltas=deltas) for each in results]
                if not deltas:
                    continue
                found += emission.lines()
                found += [(bad.position, why) for bad, why in revising.refused.values()]
                found += [(bad.position, str(why)) for bad, why in revising.left_out]
                found += [each.time for each in revising.failed]
                for told in (revising.refused, revising.left_out, revising.failed):
                    told.clear()
            given = end
            if end == len(lines):
                results = revising.finish()
                found += [described(each, course, int, deltas=deltas) for each in results]
                found += emission.lines() if deltas else ()
            state = json.dumps(revising.snapshot())
    return found


def assert_agrees_in_batches(case: Case, folder: Path, engine: str, chance: Random) -> None:
    """Several lines that are taken as one come to the same; what they say changed, changed."""
    ordered, _newest = corrected(case.lines, case.horizon, case.start)
    expected = last_of_each(list(recorded(case, folder, ordered, engine=engine).results()))
    run = recorded(case, folder, case.lines, engine=engine)
    results: list[dict[str, Any]] = []
    shown: dict[Any, set[str]] = {}
    with run.parsed.course(run, case.start, case.until) as course:
        course.unix = False
        revising = Revising(course, case.horizon)
        lines, given = list(Recording(run.streams, run.request).lines()), 0
        while given <= len(lines):
            size = chance.randint(1, 8)
            last = given + size > len(lines)
            found = revising.push(lines[given : given + size])
            for revision in [*found, *(revising.finish() if last else ())]:
                values = described(revision, course, int, deltas=True)
                _assert_changed(shown, values, revision.before)
                results.append(values)
            given += size
    found_last = last_of_each(results)
    for values in found_last.values():
        for name in ("revision", "added", "removed", "entailed", "negated"):
            values.pop(name, None)
    there = {t: v for t, v in found_last.items() if v.get("answer_sets", ()) is not None}
    for found_one in (*there.values(), *expected.values()):
        if "error" in found_one or len(found_one["answer_sets"]) > 1:
            return  # several answer sets have no changes, and are told so here
    assert there == expected, f"{engine}: {there} != {expected}\n{_shown(case, case.lines)}"


def _assert_changed(
    shown: dict[Any, set[str]], values: dict[str, Any], before: Evaluation | None
) -> None:
    if "error" in values:
        shown[values["t"]] = set()
        return
    atoms = set(values["answer_sets"][0]) if values["answer_sets"] else set()
    if "revision" in values:
        known = shown[values["t"]]
    else:
        sets = before.answer_sets if before else ()
        known = set(sets[0].atoms) if len(sets) == 1 else set()
    assert (known - set(values["removed"])) | set(values["added"]) == atoms
    assert not known & set(values["added"])
    assert set(values["removed"]) <= known
    assert values["added"] == sorted(values["added"])
    shown[values["t"]] = atoms


def assert_emits(case: Case, folder: Path, engine: str, operator: Any) -> None:
    """The stream that is emitted comes to the one of the stream in order."""
    ordered, _newest = corrected(case.lines, case.horizon, case.start)
    plain = recorded(case, folder, ordered, engine=engine)
    expected = [json.loads(t) for t in write(plain.items(operator, "http://e/o"), "s", "integer")]
    run = recorded(case, folder, case.lines, engine=engine, revise=case.horizon)
    lines = [json.loads(t) for t in write(run.items(operator, "http://e/o"), "s", "integer")]
    found, _newest = corrected(lines, 10**6, -(10**6))
    expected.sort(key=lambda line: line["t"])
    assert found == expected, f"{engine}: {found} != {expected}\n{_shown(case, case.lines)}"


def _assert_numbered(results: list[dict[str, Any]]) -> None:
    counts: dict[Any, int] = {}
    before: dict[Any, dict[str, Any]] = {}
    for values in results:
        time = values["t"]
        assert values.get("revision", 0) == counts.get(time, 0), results
        assert time in before or values.get("answer_sets", ()) is not None
        counts[time] = counts.get(time, 0) + 1
        told = {k: v for k, v in values.items() if k not in ("revision", "added", "removed")}
        assert before.get(time) != told, "nothing differs"
        before[time] = told


def _assert_changes(results: list[dict[str, Any]]) -> None:
    """What came and went leads from the line before to this one."""
    shown: dict[Any, set[str]] = {}
    for values in results:
        if "error" in values:
            shown[values["t"]] = set()
            continue
        atoms = set(values["answer_sets"][0]) if values["answer_sets"] else set()
        if "revision" in values:
            came, gone = set(values["added"]), set(values["removed"])
            assert (shown[values["t"]] - gone) | came == atoms
            assert not came & shown[values["t"]]
            assert gone <= shown[values["t"]]
        shown[values["t"]] = atoms


def _shown(case: Case, lines: list[dict[str, Any]]) -> str:
    text = "\n".join(map(json.dumps, lines))
    return (
        f"{case.program}\n{text}\n--revise {case.horizon} --from {case.start} --until {case.until}"
    )
