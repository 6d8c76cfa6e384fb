"""What `[rdfs]` or `[owl-rl]` behind a request's streams means: rules of ASP beside its own.

The rules are those of `schema.specialised`, over the predicates that the request's prefixes
give to properties; a property under no prefix, of which its rules see nothing, gets a hidden
one. The request with them is evaluated, planned and explained like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from reasoning.analysis.relevance import constants
from reasoning.errors import ItemError, Location, RequestError
from reasoning.program import Entailment, KnowledgeSource, Request, Signature
from reasoning.rdf import knowledge
from reasoning.rdf.asp import Line, Names, Writer, place
from reasoning.rdf.knowledge import KnowledgeBase
from reasoning.rdf.mapping import Iri, Mapper, Triple
from reasoning.rdf.rules import COMPUTED, FALSE, TRIPLE, Rule, Variable, rules
from reasoning.rdf.schema import OPENED, TYPE, Key, specialised

Read = Callable[[KnowledgeSource, str], KnowledgeBase]


def inferring(request: Request, read: Read = knowledge.read) -> Request:
    """The request with the rules by which its streams are completed; itself, if it asks for
    none.

    What classes and properties mean is what its knowledge bases of the same regime say; each
    is read by `read`. Raises `RequestError` for what cannot be read, and for scales that do
    not fit each other.
    """
    regime = next((stream.entailment for stream in request.streams if stream.entailment), None)
    if regime is None:
        return request
    bases = [
        read(source, f"k{number}") for number, source in enumerate(dict.fromkeys(request.knowledge))
    ]
    try:
        return _completed(request, regime, bases)
    except ItemError as error:
        raise _fault(request, str(error)) from error


def _completed(request: Request, regime: Entailment, bases: Sequence[KnowledgeBase]) -> Request:
    mapper = Mapper(request)
    names = Names(request, mapper)
    schema = [t for base in bases if base.source.entailment == regime for t in base.triples]
    seen = _seen(request, mapper, {*_iris(schema), *_vocabulary(regime)})
    wanted = frozenset(key for iri in seen for key in _keys(request, mapper, iri))
    found = specialised(regime, schema, wanted, regime == "owl-rl", seen)
    made = [rule for rule in found.rules if rule.name != OPENED and not _asks_for_values(rule)]
    request = replace(_scaled(request, names, made), hidden=dict(names.hidden))
    writer = Writer(names, Mapper(request), made)
    known = dict.fromkeys((*(t for base in bases for t in base.triples), *found.inferred))
    tables = {atom.relation for rule in made for atom in rule.body} & found.tables.keys()
    lines = [line for name in sorted(tables) for line in writer.facts(name, found.tables[name])]
    mentioned = request.used | request.shows
    lines += [*writer.lines(mentioned), *writer.timed(mentioned, tuple(known))]
    return _extended(request, names, lines, writer.looked)


def _iris(triples: Iterable[Triple]) -> Iterator[Iri]:
    return (term for triple in triples for term in triple if isinstance(term, Iri))


def _vocabulary(regime: Entailment) -> Iterator[Iri]:
    for rule in rules(regime):
        for atom in (rule.head, *rule.body):
            yield from (term for term in atom.terms if isinstance(term, Iri))


# -- what the request sees ------------------------------------------------------------------


def _seen(request: Request, mapper: Mapper, known: Iterable[Iri]) -> list[Iri]:
    """The properties that the request's rules mention."""
    mentioned = {s.name for s in request.used | request.shows if s.arity in (2, 3)}
    found = {name: iri for iri in known if (name := mapper.predicate(iri.value)) in mentioned}
    for name in mentioned - found.keys():
        iri = mapper.predicate_iri(name)
        if iri is not None:
            found[name] = Iri(iri)
    return sorted(found.values())


def _keys(request: Request, mapper: Mapper, iri: Iri) -> Iterator[Key]:
    """What rules ask for of a property: of types the classes, where they name them."""
    name = mapper.predicate(iri.value)
    for arity in (2, 3):
        if iri != TYPE or name is None:
            yield Key(TRIPLE, iri)
            continue
        classes = constants(request, Signature(name, arity), 1)
        if classes is None:
            yield Key(TRIPLE, TYPE)
        for text in classes or ():
            class_ = mapper.iri(text[1:-1])
            yield Key(TRIPLE, TYPE, Iri(class_) if class_ else None)


