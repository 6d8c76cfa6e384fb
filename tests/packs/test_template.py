"""Templates: values bound to facts, identity, JSON, migration."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from pydantic import JsonValue

from citywise.backend.packs.parameters import ClassParameter
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.values import BadValuesError
from tests.packs.folders import AppFolder

PARAMETERS = """
[templates.jam_ahead.parameters.mood]
type = "choice"
choices = ["calm", "hasty"]
optional = true
title = "Mood"

[templates.jam_ahead.parameters.friends]
type = "user"
repeated = true
optional = true
title = "Friends"

[templates.jam_ahead.parameters.home]
type = "area"
optional = true
title = "Home"

[templates.jam_ahead.parameters.hours]
type = "time_span"
default = "22:00-06:00"
title = "When"

[templates.jam_ahead.parameters.kind]
type = "class"
of = "ev:TransportationEvent"
default = "ev:TrafficJam"
title = "What"

[templates.jam_ahead.parameters.garage]
type = "place"
kind = "garage"
title = "Garage"

[templates.jam_ahead.parameters.way]
type = "route"
default = "mine"
title = "Way"

[notices"""
HOME: JsonValue = {"center": {"lat": 56.15, "lon": 10.2}, "radius_m": 300}


@pytest.fixture
def template(app: AppFolder) -> TemplateVersion:
    """A template with parameters of many types."""
    app.manifest("\n[notices", PARAMETERS)
    return app.template()


def test_bound_values_have_defaults_and_give_facts(template: TemplateVersion) -> None:
    bound = template.bind({"garage": "BRUUNS", "friends": ["bob", "eve"], "mood": None})
    assert template.facts("alice.jams", bound, template.term) == [
        'radius("alice.jams",300)',
        'friends("alice.jams","bob")',
        'friends("alice.jams","eve")',
        'hours("alice.jams",1320,360)',
        'kind("alice.jams","ev_TrafficJam")',
        'garage("alice.jams","https://w3id.org/citywise/place/BRUUNS")',
        'way("alice.jams","mine")',
    ]


def test_the_framework_is_told_radii_areas_spans_routes_and_places(
    template: TemplateVersion,
) -> None:
    line: list[JsonValue] = [[10.2, 56.15], [10.3, 56.15]]
    way: JsonValue = {"coordinates": line}
    bound = template.bind({"garage": "BRUUNS", "home": HOME, "radius": 100, "way": way})
    assert template.thresholds(bound) == {100}
    assert template.areas(bound) == {"home": [HOME]}
    assert template.spans(bound) == {"hours": [(1320, 360)]}
    assert template.route(bound) == line
    assert template.route(template.bind({"garage": "BRUUNS"})) is None
    assert template.places(bound) == [("garage", "BRUUNS", template.parameters["garage"])]


def test_all_wrong_values_are_told_at_once(template: TemplateVersion) -> None:
    with pytest.raises(BadValuesError) as caught:
        template.bind({"radius": "300", "raduis": 300, "friends": "bob", "mood": "sad"})
    assert [fault.path for fault in caught.value.faults] == [
        *("raduis", "radius", "mood", "friends", "garage")
    ]
    assert str(caught.value).splitlines()[:3] == [
        "values for jam_watch/jam_ahead@1:",
        (
            "  raduis: found a value for `raduis`, expected only the parameters: radius, mood, "
            "friends, home, hours, kind, garage, way; did you mean `radius`?"
        ),
        (
            '  radius: found "300", expected a whole number from 50 to 1000 in steps of 50 (m); '
            "write it without quotes"
        ),
    ]
    assert caught.value.faults[-1].to_json() == {
        "path": "garage",
        "found": "nothing",
        "expected": "a place (Garage)",
        "fix": "give `garage` a value",
    }


def test_a_version_survives_json(template: TemplateVersion) -> None:
    again = TemplateVersion.from_json(template.to_json())
    assert again == template
    assert again.digest == template.digest
    assert again.request.used == template.request.used


def test_its_schema_takes_what_it_takes(template: TemplateVersion) -> None:
    schema = template.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    values: dict[str, Any] = {"garage": "BRUUNS", "home": HOME, "radius": 100}
    jsonschema.validate(template.bind(values), schema)
    for wrong in ({}, {**values, "radius": 120}, {**values, "more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ('title = "How near"', 'title = "How close"', False),
        ('title = "Jam ahead"', 'title = "A jam"', False),
        ("max = 1000", "max = 2000", True),
        ("default = 300", "default = 350", True),
        ('permissions = ["position", "route"]', 'permissions = ["route", "position"]', False),
        ('"route"]', '"route", "activity"]', True),
    ],
)
def test_the_digest_is_of_what_decides_answers(
    app: AppFolder, old: str, new: str, changes: bool
) -> None:
    before = app.template().digest
    app.manifest(old, new)
    assert (app.template().digest != before) is changes


def test_a_new_class_of_our_ontologies_is_no_other_template(template: TemplateVersion) -> None:
    kind = template.parameters["kind"]
    assert isinstance(kind, ClassParameter)
    more = kind.model_copy(update={"choices": (*kind.choices, "https://example.org/own#New")})
    fewer = kind.model_copy(update={"choices": kind.choices[:1]})
    assert kind.of not in fewer.choices
    assert template.digest == _with_kind(template, more).digest
    assert template.digest != _with_kind(template, fewer).digest


def _with_kind(template: TemplateVersion, kind: ClassParameter) -> TemplateVersion:
    body = {**template.to_json(), "parameters": {**template.parameters, "kind": kind}}
    return TemplateVersion(**body)


def test_other_rules_are_another_digest(app: AppFolder) -> None:
    before = app.template().digest
    app.rules("near_route(Me,Jam,R)", "near_route(Me,Jam,200), radius(Me,R)")
    assert app.template().digest != before
    assert app.template().radii == {200}


def test_radii_in_rules_may_be_constants(app: AppFolder) -> None:
    app.rules("(r1)", "#const near = 100.\n(r1)")
    app.rules("near_route(Me,Jam,R)", "near_route(Me,Jam,2*near), near_me(Me,Jam,50), radius(Me,R)")
    assert app.template().radii == {200, 50}


def test_migration_keeps_values_drops_those_no_more_and_says_what_does_not_fit(
    app: AppFolder, template: TemplateVersion
) -> None:
    values = template.bind({"garage": "BRUUNS", "radius": 1000, "mood": "calm"})
    app.manifest("max = 1000", "max = 500")
    app.manifest('choices = ["calm", "hasty"]', 'choices = ["calm"]')
    app.manifest('[templates.jam_ahead.parameters.garage]\ntype = "place"\nkind = "garage"\n', "")
    app.manifest('title = "Garage"\n', "")
    after = app.template()
    with pytest.raises(BadValuesError) as caught:
        after.bind(after.fitting(values))
    assert [fault.path for fault in caught.value.faults] == ["radius"]
    kept = after.bind(after.fitting({**values, "radius": 500}))
    assert (kept["mood"], kept["radius"], "garage" in kept) == ("calm", 500, False)
