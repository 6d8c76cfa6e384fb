"""Scenarios: what happens in a city, line by line, as entries of the log (docs/apps.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import ValidationError

from citywise.backend.errors import CitywiseError
from citywise.backend.ingest import standing
from citywise.backend.ingest.payloads import Place, of_event
from citywise.backend.ingest.places import fitting
from citywise.backend.ingest.records import ClockReading, LogEntry, Reading, Standing, item_position
from citywise.backend.kinds import Kinds, builtin
from citywise.backend.packs import scenario_places
from citywise.backend.packs.activities import unknown_activity
from citywise.backend.packs.duties import Derived, Duty, derived
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.ontology import city, expand, local_name
from citywise.backend.packs.template import TemplateVersion, recipient_of
from citywise.backend.packs.unique_keys import unique
from citywise.backend.times import iso, parse_ms

SUFFIX = ".jsonl"
EXPECTED = ".expected.jsonl"
Places = Mapping[str, Mapping[str, Any]]
"""The bodies of places by their ids."""
ALONE: Places = {}
_T = TypeVar("_T")
_CITY_EVENT = expand("ev:CityEvent")
_WHAT = ("place", "event", "context", "instance", "reading", "duty")


class ScenarioError(CitywiseError):
    """Lines of a scenario say nothing that can happen; the message names file and lines."""


class _LineError(Exception):
    """What is wrong with one line."""


def of_pack(folder: Path) -> list[Path]:
    """The scenarios of an app."""
    found = sorted((folder / "scenarios").glob(f"*{SUFFIX}"))
    return [path for path in found if not path.name.endswith(EXPECTED)]


def expected_path(scenario: Path) -> Path:
    """Where the notices expected of a scenario stand."""
    return scenario.with_name(scenario.name.removesuffix(SUFFIX) + EXPECTED)


def entries(
    path: Path,
    templates: Sequence[TemplateVersion],
    city: Places | None = None,
    kinds: Kinds | None = None,
) -> list[LogEntry]:
    """The log entries of a scenario: in order of time, a clock after each distinct time.

    `city` are the places that there are beside its own, `ALONE` for none; it may not name
    others. `kinds` are those of its readings, by default those that come with Citywise.
    Raises `ScenarioError` with all lines at fault.
    """
    kinds = builtin() if kinds is None else kinds
    return _Scenario(path, templates, city, kinds).entries()


def names(found: Sequence[LogEntry]) -> dict[str, str]:
    """The names of events and places in some entries, by id."""
    return {
        entry.key: entry.body["name"]
        for entry in found
        if isinstance(entry, Standing) and entry.body and entry.body.get("name")
    }


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; raises `ScenarioError`."""
    try:
        texts = path.read_bytes().splitlines()
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        try:
            orjson.loads(text)  # stricter, but silent about keys that come twice
            content = json.loads(text, object_pairs_hook=unique)
        except ValueError as error:
            raise ScenarioError(f"{path}:{number}: this line is no JSON: {error}") from None
        if not isinstance(content, dict):
            raise ScenarioError(f"{path}:{number}: expected an object, {{…}}")
        yield number, content


