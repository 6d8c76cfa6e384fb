"""What the framework tells the rules of templates: its predicates, and what they need.

This table is the one place that lists them: rules are checked against it and docs/apps.md
is compared with it. `backend.packs.supply` makes the facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from citywise.backend.kinds import Kinds
from citywise.backend.kinds.kind import ROLE
from citywise.backend.packs.ontology import PREFIXES
from citywise.reasoning import Signature

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
KNOWN_PREFIXES: Mapping[str, str] = {
    **PREFIXES,
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sosa": "http://www.w3.org/ns/sosa/",
}
"""Prefixes as our documents have them, for who forgot to declare one."""


@dataclass(frozen=True)
class Supplied:
    """A predicate of the framework.

    `permissions` are all needed; of `streams` one is enough.
    """

    atom: str
    meaning: str
    permissions: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    parameter: tuple[str, ...] = ()
    """The types of parameters whose name its last argument may be."""
    everywhere: bool = False
    """The same for all instances: one fact."""
    names: bool = False
    """Its second argument names a thing, about which there may be facts."""
    radius: bool = False
    """Its third argument is a radius in metres, for which near things are told."""
    roles: tuple[str, ...] = ()
    """Of which one is needed: the app asks for kinds by them."""
    kind: bool = False
    """Its second argument is a kind of observations, which must be on the streams."""

    @property
    def signature(self) -> Signature:
        """Name and arity, as `atom` shows them."""
        name, _, arguments = self.atom.rstrip(")").partition("(")
        return Signature(name, len(arguments.split(",")))


_THINGS = ("events", "places")

PREDICATES: Mapping[str, Supplied] = {
    supplied.signature.name: supplied
    for supplied in (
        # Mine
        Supplied("user(Me,User)", "whose instance it is: the user's id, a string"),
        Supplied("preference(Me,Name,Value)", "what the user prefers", ("preferences",)),
        Supplied("has_position(Me)", "the user's position is known", ("position",)),
        Supplied("has_route(Me)", "the user follows a route", ("route",)),
        # The app's
        Supplied("setting(Name,Value)", "what the manifest sets for the whole app"),
        # Space
        Supplied(
            "near_route(Me,X,Radius)",
            "X is within Radius metres of what remains of my route",
            ("route",),
            _THINGS,
            names=True,
            radius=True,
        ),
        Supplied(
            "ahead(Me,X,Metres)",
            "X is near what remains of my route, Metres along it from my position",
            ("position", "route"),
            _THINGS,
            names=True,
        ),
        Supplied(
            "passed(Me,X)",
            "X is near my route, but only to the part behind me",
            ("position", "route"),
            _THINGS,
            names=True,
        ),
        Supplied(
            "opposite(Me,X)",
            "X is a road directed against my direction of travel there",
            ("route",),
            _THINGS,
            names=True,
        ),
        Supplied(
            "near_me(Me,X,Radius)",
            "X is within Radius metres of my position, straight line",
            ("position",),
            _THINGS,
            names=True,
            radius=True,
        ),
        Supplied(
            "distance(Me,X,Metres)",
            "X is Metres from my position, straight line, and within the largest radius",
            ("position",),
            _THINGS,
            names=True,
        ),
        Supplied(
            "off_route(Me)", "my position is more than 60 m from my route", ("position", "route")
        ),
        Supplied(
            'inside(Me,X,"area")',
            "X lies in the area that my parameter `area` describes, or in the place that it names",
            (),
            _THINGS,
            names=True,
            parameter=("area", "place"),
        ),
        Supplied(
            'near(Me,X,Radius,"place")',
            "X is within Radius metres of the place that my parameter `place` names, or in it",
            (),
            _THINGS,
            names=True,
            parameter=("place",),
            radius=True,
        ),
        Supplied(
            'i_am_inside(Me,"area")',
            "my position lies in the area that my parameter `area` describes, or in that place",
            ("position",),
            parameter=("area", "place"),
        ),
        # Time
        Supplied(
            "time_of_day(Minute)",
            "the local time in minutes since midnight, 0 to 1439",
            everywhere=True,
        ),
        Supplied(
            "now(Seconds)",
            "the time, Unix seconds, to be compared with the times of `#held` and `#last`",
            everywhere=True,
        ),
        Supplied(
            "weekday(Day)", "the local day of the week, 1 is Monday, 7 Sunday", everywhere=True
        ),
        Supplied("date(Year,Month,Day)", "the local date", everywhere=True),
        Supplied(
            'during(Me,"span")',
            "the local time is in the span that my parameter `span` gives",
            parameter=("time_span",),
        ),
        Supplied("open(Place)", "the place's opening hours say it is open", (), ("places",)),
        # Places
        Supplied("place(Place,Kind)", "there is a place of this kind", (), ("places",)),
        # Doubt
        Supplied(
            "reliable(Place,Kind)",
            "the sensor of that kind there can be trusted now, and is not often wrong",
            kind=True,
        ),
        Supplied(
            "reliability(Place,Kind,Percent)",
            "of the last readings of that sensor, so many of a hundred were right",
            kind=True,
        ),
        Supplied(
            "accuracy(Place,Kind,Field,Value)",
            "the latest value of that field may be off by Value, scaled as the field is",
            kind=True,
        ),
    )
}
"""Predicates of the framework by name."""


_OF_STANDING: Mapping[str, Supplied] = {
    RDF + "type": Supplied(
        "rdf_type(Event,Class)", "an open event's type, and every class above it", (), ("events",)
    ),
    PREFIXES["ev"] + "level": Supplied(
        "ev_level(Event,Level)", "how severe it is, 1 to 5", (), ("events",)
    ),
    PREFIXES["ev"] + "place": Supplied(
        "ev_place(Event,Place)", "the place where it is", (), ("events",), names=True
    ),
    PREFIXES["ev"] + "start": Supplied(
        "ev_start(Event,Seconds)", "when it began, Unix seconds", (), ("events",)
    ),
    PREFIXES["ev"] + "source": Supplied(
        "ev_source(Event,Source)", "who reports it, a string", (), ("events",)
    ),
    PREFIXES["ctx"] + "activity": Supplied(
        "ctx_activity(Me,Activity)", "what the user is doing", ("activity",)
    ),
}


@lru_cache(maxsize=64)
def supplied_properties(kinds: Kinds, roles: tuple[str, ...] = ()) -> Mapping[str, Supplied]:
    """Properties that the framework tells, by IRI: in rules their names depend on the prefixes.

    Beside those of what stands they are the latest values of some kinds of observations, and
    of whatever kinds fill some roles.
    """
    by_role = {
        ROLE + role: Supplied("property(Place,Value)", f"the {role} of the place", roles=(role,))
        for role in {*roles, *(role for kind in kinds.values() for role in kind.roles)}
    }
    readings = {
        iri.value: Supplied(
            "property(Place,Value)", f"the latest {field} of the place", (), (name,)
        )
        for name, kind in kinds.items()
        for field, iri, _datatype in kind.properties
    }
    fields = {
        iri.value: Supplied("property(Place,Value)", f"the {field} of the place", (), ("places",))
        for kind in kinds.places.values()
        for field, iri, _datatype in kind.properties
    }
    return {**_OF_STANDING, **fields, **readings, **by_role}


CONCLUSIONS: Mapping[str, Signature] = {
    "notice": Signature("notice", 4),
    "detail": Signature("detail", 5),
    "closed": Signature("closed", 4),
}
"""What rules conclude for the framework, by name."""
CONCLUSION_ATOMS = {
    "notice": "notice(Me,Kind,About,Criticality)",
    "detail": "detail(Me,Kind,About,Name,Value)",
    "closed": "closed(Me,Kind,About,Reason)",
}
