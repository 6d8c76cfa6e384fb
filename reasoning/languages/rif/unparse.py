"""Rules and terms of RIF, and literals of the engine, in presentation syntax again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from citywise.reasoning.languages.rif import values
from citywise.reasoning.languages.rif.bodies import TRIPLE
from citywise.reasoning.languages.rif.document import (
    FUNC,
    PRED,
    RIF,
    And,
    Equal,
    Exists,
    Frame,
    Local,
    Member,
    RifAtom,
    RifComputed,
    RifConstant,
    RifFormula,
    RifRule,
    RifTerm,
    RifVariable,
    Sequence,
    Test,
)
from citywise.reasoning.languages.rif.values import predicate
from citywise.reasoning.model import values as model
from citywise.reasoning.model.rules import Absent, Call, Compare, Scan
from citywise.reasoning.model.rules import Literal as RuleLiteral
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf.datatypes import is_language
from citywise.reasoning.rdf.mapping import NOT_IN_IRI, OWL, RDF, RDFS, XSD, Blank, Iri, Literal

KNOWN = {
    "rif": RIF,
    "func": FUNC,
    "pred": PRED,
    "xs": XSD,
    "xsd": XSD,
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": OWL,
}
"""Those of the RIF specifications; a document may declare others by these names."""
NAME = r"[^\W\d](?:[\w.]|-(?!>))*"
"""Of prefixes, as a regular expression; `->` is no part of a name."""
LOCAL = r"[\w%](?:[\w.%/]|-(?!>))*"
"""What may follow a prefix and its colon."""
_LOCAL = re.compile(LOCAL)
_PREFIX = re.compile(NAME)


def short(iri: str, prefixes: Mapping[str, str]) -> str | None:
    """The IRI by the prefix with the longest namespace, `ex:name`; None without one."""
    found: tuple[int, str] | None = None
    for prefix, namespace in {**KNOWN, **prefixes}.items():
        if iri.startswith(namespace) and (not prefix or _PREFIX.fullmatch(prefix)):
            local = iri[len(namespace) :]
            if _LOCAL.fullmatch(local) and (found is None or len(namespace) > found[0]):
                found = len(namespace), f"{prefix}:{local}"
    return found[1] if found else None


_WIDTH = 96
_STEP = "  "
_NAME = re.compile(r"\w(?:[\w.%]|-(?!>))*")
_LABEL = re.compile(rf"{LOCAL}")
_NUMBERS = {
    XSD + "integer": re.compile(r"[-+]?[0-9]+"),
    XSD + "decimal": re.compile(r"[-+]?[0-9]*\.[0-9]+"),
    XSD + "double": re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)[eE][-+]?[0-9]+"),
}
"""Literals that are written without quotes, by datatype."""
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPE = re.compile(r'[\\"\x00-\x1f\x7f\x85\u2028\u2029]')
_Prefixes = Mapping[str, str] | None


def rule_text(rule: RifRule, prefixes: _Prefixes = None) -> str:
    """A rule in as few lines as it needs, behind its label as metadata; IRIs are shortened by
    `prefixes`, from name to namespace."""
    heads = [formula_text(head, prefixes) for head in rule.heads]
    head = heads[0] if len(heads) == 1 else f"And({' '.join(heads)})"
    text = head if rule.body is None else f"{head} :- {formula_text(rule.body, prefixes)}"
    if len(text) > _WIDTH and isinstance(rule.body, And):
        parts = [formula_text(part, prefixes) for part in rule.body.parts]
        text = f"{head} :- {_block('And(', [_indented(part) for part in parts])}"
    if rule.variables:
        declared = " ".join(term_text(variable) for variable in rule.variables)
        text = _block(f"Forall {declared} (", [_indented(text)])
    label = f"(* <#{rule.label}> *)\n" if _LABEL.fullmatch(rule.label) else ""
    return label + text


def _block(start: str, lines: list[str]) -> str:
    return "\n".join([start, *lines, ")"])


def _indented(text: str) -> str:
    return "\n".join(_STEP + line if line else line for line in text.split("\n"))


def formula_text(formula: RifFormula, prefixes: _Prefixes = None) -> str:
    """A formula in one line."""
    match formula:
        case RifAtom(predicate, arguments):
            return f"{term_text(RifConstant(predicate), prefixes)}({_all(arguments, prefixes)})"
        case Frame(subject, slots):
            pairs = " ".join(
                f"{term_text(name, prefixes)} -> {term_text(value, prefixes)}"
                for name, value in slots
            )
            return f"{term_text(subject, prefixes)}[{pairs}]"
        case Member(subject, kind):
            return f"{term_text(subject, prefixes)} # {term_text(kind, prefixes)}"
        case Equal(left, right):
            return f"{term_text(left, prefixes)} = {term_text(right, prefixes)}"
        case Test(predicate, arguments):
            return _external(predicate, arguments, prefixes)
        case Exists(declared, part):
            return f"Exists {_all(declared, prefixes)} ({formula_text(part, prefixes)})"
    word = "And" if isinstance(formula, And) else "Or"
    return f"{word}({' '.join(formula_text(part, prefixes) for part in formula.parts)})"


def term_text(term: RifTerm, prefixes: _Prefixes = None) -> str:
    """A term: `?x`, `ex:name`, `<iri>`, `_local`, `"text"@en`, `7`, `List(…)`, `External(…)`.

    A blank node, which no document can name, is `_:label`.
    """
    match term:
        case RifVariable(name):
            return f"?{name}" if _NAME.fullmatch(name) else f"?{_quoted(name)}"
        case Sequence(items):
            return f"List({_all(items, prefixes)})"
        case RifComputed(function, arguments):
            return _external(function, arguments, prefixes)
        case RifConstant(Iri(iri)):
            return _iri(iri, prefixes)
        case RifConstant(Local(name)):
            return f"_{name}" if _NAME.fullmatch(name) else _typed(name, RIF + "local", prefixes)
        case RifConstant(Blank(label)):
            return f"_:{label}"
        case RifConstant(Literal() as literal):
            return _literal(literal, prefixes)
    raise TypeError(term)


def _external(name: Iri, arguments: tuple[RifTerm, ...], prefixes: _Prefixes) -> str:
    return f"External({_iri(name.value, prefixes)}({_all(arguments, prefixes)}))"


def _all(terms: tuple[RifTerm, ...], prefixes: _Prefixes) -> str:
    return " ".join(term_text(term, prefixes) for term in terms)


def _iri(iri: str, prefixes: _Prefixes) -> str:
    found = short(iri, prefixes or {})
    if found is None and NOT_IN_IRI.search(iri):
        return _typed(iri, RIF + "iri", prefixes)
    return found or f"<{iri}>"


def _literal(literal: Literal, prefixes: _Prefixes) -> str:
    lexical, datatype, language = literal
    if datatype is None:
        if language and not is_language(language):
            return _typed(f"{lexical}@{language}", RDF + "PlainLiteral", prefixes)
        return _quoted(lexical) + (f"@{language}" if language else "")
    if (number := _NUMBERS.get(datatype)) and number.fullmatch(lexical):
        return lexical
    return _typed(lexical, datatype, prefixes)


def _typed(lexical: str, space: str, prefixes: _Prefixes) -> str:
    return f"{_quoted(lexical)}^^{_iri(space, prefixes)}"


def _quoted(text: str) -> str:
    def escaped(found: re.Match[str]) -> str:
        return _ESCAPED.get(found.group()) or f"\\u{ord(found.group()):04X}"

    return f'"{_ESCAPE.sub(escaped, text)}"'


_ODD = re.compile(r"\W")


@dataclass(frozen=True)
class Wording:
    """How what the engine has is written for the people who wrote the document."""

    properties: Mapping[str, Value]
    """The relations of frames, and the properties they are of."""
    prefixes: Mapping[str, str]

    def literal(self, literal: RuleLiteral) -> str:
        """A literal of a body."""
        match literal:
            case Scan(relation, found):
                return self.row(relation, found)
            case Absent(relation, found):
                return f"not {self.row(relation, found)}"
            case Compare(comparator, left, right):
                return f"{self.term(left)} {comparator} {self.term(right)}"
            case Call(_, arguments, result, name):
                call = f"External({name}({self._all(arguments)}))"
                return call if result is None else f"{self.term(result)} = {call}"
        raise TypeError(literal)

    def conjunction(self, literals: Iterable[RuleLiteral]) -> str:
        """Literals that hold together."""
        found = [self.literal(each) for each in literals]
        return found[0] if len(found) == 1 else f"And({' '.join(found)})"

    def row(self, relation: str, found: tuple[model.Term, ...]) -> str:
        """An atom or a frame."""
        if relation == TRIPLE and len(found) == 3:
            return f"{self.term(found[0])}[{self.term(found[1])} -> {self.term(found[2])}]"
        if relation in self.properties:
            return f"{self.term(found[0])}[{self.relation(relation)} -> {self.term(found[1])}]"
        return f"{self.relation(relation)}({self._all(found)})"

    def relation(self, relation: str) -> str:
        """A property, a predicate, or what is no name of the document."""
        if relation in self.properties:
            return self._value(self.properties[relation])
        found = predicate(relation)
        if found is None or relation[0] not in "<_":
            return relation
        return self._value(found[0])

    def term(self, term: model.Term) -> str:
        """A term."""
        match term:
            case model.Variable(name):
                return f"?{_ODD.sub('_', name)}"
            case model.Constant(value):
                return self._value(value)
            case model.Compound(_, arguments):
                return f"List({self._all(arguments)})"
        raise TypeError(term)

    def _all(self, found: Iterable[model.Term]) -> str:
        return " ".join(map(self.term, found))

    def _value(self, value: Value) -> str:
        found = values.term(value)
        if isinstance(found, Iri | Local | Blank | Literal):
            return term_text(RifConstant(found), self.prefixes)
        assert isinstance(value, tuple)
        return f"List({' '.join(map(self._value, value[1:]))})"
