"""A plan to take along: a map in one file that needs no host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, render_template, request
from markupsafe import Markup, escape

from citywise.apps.travel_planner.kept_plans import kept
from citywise.apps.travel_planner.roads.cityfiles import NETWORK
from citywise.apps.travel_planner.roads.network import NetworkError, RoadNetwork
from citywise.apps.travel_planner.wording import Words
from citywise.backend.app import (
    access,
    aside,
    limits,
    parameters,
    problems,
    state,
    times,
    translator,
)

if TYPE_CHECKING:
    from citywise.apps.travel_planner.exporting import MapFile, Shape

blueprint = Blueprint("plan_export", __name__)
Option = Mapping[str, Any]
Translate = Callable[..., str]


@blueprint.get("/plan/export")
@access.city
@limits.counted("plans")
def export_plan() -> Response:
    """One HTML file with the map of a plan, its routes or garages, and what they rest on."""
    parameters.only("plan", "lang")
    if not (plan := request.args.get("plan")):
        raise problems.bad_parameter(
            "plan", "missing; it is the `plan` of an answer to POST /plans/…"
        )
    if (answer := kept().find(plan)) is None:
        raise problems.not_found(f"plan {plan!r}: plans are kept for 30 minutes; plan again")
    html = document(answer, parameters.language())
    file = Response(html, content_type="text/html; charset=utf-8")
    moment = times.local(times.parse_ms(answer["now"])).strftime("%Y-%m-%d-%H%M")
    name = f"citywise-{answer['kind']}-{moment}.html"
    file.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    file.headers["Cache-Control"] = "no-store"
    return file


def document(answer: Option, language: str) -> str:
    """The file itself, for an answer of a planner."""
    from citywise.apps.travel_planner.exporting import (
        colour,  # It loads folium, which takes a while.
    )

    t = translator(language)
    options = answer.get("routes") or answer.get("garages") or []
    words = Words(language, answer.get("currency", "DKK"))
    lines = [_facts(option, t, words) for option in options]
    shapes = [_shape(option, facts) for option, facts in zip(options, lines, strict=True)]
    ends = [answer[end] for end in ("from", "to", "destination") if answer.get(end)]
    city = _drawn(shapes, [(end["lat"], end["lon"]) for end in ends])
    return render_template(
        "travel_planner/export.html",
        language=language,
        t=t,
        map=city,
        answer=answer,
        made=times.local(times.parse_ms(answer["now"])).strftime("%d.%m.%Y %H:%M"),
        ends=[_end(end) for end in ends],
        items=[
            (colour(number), _name(option, t), option, facts)
            for number, (option, facts) in enumerate(zip(options, lines, strict=True))
        ],
    )


def _end(end: Option) -> str:
    return str(end.get("name") or f"{end['lat']:.5f}, {end['lon']:.5f}")


def _name(option: Option, t: Translate) -> str:
    return str(option.get("name") or t(f"plan.mode.{option['mode']}"))


def _facts(option: Option, t: Translate, words: Words) -> Sequence[str]:
    """What an option takes, in the order in which people ask for it and in the words of the
    plan's own sentences; unknown values are left out."""
    said = [
        words.amount(on, option[field])
        for on, field in (("time", "time_s"), ("distance", "distance_m"), ("cost", "cost"))
        if option.get(field) is not None
    ]
    if option.get("walk_m"):
        said.append(t("trip.export.walk", n=words.length(option["walk_m"])))
    if option.get("free") is not None:
        said.append(t("trip.export.free", n=option["free"]))
    return said


def _shape(option: Option, facts: Sequence[str]) -> Shape:
    """The way of a route; of a garage the drive and the walk."""
    from citywise.apps.travel_planner.exporting import Shape, positions

    drive = positions((option.get("drive") or {}).get("geometry"))
    ways = [way for way in (positions(option.get("geometry")), drive) if way]
    point = (option["lat"], option["lon"]) if "lat" in option else None
    head = Markup("<strong>{}</strong><br>").format(option.get("name") or facts[0])
    said = head + escape(" · ".join(facts)) + Markup("<br>") + escape(option["why"])
    return Shape(str(said), ways, point, bool(option.get("chosen")))


def _drawn(shapes: Sequence[Shape], ends: Sequence[tuple[float, float]]) -> MapFile:
    """The map; it takes a while, in which the event streams go on."""
    from citywise.apps.travel_planner.exporting import drawn

    path = state().settings.city_dir / NETWORK
    return aside(lambda: drawn(shapes, ends, _network(path)))


def _network(path: Path) -> RoadNetwork | None:
    """The streets behind the map; a plan is shown without them rather than not at all."""
    try:
        return _loaded(path, path.stat().st_mtime_ns)
    except (NetworkError, OSError):
        return None


@lru_cache(maxsize=1)
def _loaded(path: Path, changed_ns: int) -> RoadNetwork:
    """Loaded once for each state of the file."""
    del changed_ns
    return RoadNetwork.load(path)
