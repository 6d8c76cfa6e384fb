"""From the rows of a request's parts to those that one task would have given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from citywise.backend.errors import CitywiseError
from citywise.backend.pipeline.evaluation import Row
from citywise.reasoning import AnswerSet
from citywise.reasoning.partition.combining import united

_APART = ("feedback", "since", "last", "supplied", "resting", "kept", "memory", "past")
"""What of a state may differ from part to part."""


class PartsError(CitywiseError):
    """The parts of a request do not fit together; nothing of the batch is committed."""


def merged(rows: Iterable[Row]) -> list[Row]:
    """The rows of a batch, with one cursor for each request.

    The evaluations of the parts at an instant become one: facts are added up, the slowest
    part's time counts. Raises `PartsError` if a part is missing or stands elsewhere.
    """
    by_request: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_request[row.request].append(row)
    return [row for found in by_request.values() for row in _merged(found)]


def _merged(rows: Sequence[Row]) -> Iterable[Row]:
    cursors = [row for row in rows if row.kind == "cursor"]
    if len(cursors) == 1 and cursors[0].body.get("parts", 1) == 1:
        return rows
    stuck = next((row for row in cursors if row.body.get("stuck")), None)
    if stuck is not None:  # the others will say the same again
        said = (row for row in rows if row.kind == "trace" and row.body["error"])
        return [*islice(said, 1), stuck]
    others = [row for row in rows if row.kind not in ("cursor", "trace", "revised")]
    return [*_traces(rows), *_revised(rows), *others, _cursor(cursors)]


def _revised(rows: Sequence[Row]) -> Iterator[Row]:
    """What a changed past makes of the events, those of all parts together."""
    found = [row for row in rows if row.kind == "revised"]
    if found:
        own = ("open", "events")
        together = {name: [one for row in found for one in row.body[name]] for name in own}
        yield replace(found[0], body={**found[0].body, **together})


def _traces(rows: Iterable[Row]) -> Iterator[Row]:
    """One trace for each instant; a part that rests does not evaluate where others do."""
    at: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        if row.kind == "trace":
            at[row.t_ms].append(row)
    for t_ms in sorted(at):
        for found in _evaluations(at[t_ms]):
            yield Row(found[0].request, t_ms, "trace", _trace([row.body for row in found]))


def _evaluations(traces: Sequence[Row]) -> Iterator[list[Row]]:
    """The traces of an instant by evaluation: every part comes to the same in turn."""
    seen: dict[int, int] = defaultdict(int)
    turns: dict[int, list[Row]] = defaultdict(list)
    for row in traces:
        part = row.body["part"]
        turns[seen[part]].append(row)
        seen[part] += 1
    yield from turns.values()


def _trace(bodies: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "items": max(body["items"] for body in bodies),
        "atoms": sum(body["atoms"] for body in bodies),
        "seconds": max(body["seconds"] for body in bodies),
        "error": next((body["error"] for body in bodies if body["error"]), None),
        "part": 0,
        **(_of_template(bodies) if "keys" in bodies[0] else {}),
    }


def _of_template(bodies: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What traces of a template say besides: whom it evaluated, what came of it."""
    changed = [body["changed"] for body in bodies]
    return {
        "position": bodies[0]["position"],
        "keys": sum(body["keys"] for body in bodies),
        "notices": sum(body["notices"] for body in bodies),
        "changed": {name: [x for c in changed for x in c[name]] for name in changed[0]},
    }


def _cursor(cursors: Sequence[Row]) -> Row:
    bodies = sorted((row.body for row in cursors), key=lambda body: body["part"])
    name, count = cursors[0].request, bodies[0]["parts"]
    if [body["part"] for body in bodies] != list(range(count)):
        numbers = ", ".join(str(body["part"] + 1) for body in bodies)
        raise PartsError(f"request `{name}`: of {count} parts there are {numbers}")
    if len({_standing(body) for body in bodies}) > 1:
        raise PartsError(
            f"request `{name}`: its parts stand at different places: "
            + "; ".join(_standing(body) for body in bodies)
        )
    states = [body["state"] for body in bodies]
    state = {**states[0], **(_of_request(states) if "feedback" in states[0] else {})}
    if "past" in states[0]:
        state["past"] = _past([s["past"] for s in states])
    if any("kept" in s for s in states):
        state["kept"] = {key: answer for s in states for key, answer in s.get("kept", {}).items()}
    if any("memory" in s for s in states):
        remembered = [s["memory"] for s in states]
        keys = {key: found for memory in remembered for key, found in memory["keys"].items()}
        state["memory"] = {**remembered[0], "keys": keys}
    warm = all(body["warm"] for body in bodies)
    seconds = {step: sum(b["seconds"][step] for b in bodies) for step in bodies[0]["seconds"]}
    body = {**bodies[0], "state": state, "warm": warm, "seconds": seconds}
    return Row(name, cursors[0].t_ms, "cursor", body)


def _of_request(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What of the states of a city's request is each part's own."""
    together = united([AnswerSet(tuple(s["feedback"])) for s in states])
    timed = {
        word: sorted({(atom, time) for s in states for atom, time in s[word]})
        for word in ("since", "last")
        if word in states[0]
    }
    return {
        "feedback": list(together.atoms),
        **{word: [list(each) for each in found] for word, found in timed.items()},
        "supplied": [list(p) for p in sorted({tuple(p) for s in states for p in s["supplied"]})],
        "resting": all(s["resting"] for s in states),
    }


def _past(pasts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The past of the whole: all parts keep states of the same times."""
    kept = [
        [since, {**state, **_of_request([p["checkpoints"][n][1] for p in pasts])}]
        for n, (since, state) in enumerate(pasts[0]["checkpoints"])
    ]
    return {**pasts[0], "checkpoints": kept}


def _standing(body: dict[str, Any]) -> str:
    """Where a part stands, in a form that can be compared and shown."""
    places = [f"{k} {body[k]}" for k in ("start", "position", "resume_from", "answered_ms")]
    state = sorted((k, v) for k, v in body["state"].items() if k not in _APART)
    return ", ".join([*places, *(f"{k} {v}" for k, v in state)])