# -- scales ------------------------------------------------------------------------------------


def _linked(made: Iterable[Rule]) -> Iterator[tuple[str, str]]:
    """Properties and relations that pass on what stands in their last places."""
    for rule in made:
        last = rule.head.terms[-1]
        if isinstance(last, Variable) and rule.head.relation != FALSE:
            for atom in rule.body:
                if atom.terms[-1] == last:
                    yield place(rule.head), place(atom)


def _groups(links: Iterable[tuple[str, str]]) -> Iterator[frozenset[str]]:
    """What is linked, directly or by others."""
    groups: dict[str, frozenset[str]] = {}
    for one, other in links:
        joined = groups.get(one, frozenset({one})) | groups.get(other, frozenset({other}))
        groups.update(dict.fromkeys(joined, joined))
    return iter(set(groups.values()))


def _scaled(request: Request, names: Names, made: Sequence[Rule]) -> Request:
    """The request, whose scales and comparisons hold for linked properties too."""
    scales, compared = dict(request.scales), dict(request.compared)
    properties = {place(a): a for rule in made for a in (rule.head, *rule.body)}
    for group in _groups(_linked(made)):
        called = sorted(names.of(atom) for p in group if (atom := properties[p]).relation == TRIPLE)
        _share(request, called, scales)
        lines = [compared[s] for name in called for s in _forms(name) if s in compared]
        if lines:
            compared |= dict.fromkeys((s for name in called for s in _forms(name)), min(lines))
    return replace(request, scales=scales, compared=compared)


def _forms(name: str) -> tuple[Signature, Signature]:
    return Signature(name, 2), Signature(name, 3)


def _share(request: Request, called: Sequence[str], scales: dict[str, int]) -> None:
    """Give predicates that pass on their values the one scale that some of them have."""
    declared = {name: scales[name] for name in called if name in scales}
    if len(set(declared.values())) > 1:
        (one, first), (other, second) = sorted(declared.items())[:: len(declared) - 1]
        raise _fault(
            request,
            f"values of `{one}` are inferred of `{other}` or the other way round, but "
            f"`#scale {one} {first}` and `#scale {other} {second}` differ; give both one scale",
        )
    for scale in declared.values():
        scales |= dict.fromkeys(called, scale)


# -- the request -----------------------------------------------------------------------------


def _extended(
    request: Request, names: Names, lines: Sequence[Line], looked: Iterable[Signature]
) -> Request:
    """The request with more rules, whose labels are the names they have."""
    text = request.rules if request.rules.endswith("\n") else request.rules + "\n"
    labelled = list(_labelled(lines))
    places = enumerate(labelled, text.count("\n") + 1)
    labels = {(number, len(label) + 4): label for number, (label, _text) in places if label}
    looked = frozenset(looked)
    return replace(
        request,
        rules=text + "".join(f"{' ' * (len(a) + 3) if a else ''}{b}\n" for a, b in labelled),
        inferring="".join(f"{f'({a}) ' if a else ''}{b}\n" for a, b in labelled),
        labels={**request.labels, **labels},
        used=request.used | looked,
        inputs=request.inputs | looked if request.inputs else request.inputs,
        hidden=dict(names.hidden),
    )


def _labelled(lines: Iterable[Line]) -> Iterator[tuple[str, str]]:
    """Labels and texts of statements; what several rules are called gets a number."""
    seen = Counter[str]()
    for line in lines:
        seen[line.name] += 1
        again = f"-{seen[line.name]}" if seen[line.name] > 1 else ""
        yield (line.name + again if line.name else ""), line.text


def _fault(request: Request, message: str) -> RequestError:
    return RequestError(Location(f"{request.name}.casp", 1, 1), "entailment", message)


def _asks_for_values(rule: Rule) -> bool:
    """Whether it asks what a literal is, which its term in ASP does not tell."""
    return any(atom.relation in COMPUTED for atom in (*rule.body, *rule.absent))