class _Scenario:
    """One reading of a scenario."""

    def __init__(
        self, path: Path, templates: Sequence[TemplateVersion], city: Places | None, kinds: Kinds
    ) -> None:
        self._path, self._city, self._kinds = path, city, kinds
        self._number = 0
        self._templates = {template.name: template for template in templates}
        self._places = dict(city or {})
        self._standing: set[tuple[str, str]] = set()
        """The events and instances that there are, by subject and id."""
        self._mentions: list[scenario_places.Mention] = []
        self._duties: set[Duty] = set()
        self._derived: dict[str, Derived] = {}
        """The instances that come of duties."""
        self._found: list[LogEntry] = []
        self._now: int | None = None
        self._faults: list[str] = []

    def entries(self) -> list[LogEntry]:
        for number, content in lines(self._path):
            self._number = number
            try:
                self._line(content)
            except _LineError as fault:
                self._faults.append(f"{self._path}:{number}: {fault}")
        if self._city is not None:
            self._refuse_unknown_places()
        if self._faults:
            raise ScenarioError("\n".join(self._faults))
        if self._now is None:
            raise ScenarioError(f"{self._path}: empty; write what happens, a line each")
        self._clock()
        return self._found

    def _refuse_unknown_places(self) -> None:
        for mention in self._mentions:
            if (fault := scenario_places.fault(mention, self._places, self._kinds)) is not None:
                self._faults.append(f"{self._path}:{mention.line}: {fault}")

    def _line(self, content: dict[str, Any]) -> None:
        self._advance(content.pop("t", None))
        unknown = [key for key in content if key not in _WHAT]
        if unknown or len(content) > 1:
            raise _LineError(
                f'found the keys {", ".join(content)}, expected "t" and one of {", ".join(_WHAT)} '
                '(or "t" alone: time passes)'
            )
        for what, body in content.items():
            if not isinstance(body, dict):
                raise _LineError(f"`{what}` must be an object, {{…}}")
            self._reader(what)(body)

    def _reader(self, what: str) -> Callable[[dict[str, Any]], None]:
        readers = (
            self._place,
            self._event,
            self._context,
            self._instance,
            self._reading,
            self._duty,
        )
        return dict(zip(_WHAT, readers, strict=True))[what]

    # -- time -----------------------------------------------------------------------

    def _advance(self, written: object) -> None:
        try:
            t_ms = parse_ms(str(written))
        except ValueError:
            raise _LineError(
                f'`t` is {written!r}, expected a time with zone such as "2026-05-04T08:00:00Z"'
            ) from None
        if self._now is not None and t_ms < self._now:
            raise _LineError(
                f"`t` goes back, from {iso(self._now)} to {written}; put the lines in order of time"
            )
        if t_ms != self._now:
            self._clock()
            self._now = t_ms

    def _clock(self) -> None:
        if self._now is not None:
            self._found.append(ClockReading(self._now, self._now, self._position))

    @property
    def _position(self) -> int:
        return item_position(len(self._found))

    def _ends(self, subject: str, name: str) -> None:
        entry = _checked(subject, name, None)
        alone = self._city == ALONE or (subject == "instance" and self._city is not None)
        if alone and (subject, name) not in self._standing:
            there = [key for known, key in sorted(self._standing) if known == subject]
            names = ", ".join(there) or "none"
            hint = did_you_mean(name, there, f"there are: {names}")
            raise _LineError(f"there is no {subject} `{name}` that could end; {hint}")
        self._stands(entry)
        self._standing.discard((subject, name))

    def _stands(self, entry: standing.Entry) -> None:
        self._standing.add((entry.subject, entry.key))
        self._found.append(Standing(entry.subject, entry.key, entry.body, self._position))

    def _mention(self, where: str, place: str) -> None:
        self._mentions.append(scenario_places.Mention(self._number, where, place))

    # -- what happens ---------------------------------------------------------------

    def _place(self, body: dict[str, Any]) -> None:
        body = {"sensors": [], **body}
        text = orjson.dumps(body)
        place = _valid("place", lambda: fitting(Place.model_validate_json(text), self._kinds))
        entry = standing.of_place(place)
        self._places[place.id] = body
        self._stands(entry)
        self._settle_duties()

    def _event(self, body: dict[str, Any]) -> None:
        """An event; what it does not say comes from its place and the line's time."""
        name = str(body.pop("id", ""))
        if body.pop("end", False):
            self._ends("event", name)
            return
        if body.get("place_id"):
            self._mention(f"event `{name}`: place_id", str(body["place_id"]))
        place = self._places.get(str(body.get("place_id")), {})
        known = {"name": place["name"]} if "name" in place else {}
        if "geometry" in place:
            known["geometry"] = of_event(place["geometry"])
        told = {"level": 3, "source": "sensor", "start_ms": self._now}
        self._refuse_unknown(body.get("type"))
        self._stands(_checked("event", name, {**told, **known, **body}))

    def _refuse_unknown(self, kind: object) -> None:
        own = [iri for template in self._templates.values() for iri in template.superclasses]
        known = {local_name(iri): iri for iri in (*city().below(_CITY_EVENT), *own)}
        if kind is None or kind in known or kind in known.values():
            return
        hint = did_you_mean(str(kind), known, f"there are {', '.join(sorted(known))}")
        raise _LineError(f"`{kind}` is no type of event; {hint}")

    def _context(self, body: dict[str, Any]) -> None:
        user = str(body.pop("user", ""))
        activity = body.get("activity")
        if isinstance(activity, str) and (fault := unknown_activity(activity)):
            raise _LineError(f"context: {fault}")
        text = orjson.dumps(body)
        update = _valid("context", lambda: standing.ContextUpdate.model_validate_json(text))
        for entry in update.entries(user):
            self._stands(_checked(entry.subject, entry.key, entry.body))

    def _instance(self, body: dict[str, Any]) -> None:
        name = str(body.pop("id", ""))
        if body.pop("remove", False):
            self._ends("instance", name)
            return
        template = self._template(str(body.pop("template", "")))
        try:
            values = template.bind(body.pop("values", {}))
        except CitywiseError as error:
            raise _LineError(f"instance `{name}`: {error}") from None
        known = {"app": template.app, "template": template.name, "version": template.version}
        for key in known.keys() & body.keys():
            if body[key] != known[key]:
                said = f"{key} is {body[key]!r}, but here is {known[key]!r}; leave `{key}` out"
                raise _LineError(f"instance `{name}`: {said}")
        self._mentions += scenario_places.of_values(self._number, name, template, values)
        self._stands(_checked("instance", name, {**known, **body, "values": values}))

    def _duty(self, body: dict[str, Any]) -> None:
        """Somebody has a role from now on, at a place or at all; or has it no longer."""
        ends = body.pop("end", False)
        unknown = [key for key in body if key not in Duty._fields]
        if unknown or not all(isinstance(body.get(key), str) for key in ("role", "user")):
            raise _LineError("a duty has `role`, `user`, and `place` or none (or `end`)")
        duty = Duty(body["role"], str(body.get("place") or ""), body["user"])
        roles = [recipient_of(t.recipient)[0] for t in self._templates.values() if t.recipient]
        if duty.role not in roles:
            hint = did_you_mean(duty.role, roles, f"there are: {', '.join(roles) or 'none'}")
            raise _LineError(f"no template has the recipient `{duty.role}`; {hint}")
        if duty.place:
            self._mention(f"duty of {duty.user}: place", duty.place)
        (self._duties.discard if ends else self._duties.add)(duty)
        self._settle_duties()

    def _settle_duties(self) -> None:
        kinds: dict[str, list[str]] = {}
        for key, place in sorted(self._places.items()) if self._duties or self._derived else ():
            kinds.setdefault(place["kind"], []).append(key)
        templates = self._templates.values()
        now = {one.id: one for one in derived(templates, sorted(self._duties), kinds)}
        for key in sorted(self._derived.keys() - now.keys()):
            self._stands(_checked("instance", key, None))
        for key in sorted(now.keys() - self._derived.keys()):
            self._stands(_checked("instance", key, now[key].standing()))
        self._derived = now

    def _template(self, name: str) -> TemplateVersion:
        if name not in self._templates:
            known = ", ".join(self._templates) or "none"
            raise _LineError(f"the app has no template `{name}`; there are: {known}")
        return self._templates[name]

    def _reading(self, body: dict[str, Any]) -> None:
        kind = body.pop("kind", None)
        if not isinstance(kind, str) or kind not in self._kinds:
            raise _LineError(f"`kind` is {kind!r}, expected one of {', '.join(self._kinds)}")
        assert self._now is not None
        reader, told = self._kinds.reader(kind), {"observed_at": iso(self._now), **body}
        found = _valid("reading", lambda: reader.of(told))
        self._mention(f"reading of {kind}: sensor", found.sensor)
        times = found.observed_ms, self._now
        self._found.append(Reading(kind, found.sensor, *times, found.values, self._position))


def _checked(subject: str, key: str, body: Mapping[str, Any] | None) -> standing.Entry:
    return _valid(f"{subject} `{key}`", lambda: standing.checked(subject, key, body))


def _valid(what: str, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except ValidationError as error:
        said = []
        for fault in error.errors(include_url=False):
            name = ".".join(map(str, fault["loc"]))
            text = fault["msg"].removeprefix("Value error, ")
            said.append(f"{name}: {text}" if name else text)
        raise _LineError(f"{what}: {'; '.join(said)}") from None
    except ValueError as error:
        raise _LineError(f"{what}: {error}") from None
