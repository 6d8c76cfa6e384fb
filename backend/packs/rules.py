"""What the rules of a template read: parameters, the framework's facts, knowledge, streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cached_property

from clingo.ast import ASTType

from citywise.backend.city.observations import kind_of, scaled, stream_iri
from citywise.backend.packs.conclusions import Conclusions
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.manifest import Pack
from citywise.backend.packs.names import Names
from citywise.backend.packs.parameters import ChoiceParameter, RouteParameter
from citywise.backend.packs.rule_atoms import (
    Findings,
    firsts,
    of_rule,
    plain,
    signature,
    string,
    text,
    word,
)
from citywise.backend.packs.scales import scale_faults
from citywise.backend.packs.template import RADIUS, TemplateVersion
from citywise.backend.packs.vocabulary import (
    CONCLUSIONS,
    KNOWN_PREFIXES,
    PREDICATES,
    Supplied,
)
from citywise.reasoning import Finding, Signature
from citywise.reasoning.asp import Node, body_atoms, variables
from citywise.reasoning.languages.casp import Reading
from citywise.reasoning.model.carried import fed, timed
from citywise.reasoning.run.keyed import due_rules

_LIST = "see the list in docs/apps.md"
_ARGUMENTS = {"sensor": "Place,Kind", "time_span": "From,To"}


class Rules:
    """The rules of a template against what there is."""

    def __init__(self, template: TemplateVersion, reading: Reading, pack: Pack) -> None:
        manifest = pack.manifest
        self._template, self._reading, self._manifest = template, reading, manifest
        self._kinds = pack.kinds
        self._told = template.told
        self._request = scaled(reading.request, template.kinds)
        self._say = Findings(reading)
        self._resources = Names(self._request.prefixes, pack.ontology)
        self.conclusions = Conclusions(template, reading, manifest, self._resources)
        self._atoms = list(plain(reading, body_atoms))

    def findings(self) -> Iterator[Finding]:
        """All there is to say about the rules."""
        yield from self._directives()
        yield from self._streams()
        yield from self.conclusions.findings()
        for atom in firsts(self._atoms):
            yield from self._used(atom)
        for atom in self._atoms:
            yield from self._arguments(atom)
        yield from self._radii()
        yield from scale_faults(self._reading, self._request, self._template, self._say)
        yield from self._names()
        yield from self._unread()

    # -- directives -----------------------------------------------------------------

    def _directives(self) -> Iterator[Finding]:
        """What the framework decides: it shows conclusions, and has no answer before."""
        request, places = self._request, self._reading.directives.places
        shown = [s for s in sorted(request.shows) if CONCLUSIONS.get(s.name) != s]
        told = ", ".join(f"`{s}`" for s in CONCLUSIONS.values())
        for name in map(str, shown):
            message = f"`#show {name}`: a template shows {told}; remove the line"
            statement = places.get(("#show", name))
            yield self._say.at(statement.start if statement else 0, "directive", message)
        yield from self._remembered()
        if request.shows_terms:
            yield self._say.at(0, "directive", "a template shows no terms; remove `#show` with `:`")

    def _remembered(self) -> Iterator[Finding]:
        """What is remembered is an instance's, and what time does can be foreseen."""
        directives = self._reading.directives
        places = {s: ("#feedback", at) for s, at in directives.feedback.items()}
        places |= {s: ("#held", at) for s, at in directives.held.items()}
        places |= {s: ("#last", at) for s, (_age, at) in directives.last.items()}
        for found, (keyword, statement) in places.items():
            if found in self._derived and found.arity:
                continue
            message = (
                f"`{keyword} {found}`: a template remembers what its rules derive of an instance, "
                "which is the first argument"
            )
            yield self._say.at(statement.start, "directive", f"{message}: e.g. `slow(Me,Road)`")
        for found, (age, statement) in directives.last.items():
            if age is None:
                message = f"`#last {found}`: what is remembered may be about people; say after how"
                cure = f"long it is forgotten, e.g. `#last {found} 1d`"
                yield self._say.at(statement.start, "directive", f"{message} {cure}")
        if self._request.sees_now:
            for fault in due_rules(self._reading.rules)[1]:
                message = f"`{fault.node}`: nobody can say when this changes with the time"
                yield self._say.error(fault.node, "now", f"{message}: {fault.why}")

    def _streams(self) -> Iterator[Finding]:
        for iri, _window, statement in self._reading.directives.streams:
            kind = kind_of(iri)
            if regime := self._reading.directives.entailment:
                message = f"`[{regime}]`: a template infers from knowledge bases only; remove it"
                yield self._say.at(statement.start, "entailment", message)
            if kind not in self._kinds:
                known = ", ".join(f"<{stream_iri(k)}>" for k in self._kinds)
                message = f"there is no stream <{iri}>; there are {known}"
                yield self._say.at(statement.start, "stream", message)
            elif kind not in self._manifest.streams:
                message = f'the window needs the stream "{kind}"; add it to `streams` in app.toml'
                yield self._say.at(statement.start, "stream", message)

    # -- predicates -----------------------------------------------------------------

    def _used(self, atom: Node) -> Iterator[Finding]:
        found = signature(atom)
        if supplied := PREDICATES.get(found.name):
            yield from self._supplied(atom, supplied)
        elif found.name in self._template.parameters:
            yield from self._parameter(atom)
        elif iri := self._resources.property(found.name):
            yield from self._property(atom, iri)
        elif found not in self._derived and found not in self._outside_predicates:
            yield self._say.error(atom, "unknown-predicate", self._unknown(found))

    def _supplied(self, atom: Node, supplied: Supplied) -> Iterator[Finding]:
        if signature(atom) != supplied.signature:
            yield self._arity(atom, supplied.atom)
        yield from self._needs(atom, supplied)

    def _of_kind(self, atom: Node) -> Iterator[Finding]:
        """What asks for a kind of observations, and perhaps for one of its fields."""
        kinds, name = self._template.kinds, text(atom, 1)
        if name is None and kinds:
            return
        kind = kinds.get(name or "")
        if kind is None:
            cure = "add it to `streams` in app.toml"
            if name is not None and name not in self._kinds:
                cure = did_you_mean(name, self._kinds, f"there are {', '.join(self._kinds)}")
            wanted = f'stream "{name}"' if name else "stream of the kind that it asks about"
            yield self._say.error(atom, "stream", f"`{atom.name}` needs the {wanted}; {cure}")
        elif atom.name == "accuracy" and (field := text(atom, 2)) not in (None, *kind.fields):
            hint = did_you_mean(str(field), kind.fields, f"there are {', '.join(kind.fields)}")
            message = f'`accuracy`: "{field}" is no field of the kind `{name}`; {hint}'
            yield self._say.error(atom, "unknown-field", message)

    def _arity(self, atom: Node, right: str) -> Finding:
        message = f"`{signature(atom)}` has the wrong number of arguments; write `{right}`"
        return self._say.error(atom, "arity", message)

    def _needs(self, atom: Node, supplied: Supplied) -> Iterator[Finding]:
        for permission in supplied.permissions:
            if permission not in self._manifest.permissions:
                message = f'`{atom.name}` needs the permission "{permission}"; add it to'
                yield self._say.error(atom, "permission", f"{message} `permissions` in app.toml")
        streams = supplied.streams
        if streams and not set(streams) & set(self._manifest.streams):
            wanted = " or ".join(f'"{stream}"' for stream in streams)
            message = f"`{atom.name}` needs the stream {wanted}; add it to `streams` in app.toml"
            yield self._say.error(atom, "stream", message)
        for role in set(supplied.roles) - set(self._manifest.roles):
            message = f'`{atom.name}` needs the role "{role}"; add it to `roles` in app.toml'
            yield self._say.error(atom, "stream", message)

    def _parameter(self, atom: Node) -> Iterator[Finding]:
        parameter = self._template.parameters[atom.name]
        if parameter.arity == 0:
            message = f'the area `{atom.name}` gives no facts; write `inside(Me,X,"{atom.name}")`'
            yield self._say.error(atom, "arity", message)
        elif signature(atom).arity != parameter.arity + 1:
            yield self._arity(atom, f"{atom.name}(Me,{_ARGUMENTS.get(parameter.type, 'Value')})")

    def _property(self, atom: Node, iri: str) -> Iterator[Finding]:
        found, windows = signature(atom), self._request.streams
        if fault := self._resources.undefined_property(iri):
            yield self._say.error(atom, "unknown-property", fault)
        elif supplied := self._told.get(iri):
            yield from self._needs(atom, supplied)
            if found.arity != 2 and not windows:
                yield self._arity(atom, f"{found.name}(Subject,Value)")
            yield from self._unscaled(atom, iri)
        elif not windows and found not in self._derived | self._outside_predicates:
            message = f"nothing supplies `{found}`: the framework does not tell <{iri}>, and no "
            cure = f"knowledge base of the template has it; {_LIST}"
            yield self._say.error(atom, "unknown-predicate", message + cure)

    def _unscaled(self, atom: Node, iri: str) -> Iterator[Finding]:
        """A decimal that meets arithmetic or an order comparison, which know integers only."""
        compared = signature(atom) in self._request.compared
        decimal = any(
            found.value == iri and kind.fields[name].type == "decimal"
            for kind in self._template.kinds.described
            for name, found, _datatype in kind.read
        )
        if compared and decimal and atom.name not in self._request.scales:
            message = (
                f"`{atom.name}` has decimals, and a rule compares or computes with them; write "
            )
            cure = f"`#scale {atom.name} 10.` and mean tenths, or `#scale {atom.name} 1.` to round"
            yield self._say.error(atom, "scale", message + cure)

    @cached_property
    def _derived(self) -> Set[Signature]:
        return {signature(atom) for atom in self.conclusions.atoms} | set(self._reading.facts)

    @cached_property
    def _outside_predicates(self) -> Set[Signature]:
        """What else comes from outside because the text says so."""
        request = self._request
        times = {*fed(request), *timed(request)}
        return request.inputs | set(self._template.supplied) | times

    def _unknown(self, wanted: Signature) -> str:
        said = f"nothing supplies `{wanted}`"
        other = [s for s in sorted(self._derived) if s.name == wanted.name]
        if other:
            return f"{said}; rules derive `{other[0]}`"
        prefix = wanted.name.partition("_")[0]
        if prefix in KNOWN_PREFIXES and prefix not in self._request.prefixes:
            declared = f"#prefix {prefix} : <{KNOWN_PREFIXES[prefix]}>."
            return f"{said}: its prefix is not declared; write `{declared}`"
        known = {*(s.name for s in self._derived), *PREDICATES, *self._template.parameters}
        cure = f"no rule, parameter, knowledge base or stream does; {_LIST}"
        return f"{said}; {did_you_mean(wanted.name, sorted(known), cure)}"

    # -- arguments ------------------------------------------------------------------

    def _arguments(self, atom: Node) -> Iterator[Finding]:
        """Constants where only names of parameters and settings, or choices, can stand."""
        yield from self._words(atom)
        supplied, last = PREDICATES.get(atom.name), text(atom, -1)
        if supplied and supplied.parameter and last is not None:
            yield from self._names_parameter(atom, last, supplied.parameter)
        if supplied and supplied.kind and signature(atom) == supplied.signature:
            yield from self._of_kind(atom)
        parameter = self._template.parameters.get(atom.name)
        if isinstance(parameter, ChoiceParameter) and last not in (None, *parameter.choices):
            listed = f"choose {', '.join(parameter.choices)}"
            hint = did_you_mean(str(last), parameter.choices, listed)
            message = f'`{atom.name}` is never "{last}"; {hint}'
            yield self._say.error(atom, "unknown-choice", message)
        if atom.name == "setting":
            yield from self._setting(atom)

    def _words(self, atom: Node) -> Iterator[Finding]:
        """Words without quotes, of which no fact of the framework has any."""
        if atom.name not in PREDICATES and atom.name not in self._template.parameters:
            return
        for argument in atom.many("arguments"):
            name = word(argument)
            if name is not None and name not in self._constants:
                message = f"`{atom.name}` is never true of `{name}`: write a variable with a "
                cure = f'capital (`{name.capitalize()}`), or a text in quotes (`"{name}"`)'
                yield self._say.error(argument, "bare-word", message + cure)

    @cached_property
    def _constants(self) -> Set[str]:
        """The names that `#const` gives to values."""
        return {rule.name for rule in self._reading.rules if rule.kind == ASTType.Definition}

    def _names_parameter(self, atom: Node, name: str, wanted: Sequence[str]) -> Iterator[Finding]:
        fitting = [n for n, p in self._template.parameters.items() if p.type in wanted]
        if name not in fitting:
            there = ", ".join(f"`{n}`" for n in fitting) or "none"
            kinds = " or ".join(wanted)
            message = f'"{name}" is no parameter of type {kinds} here (there is: {there})'
            hint = did_you_mean(name, fitting, "declare it in app.toml")
            yield self._say.error(atom, "unknown-parameter", f"{message}; {hint}")

    def _setting(self, atom: Node) -> Iterator[Finding]:
        name, known = text(atom, 0), self._manifest.settings
        if name is not None and name not in known:
            hint = did_you_mean(name, known, f"add [settings.{name}] to app.toml")
            message = f'there is no setting "{name}"; {hint}'
            yield self._say.error(atom, "unknown-setting", message)

    def _radii(self) -> Iterator[Finding]:
        """Radii that are neither numbers nor values of a parameter in metres."""
        for rule in self._reading.rules:
            atoms = list(of_rule(body_atoms(rule)))
            metres = {v for a in atoms if self._is_metres(a.name) for v in variables(a)}
            for atom in atoms:
                if atom.name in RADIUS and signature(atom) == PREDICATES[atom.name].signature:
                    yield from self._radius(atom, metres)

    def _radius(self, atom: Node, metres: Set[str]) -> Iterator[Finding]:
        radius = atom.many("arguments")[2]
        if self._template.constants.number(radius) is None and not variables(radius) & metres:
            message = (
                f"`{atom.name}`: the radius {radius} must be a number, or the value of a "
                "parameter with unit m that this rule reads, such as `radius(Me,R)`"
            )
            yield self._say.error(radius, "radius", message)

    def _is_metres(self, name: str) -> bool:
        return getattr(self._template.parameters.get(name), "unit", None) == "m"

    def _names(self) -> Iterator[Finding]:
        """Strings under a prefix of the ontologies that name none of their terms."""
        nodes = (n for atom in (*self.conclusions.atoms, *self._atoms) for n in atom.walk())
        named = {name: node for node in nodes if (name := string(node)) is not None}
        for name, node in named.items():
            if fault := self._resources.undefined_term(name):
                yield self._say.error(node, "unknown-term", f'"{name}": {fault}')

    # -- what is not read -----------------------------------------------------------

    def _unread(self) -> Iterator[Finding]:
        read = {atom.name for atom in self._atoms}
        named = {
            text(atom, -1)
            for atom in self._atoms
            if (supplied := PREDICATES.get(atom.name)) and supplied.parameter
        }
        for name, parameter in self._template.parameters.items():
            computed = None in named and parameter.type in ("area", "time_span")
            if not (name in read | named or computed or isinstance(parameter, RouteParameter)):
                message = f"no rule reads the parameter `{name}`; use it or remove it from app.toml"
                yield self._say.at(0, "unread-parameter", message, "warning")
