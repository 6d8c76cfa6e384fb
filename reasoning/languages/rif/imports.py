"""What a document imports: where it is, what profiles mean, and what rules and graphs together must
not be (W3C RIF RDF and OWL Compatibility, second edition, sections 3.1, 4.1 and 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal as OneOf
from typing import TypeAlias
from urllib.parse import urlsplit
from urllib.request import url2pathname

from citywise.reasoning.asp.statements import Source
from citywise.reasoning.errors import ItemError, Location, RequestError
from citywise.reasoning.languages.casp.parsing import text_of
from citywise.reasoning.languages.rif.document import (
    PRED,
    RIF,
    And,
    Exists,
    Frame,
    Import,
    Member,
    Or,
    RifConstant,
    RifFormula,
    RifRule,
    RifTerm,
    RifVariable,
    Test,
    parts,
)
from citywise.reasoning.languages.rif.values import value
from citywise.reasoning.languages.rif.xml import XmlElement, tree
from citywise.reasoning.rdf import ntriples, parsing
from citywise.reasoning.rdf.mapping import OWL, RDF, RDFS, TYPE, XSD, Iri, Literal, Triple

ImportRegime: TypeAlias = OneOf["simple", "rdf", "rdfs", "owl-rl"]
REGIMES: tuple[ImportRegime, ...] = ("simple", "rdf", "rdfs", "owl-rl")
"""From the weakest to the strongest; each infers what those before it do."""

CATALOGUE = "catalog-v001.xml"
"""A file that says which files stand for which locations (OASIS XML Catalogs 1.1: its `uri`
elements), as ontology editors write it."""
_CATALOGUES = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
_DOCUMENTS = (".rif", ".rifps")
_GRAPHS = tuple(f".{name}{packed}" for name in parsing.FORMATS for packed in ("", ".gz"))

_ENTAILMENT = "http://www.w3.org/ns/entailment/"
_GENERIC = "http://www.w3.org/2007/rif-import-profile#Generic"
_DIRECT = _ENTAILMENT + "OWL-Direct"
_BASED = _ENTAILMENT + "OWL-RDF-Based"
_PROFILES: dict[str, ImportRegime] = {
    _GENERIC: "simple",
    _ENTAILMENT + "Simple": "simple",
    _ENTAILMENT + "RDF": "rdf",
    _ENTAILMENT + "RDFS": "rdfs",
    _ENTAILMENT + "D": "rdfs",
    _DIRECT: "owl-rl",
    _BASED: "owl-rl",
}
_ORDERS = (tuple(name for name in _PROFILES if name != _DIRECT), (_GENERIC, _DIRECT, _BASED))
"""Profiles that have an order, from the lowest (section 5.1.1). The generic profile, whose
meaning is left to the reader, is below all."""


def find(wanted: Import, at: Location) -> Path:
    """The file that an import, written in the file of `at`, means.

    A relative location is a file relative to that file, and so is what `file:` says. For any
    other, nothing is fetched: it is what the folder's `CATALOGUE` says, or the file beside the
    importing one that is called like the location's last part, its extension added. Raises
    `RequestError` that says what to do.
    """
    folder = Path(at.file).parent
    try:
        path = _path(wanted, folder)
        found = path is not None and path.is_file()
    except (OSError, ValueError) as error:  # as of a name that is too long
        reason = getattr(error, "strerror", None) or error
        message = f"<{wanted.location[:200]}> is no location of a file: {reason}"
        raise RequestError(at, "import", message) from None
    if path is None or not found:
        raise RequestError(at, "import", _not_found(wanted, path, folder))
    return path


def regime(profiles: Iterable[tuple[Import, Location]]) -> tuple[ImportRegime | None, bool]:
    """The regime of the highest profile, and whether that is OWL 2 Direct Semantics.

    None without profiles. Raises `RequestError` for an unknown profile, and where none is
    the highest (section 5.2).
    """
    named = {_checked_profile(wanted.profile or "", at): at for wanted, at in profiles}
    if not named:
        return None, False
    for profile in named:
        if all(_is_below(other, profile) for other in named):
            return _PROFILES[profile], profile == _DIRECT
    first, second = next(pair for pair in combinations(named, 2) if _is_without_order(*pair))
    raise RequestError(named[second], "profile", _without_order(first, second))


def is_owl(wanted: Import) -> bool:
    """Whether the import is of an ontology, so that what the ontology imports belongs to it."""
    return wanted.profile in (_DIRECT, _BASED)


def _checked_profile(profile: str, at: Location) -> str:
    if profile in _PROFILES:
        return profile
    known = ", ".join(f"<{each}>" for each in _PROFILES)
    raise RequestError(
        at, "profile", f"<{profile}> is no profile of an import; expected one of {known}"
    )


def _is_below(profile: str, other: str) -> bool:
    """Whether a profile is the other one or below it."""
    return any(
        {profile, other} <= set(order) and order.index(profile) <= order.index(other)
        for order in _ORDERS
    )


def _is_without_order(profile: str, other: str) -> bool:
    return not _is_below(profile, other) and not _is_below(other, profile)


def _without_order(profile: str, other: str) -> str:
    return (
        f"the profiles <{profile}> and <{other}> do not go together: none is the highest, so "
        "what the imports mean is not defined; import both graphs with one of them"
    )


def _path(wanted: Import, folder: Path) -> Path | None:
    parts = urlsplit(wanted.location)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(url2pathname(parts.path))
    if len(parts.scheme) > 1:  # one letter is a drive
        return _catalogued(wanted, folder)
    return folder / wanted.location


def _catalogued(wanted: Import, folder: Path) -> Path | None:
    catalogue = folder / CATALOGUE
    listed = _catalogue(catalogue) if catalogue.is_file() else {}
    if wanted.location in listed:
        return listed[wanted.location]
    extensions = _DOCUMENTS if wanted.profile is None else _GRAPHS
    name = _last_part(wanted.location)
    beside = (folder / (name + extension) for extension in ("", *extensions) if name)
    return next(filter(Path.is_file, beside), None)


def _last_part(location: str) -> str:
    name = urlsplit(location).path.rstrip("/").rpartition("/")[2]
    return name if name.strip(".") else ""


def _catalogue(path: Path) -> Mapping[str, Path]:
    """What a catalogue maps; raises `RequestError` if it is no XML."""
    root = tree(Source(text_of(path), str(path)))
    return {
        uri["name"]: path.parent / url2pathname(urlsplit(uri["uri"]).path)
        for uri in _uris(root)
        if {"name", "uri"} <= uri.keys()
    }


def _uris(element: XmlElement) -> Iterator[Mapping[str, str]]:
    """The attributes of the `uri` elements in an element, and in the groups in it."""
    for child in element.children:
        if child.namespace == _CATALOGUES and child.name == "uri":
            yield child.attributes
        yield from _uris(child)


def _not_found(wanted: Import, path: Path | None, folder: Path) -> str:
    if path is not None:
        return f"<{wanted.location}> is to be imported, but there is no file `{path}`"
    name = _last_part(wanted.location) or "NAME"
    extension = ".rif" if wanted.profile is None else ".ttl"
    return (
        f"<{wanted.location}> is to be imported, and nothing is fetched from the network; save it "
        f"as `{folder / (name + extension)}`, or say in `{folder / CATALOGUE}` which file it is: "
        f'`<catalog xmlns="{_CATALOGUES}"><uri name="{wanted.location}" uri="FILE"/></catalog>`'
    )


_X, _Y = RifVariable("x"), RifVariable("y")
_FORBIDDEN = frozenset({RIF + "iri", RIF + "local", RDF + "PlainLiteral"})
_DATATYPES = frozenset(
    {Iri(RDF + name) for name in ("langString", "PlainLiteral", "XMLLiteral", "HTML")}
    | {Iri(OWL + name) for name in ("real", "rational")}
    | {Iri(RDFS + "Literal")}
)
"""Besides those of XML Schema."""
_ONTOLOGY = Iri(OWL + "Ontology")
_PUNS = (("ObjectProperty", "DatatypeProperty"), ("Class", "Datatype"))
_ANNOTATING = frozenset(
    Iri(each)
    for each in (
        *(RDFS + name for name in ("label", "comment", "seeAlso", "isDefinedBy")),
        *(OWL + name for name in ("deprecated", "versionInfo", "priorVersion")),
        *(OWL + name for name in ("backwardCompatibleWith", "incompatibleWith")),
    )
)
_ANNOTATIONS = (Iri(OWL + "AnnotationProperty"), Iri(OWL + "OntologyProperty"))


def fault_of_literals(triples: Iterable[Triple]) -> str | None:
    """What is wrong with a graph that has a literal which no graph in a combination may have, of
    the datatypes rif:iri, rif:local and rdf:PlainLiteral (section 3.1.1), or one without a value.
    """
    for triple in triples:
        found = triple.object
        if isinstance(found, Literal) and (message := _fault_of(found)):
            return f"{message}; in the triple {' '.join(map(ntriples.write, triple))}"
    return None


def _fault_of(literal: Literal) -> str | None:
    if literal.datatype in _FORBIDDEN:
        what = f"{ntriples.write(literal)}: RDF has no literals of {literal.datatype}"
        return f"{what}; write {_instead(literal)}"
    try:
        value(literal)
    except ItemError as error:
        return str(error)
    return None


def fault_of_ontology(triples: Sequence[Triple]) -> str | None:
    """Why a graph is no ontology of OWL 2 DL, as far as that is looked at; None: it may be.

    Looked at are the header that each has (OWL 2 Mapping to RDF Graphs, 3.1.2), and that no
    name is declared both of things and of values (OWL 2 Structural Specification, 5.8.1).
    """
    if not any(t.predicate == TYPE and t.object == _ONTOLOGY for t in triples):
        return "it has no ontology header, `<iri> a owl:Ontology`"
    for one, other in _PUNS:
        for name in _declared(triples, one) & _declared(triples, other):
            return f"{ntriples.write(name)} is both an owl:{one} and an owl:{other}"
    return None


def fault_of_rule(rule: RifRule) -> str | None:
    """Why a rule is no DL rule: frames whose property, or whose class, is a variable or
    computed (section 4.1.2); None: it is one."""
    for formula in (*rule.heads, *_plain(rule.body or And(()))):
        for kind, term in _names(formula):
            if not isinstance(term, RifConstant):
                what = f"the variable `?{term.name}`" if isinstance(term, RifVariable) else "a term"
                return f"{what} stands for a {kind}; under OWL-Direct it must be a constant"
    return None


def without_annotations(triples: Sequence[Triple]) -> tuple[Triple, ...]:
    """The triples that mean something in OWL 2 Direct Semantics: no annotations."""
    headers = {t.subject for t in triples if t.predicate == TYPE and t.object == _ONTOLOGY}
    annotating = _ANNOTATING.union(
        t.subject for t in triples if t.predicate == TYPE and t.object in _ANNOTATIONS
    )
    return tuple(
        t
        for t in triples
        if t.predicate == TYPE or (t.predicate not in annotating and t.subject not in headers)
    )


def separations(triples: Sequence[Triple], rules: Sequence[RifRule]) -> tuple[RifFormula, ...]:
    """Conditions under which a combination contradicts itself in OWL 2 Direct Semantics, where
    no thing is a value (section 4.2.2): values of object properties, things as values of
    datatype properties, things in datatypes."""
    values = {name: _is_value(_Y) for name in _declared(triples, "ObjectProperty")}
    things = {name: _is_thing(_Y) for name in _declared(triples, "DatatypeProperty")}
    properties = sorted((values | things).items(), key=lambda each: each[0])
    return (
        *(And((Frame(_X, ((RifConstant(name), _Y),)), wrong)) for name, wrong in properties),
        *(
            And((Frame(_X, ((RifConstant(TYPE), RifConstant(name)),)), _is_thing(_X)))
            for name in sorted(_datatypes(triples, rules))
        ),
    )


def _is_value(term: RifTerm) -> RifFormula:
    guards = ("is-literal-string", "is-literal-not-string")
    return Or(tuple(Test(Iri(PRED + guard), (term,)) for guard in guards))


def _is_thing(term: RifTerm) -> RifFormula:
    text = RifVariable("text")
    return Exists((text,), Test(Iri(PRED + "iri-string"), (term, text)))


def _declared(triples: Iterable[Triple], kind: str) -> frozenset[Iri]:
    wanted = Iri(OWL + kind) if kind != "Datatype" else Iri(RDFS + kind)
    return frozenset(
        t.subject
        for t in triples
        if t.predicate == TYPE and t.object == wanted and isinstance(t.subject, Iri)
    )


def _datatypes(triples: Iterable[Triple], rules: Iterable[RifRule]) -> frozenset[Iri]:
    """The datatypes that something is said to be in, or may be concluded to be in."""
    named = {term for triple in triples for term in triple if isinstance(term, Iri)}
    for rule in rules:
        for head in rule.heads:
            named |= {
                term.value
                for _, term in _names(head)
                if isinstance(term, RifConstant) and isinstance(term.value, Iri)
            }
    known = {name for name in named if name.value.startswith(XSD) or name in _DATATYPES}
    return frozenset(known | _declared(triples, "Datatype"))


def _names(formula: RifFormula) -> Iterator[tuple[str, RifTerm]]:
    """The terms of a formula that stand for properties and classes."""
    if isinstance(formula, Frame):
        for name, content in formula.slots:
            yield "property", name
            if name == RifConstant(TYPE):
                yield "class", content
    elif isinstance(formula, Member):
        yield "class", formula.type


def _plain(formula: RifFormula) -> Iterator[RifFormula]:
    """The formulas without parts that a formula is made of."""
    if isinstance(formula, And | Or | Exists):
        for part in parts(formula):
            yield from _plain(part)
    else:
        yield formula


def _instead(literal: Literal) -> str:
    text, _, language = literal.lexical.rpartition("@")
    if literal.datatype == RDF + "PlainLiteral":
        return ntriples.write(Literal(text, None, language or None))
    return "the IRI itself" if literal.datatype == RIF + "iri" else "an IRI or a blank node"
