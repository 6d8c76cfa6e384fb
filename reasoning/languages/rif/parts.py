"""The parts of a document in either syntax, made and checked as they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from urllib.parse import urljoin

from citywise.reasoning.asp.statements import Source
from citywise.reasoning.errors import ItemError, RequestError
from citywise.reasoning.languages.casp.directives import LARGEST
from citywise.reasoning.languages.rif import values
from citywise.reasoning.languages.rif.builtins import Builtin, builtin, names
from citywise.reasoning.languages.rif.document import (
    RIF,
    And,
    Document,
    Equal,
    Frame,
    Head,
    Import,
    Local,
    Member,
    Name,
    RifAtom,
    RifComputed,
    RifConstant,
    RifFormula,
    RifRule,
    RifTerm,
    RifVariable,
    RifWindow,
    Test,
    free,
    within,
)
from citywise.reasoning.languages.rif.unparse import short
from citywise.reasoning.model.request import parse_duration
from citywise.reasoning.rdf.datatypes import PLAIN, is_language
from citywise.reasoning.rdf.mapping import NOT_IN_IRI, XSD, Iri, Literal

_CLOSE = 0.75


def misuse(iri: str, count: int, *, predicate: bool) -> str | None:
    """What is wrong with the use of a built-in with `count` arguments, as a predicate or as a
    function; None if nothing is."""
    known = builtin(iri)
    if known is None:
        return _unknown(iri)
    if known.predicate != predicate:
        if predicate:
            hint = f"compare its value, e.g. `External({known.name}(…)) = ?x`"
            return f"`{known.name}` is a function and no condition; {hint}"
        return f"`{known.name}` is a predicate and has no value; write it as a condition of its own"
    if not known.least <= count <= (count if known.most is None else known.most):
        return f"`{known.name}` takes {_number(known)}, found {count}"
    return None


def bare(predicate: Name) -> str | None:
    """What is wrong with the predicate of an atom that stands in no `External`: it is a built-in;
    None if it is none."""
    known = builtin(predicate.value) if isinstance(predicate, Iri) else None
    if known is None:
        return None
    call = f"External({known.name}(…))"
    written = call if known.predicate else f"{call} = ?x"
    return f"`{known.name}` is a built-in and no predicate of a document; write `{written}`"


def _unknown(iri: str) -> str:
    name = short(iri, {}) or f"<{iri}>"
    known = [short(each, {}) or each for each in names()]
    close = next(islice(get_close_matches(name, known, 1, _CLOSE), 1), None)
    hint = f"did you mean `{close}`?" if close else "docs/rif-builtins.md lists those there are"
    return f"`{name}` is no built-in of RIF-Core; {hint}"


def _number(known: Builtin) -> str:
    """How many arguments a built-in takes, in words."""
    if known.most is None:
        return f"{known.least} arguments or more"
    several = "" if known.most == 1 else "s"
    least = f"{known.least} to " if known.least != known.most else ""
    return f"{least}{known.most} argument{several}"


MAX_DEPTH = 100
"""Of formulas, terms and groups in each other."""
_SECONDS = {"s": 1, "m": 60, "h": 3600}
UNITS = ("ms", *_SECONDS)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MOST_DIGITS = 40
_AFTER = re.compile(r"[^#/:]*\Z")
OUTSIDE = {
    "subclass": "`##` is RIF-BLD and outside RIF-Core; write `a[rdfs:subClassOf -> b]`",
    "named": "named arguments are RIF-BLD and outside RIF-Core; write `p(a b)`, whose arguments "
    "go by their order, or a frame, `o[name -> value]`",
    "function": "terms with arguments are built-in functions in RIF-Core: write "
    "`External(func:name(…))`, or a constant",
    "tail": "a list with a tail, `List(a | ?rest)`, is RIF-BLD and outside RIF-Core",
    "variable list": "a list of RIF-Core has no variables; make it with "
    "`External(func:make-list(…))`",
    "negation": "there is no negation in RIF-Core; conclude what is the case, or test values with "
    "`External(pred:literal-not-identical(…))`",
    "action": "actions (`Do`, `Assert`, `Retract`, …) are RIF-PRD and outside RIF-Core; conclude "
    "atoms or frames",
    "external": "`External` holds a built-in in RIF-Core, e.g. `External(func:numeric-add(?x 1))`",
}
"""What other dialects of RIF have, and what to write instead."""


@dataclass(frozen=True)
class WrittenRifRule:
    """A rule and where its parts stand."""

    rule: RifRule
    index: int
    """Where it begins in the text."""
    places: Mapping[str, int]
    """Where each of its variables stands first, the declaration aside."""


@dataclass(frozen=True)
class Written:
    """A document as it was read."""

    source: Source
    document: Document
    rules: tuple[WrittenRifRule, ...]
    """Those of the document, in the same order."""


class Parts:
    """The parts of a document as they are read, in either syntax; notes faults and reads on."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.base: str | None = None
        self.prefixes: dict[str, str] = {}
        self.imports: list[Import] = []
        self.window: RifWindow | None = None
        self._revise: tuple[int, str] | None = None
        self._rules: list[WrittenRifRule] = []
        self._places: dict[str, int] = {}
        self._formulas: dict[int, int] = {}

    def written(self, name: str) -> Written:
        """The document of a file called `name`."""
        document = Document(
            name=name,
            rules=tuple(written.rule for written in self._rules),
            imports=tuple(self.imports),
            window=self.window,
            prefixes=self.prefixes,
            base=self.base,
            revise=None if self._revise is None else self._revise[1],
            source=self.source.file,
        )
        self._check_horizon(document)
        return Written(self.source, document, tuple(self._rules))

    def outside(self, index: int, what: str) -> RequestError:
        """The error that says that something is no RIF-Core; `what` is a key of `OUTSIDE`."""
        return self.source.error(index, "core", OUTSIDE[what])

    def iri(self, index: int, text: str) -> str:
        """An absolute IRI; a relative one is resolved against the base."""
        if NOT_IN_IRI.search(text):
            self.source.fault(index, "iri", f"`{text}` holds a character that no IRI holds")
        elif not _ABSOLUTE.match(text):
            if self.base is not None:
                return urljoin(self.base, text)
            message = f"`{text}` is a relative IRI; declare what it is relative to with `Base(<…>)`"
            self.source.fault(index, "iri", f"{message}, or write it in full")
        return text

    def constant(self, index: int, lexical: str, space: str) -> RifConstant:
        """A constant of a symbol space, `"lexical"^^space`.

        A string is a literal without datatype; a plain literal is split into text and language.
        """
        if space == RIF + "iri":
            return RifConstant(Iri(self.iri(index, lexical)))
        if space == RIF + "local":
            if lexical.startswith(":"):
                message = f"`{lexical}` would be taken for a blank node; begin it with a letter"
                self.source.fault(index, "literal", message)
            return RifConstant(Local(lexical))
        if space == XSD + "string":
            return RifConstant(Literal(lexical))
        if space == PLAIN:
            return self._plain(index, lexical)
        return RifConstant(self._literal(index, Literal(lexical, space)))

    def _literal(self, index: int, literal: Literal) -> Literal:
        try:
            values.value(literal)
        except ItemError as error:
            self.source.fault(index, "literal", str(error))
        return literal

    def _plain(self, index: int, lexical: str) -> RifConstant:
        text, at, language = lexical.rpartition("@")
        if not at or (language and not is_language(language)):
            message = f'`"{lexical}"` is no rdf:PlainLiteral: it ends in `@` and a language or none'
            self.source.fault(index, "literal", message)
        return RifConstant(Literal(text, None, language or None))

    def test(self, index: int, name: Iri, arguments: tuple[RifTerm, ...]) -> Test:
        """A built-in predicate, `External(name(…))`."""
        self._check_builtin(index, name, len(arguments), predicate=True)
        return Test(name, arguments)

    def computed(self, index: int, name: Iri, arguments: tuple[RifTerm, ...]) -> RifComputed:
        """The value of a built-in function, `External(name(…))`."""
        self._check_builtin(index, name, len(arguments), predicate=False)
        return RifComputed(name, arguments)

    def _check_builtin(self, index: int, name: Iri, count: int, *, predicate: bool) -> None:
        if self.source.is_hopeless:
            return
        if message := misuse(name.value, count, predicate=predicate):
            self.source.fault(index, "builtin", message)

    def variable(self, index: int, name: str) -> RifVariable:
        """A variable of the rule that is being read."""
        self._places.setdefault(name, index)
        return RifVariable(name)

    def at(self, index: int, formula: RifFormula) -> RifFormula:
        """The formula, whose place is noted."""
        self._formulas[id(formula)] = index
        return formula

    def add_import(self, index: int, location: str, profile: str | None) -> None:
        """Note an import; where its files are is the theory's to say."""
        for text in (location, profile or ""):
            if NOT_IN_IRI.search(text):
                self.source.fault(index, "iri", f"`{text}` holds a character that no IRI holds")
        line = self.source.location(index).line
        self.imports.append(Import(location, profile, line))

    def add_horizon(self, index: int, text: str) -> None:
        """Note how far back items may be revised; `text` may be any."""
        if self._revise is not None:
            message = "the document says already how far back items may be revised; keep one"
            raise self.source.error(index, "revise", message)
        self._revise = index, text

    def _check_horizon(self, document: Document) -> None:
        if self._revise is not None:
            index, text = self._revise
            try:
                parse_duration(text, document.unit)
            except ItemError as error:
                self.source.fault(index, "revise", str(error))

    def add_window(self, index: int, number: str, unit: str) -> None:
        """Note the window; `number` may be any text."""
        if self.window is not None:
            raise self.source.error(index, "window", "the document has a window already; keep one")
        hint = "write a whole number and a unit (ms, s, m or h), e.g. `10 s`"
        if unit not in UNITS:
            raise self.source.error(index, "window", f"`{unit}` is no unit of time; {hint}")
        if not (number.isascii() and number.isdigit()):
            raise self.source.error(index, "window", f"`{number}` is no whole number; {hint}")
        one = _SECONDS.get(unit, 1)
        size = int(number[:_MOST_DIGITS]) * one
        if not 1 <= size <= LARGEST:
            written = number if len(number) <= _MOST_DIGITS else f"{number[:_MOST_DIGITS]}…"
            message = f"a window of {written} {unit} is too {'large' if size else 'small'}; "
            hint = f"write 1 {unit} to {LARGEST // one:,} {unit}"
            raise self.source.error(index, "window", message + hint)
        self.window = RifWindow(size, "ms" if unit == "ms" else "s")

    def begin_rule(self) -> None:
        """Forget the places of the rule before."""
        self._places, self._formulas = {}, {}

    def add_rule(
        self,
        index: int,
        label: str,
        variables: tuple[RifVariable, ...],
        head: RifFormula,
        body: RifFormula | None,
    ) -> None:
        """Note a rule; raises `RequestError` for a conclusion that RIF-Core has not."""
        heads = tuple(self._heads(head))
        declared = {variable.name for variable in variables}
        for part in (*heads, *((body,) if body is not None else ())):
            self._check_declared(part, declared)
            self._check_external(part)
        where = self.source.location(index)
        rule = RifRule(heads, body, variables, where.line, where.column, label)
        self._rules.append(WrittenRifRule(rule, index, self._places))

    def _check_external(self, formula: RifFormula) -> None:
        for part in within(formula):
            if isinstance(part, RifAtom) and (message := bare(part.predicate)):
                self.source.fault(self._formulas[id(part)], "builtin", message)

    def _heads(self, formula: RifFormula) -> Iterator[Head]:
        if isinstance(formula, And):
            for part in formula.parts:
                yield from self._heads(part)
        elif isinstance(formula, RifAtom | Frame):
            yield formula
        else:
            message = f"{_kind(formula)} cannot be concluded in RIF-Core; conclude atoms, `p(a b)`"
            hint = "frames, `o[p -> v]`, or `And` of them"
            if isinstance(formula, Member):
                hint = "and frames: `a[rdf:type -> C]` for `a # C`"
            place = self._formulas[id(formula)]
            raise self.source.error(place, "head", f"{message}, {hint}")

    def _check_declared(self, formula: RifFormula, declared: set[str]) -> None:
        for name in dict.fromkeys(free(formula)):
            if name not in declared:
                declared.add(name)  # one fault each
                message = f"`?{name}` is not declared; add it to the `Forall` of its rule"
                self.source.fault(self._places[name], "free-variable", message)


def _kind(formula: RifFormula) -> str:
    """What a formula is that is no conclusion."""
    if isinstance(formula, Equal):
        return "an equation"
    if isinstance(formula, Member):
        return "membership (`#`)"
    return "`External`" if isinstance(formula, Test) else f"`{type(formula).__name__}`"


def label_of(iri: str) -> str:
    """The last part of a name, by which messages call a rule."""
    found = _AFTER.search(iri)
    return found.group() if found else ""
