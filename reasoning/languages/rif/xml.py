"""RIF-Core in XML, with R4's window as an element of ours (docs/rif.md).

Source: W3C RIF Core (second edition), XML serialization syntax. The window is a directive,
`<directive><Window xmlns="https://w3id.org/citywise/rif#" unit="s">10</Window></directive>`.
Nothing is read but the text itself. Entities are for namespaces only (RIF documents of the W3C
declare some): they are short, hold no other entities, and are never files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from citywise.reasoning.asp.statements import Source
from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif.document import (
    RIF,
    And,
    Equal,
    Exists,
    Frame,
    Local,
    Member,
    Or,
    RifAtom,
    RifConstant,
    RifFormula,
    RifTerm,
    RifVariable,
    Sequence,
    variables,
)
from citywise.reasoning.languages.rif.parts import MAX_DEPTH, Parts, Written, label_of
from citywise.reasoning.languages.rif.unparse import KNOWN
from citywise.reasoning.rdf.mapping import XSD, Iri, Literal

_MOST_ELEMENTS = 400
_MAX_ENTITIES = 100
_MAX_ENTITY = 256
_MAX_CHARACTERS = 10_000_000
"""Of texts and attributes, entities put in: five times what the longest text has."""
_SEPARATOR = " "
_XML = "http://www.w3.org/XML/1998/namespace"


@dataclass
class XmlElement:
    """An element: its namespace and local name, attributes by name, and what it holds."""

    namespace: str
    name: str
    index: int
    """Where it begins in the text."""
    attributes: dict[str, str]
    """Those without namespace, and `xml:lang` and `xml:base`."""
    children: list[XmlElement] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    namespaces: dict[str, str] = field(default_factory=dict)
    """Prefixes that it declares; of the empty one none."""

    @property
    def text(self) -> str:
        """Its text, that of its children aside."""
        return "".join(self.pieces)


def tree(source: Source) -> XmlElement:
    """The root element; raises `RequestError` for what is no XML, or not safe to read."""
    return _Builder(source).root


class _Builder:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines = [0, *(found.end() for found in re.finditer("\n", source.text))]
        self._open: list[XmlElement] = []
        self._roots: list[XmlElement] = []
        self._namespaces: dict[str, str] = {}
        self._entities = 0
        self._characters = 0
        self._parser = parser = expat.ParserCreate("utf-8", _SEPARATOR)
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.buffer_text = True
        parser.StartNamespaceDeclHandler = self._namespace
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda _name: self._end()
        parser.CharacterDataHandler = self._data
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped
        parser.ExternalEntityRefHandler = lambda *_: self._refuse_external()
        try:
            parser.Parse(source.text.encode(), True)
        except expat.ExpatError as error:
            raise self._malformed(error) from None

    @property
    def root(self) -> XmlElement:
        return self._roots[0]

    def _index(self) -> int:
        return self._at(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)

    def _at(self, line: int, column: int) -> int:
        """The index of a position of expat's: lines from 1, columns, of characters, from 0."""
        start = self._lines[min(line, len(self._lines)) - 1]
        return min(start + column, len(self._source.text))

    def _malformed(self, error: expat.ExpatError) -> RequestError:
        index = self._at(error.lineno, error.offset)
        words = expat.ErrorString(error.code) or "unreadable"
        return self._source.error(index, "xml", f"this is no well-formed XML here: {words}")

    def _namespace(self, prefix: str | None, uri: str | None) -> None:
        if prefix and uri:
            self._namespaces[prefix] = uri

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        index = self._index()
        if len(self._open) >= _MOST_ELEMENTS:
            message = f"more than {_MOST_ELEMENTS} elements in each other; split the rule"
            raise self._source.error(index, "size", message)
        self._count(sum(map(len, attributes.values())), index)
        namespace, _, local = name.rpartition(_SEPARATOR)
        known = {_plain(key): value for key, value in attributes.items()}
        element = XmlElement(namespace, local, index, known, namespaces=self._namespaces)
        self._namespaces = {}
        (self._open[-1].children if self._open else self._roots).append(element)
        self._open.append(element)

    def _end(self) -> None:
        self._open.pop()

    def _data(self, text: str) -> None:
        self._count(len(text), None)
        if self._open:
            self._open[-1].pieces.append(text)

    def _count(self, characters: int, index: int | None) -> None:
        self._characters += characters
        if self._characters > _MAX_CHARACTERS:
            place = self._index() if index is None else index
            message = f"with its entities put in, the text has more than {_MAX_CHARACTERS:,} "
            raise self._source.error(place, "size", message + "characters; write it shorter")

    def _entity(
        self,
        name: str,
        is_parameter: bool,
        value: str | None,
        _base: str | None,
        _system: str | None,
        _public: str | None,
        _notation: str | None,
    ) -> None:
        self._entities += 1
        if value is None or is_parameter:
            self._refuse_external(name)
        elif "&" in value or len(value) > _MAX_ENTITY or self._entities > _MAX_ENTITIES:
            message = f"the entity `{name}` is no plain short text; declare entities for "
            message += f"namespaces only: {_MAX_ENTITIES} of {_MAX_ENTITY} characters at most, "
            raise self._source.error(self._index(), "entity", f"{message}without others in them")

    def _skipped(self, name: str, _is_parameter: bool) -> None:
        message = f"the entity `{name}` is not declared in the text; files of them are not read: "
        hint = f'declare it, `<!DOCTYPE Document [<!ENTITY {name} "…">]>`'
        raise self._source.error(self._index(), "entity", message + hint)

    def _refuse_external(self, name: str = "") -> int:
        message = f"the entity `{name}` stands in a file" if name else "this entity is a file"
        hint = 'which is not read; declare its text itself, `<!ENTITY xs "http://…">`'
        raise self._source.error(self._index(), "entity", f"{message} or is a parameter, {hint}")


def _plain(name: str) -> str:
    namespace, _, local = name.rpartition(_SEPARATOR)
    return f"xml:{local}" if namespace == _XML else name


OURS = "https://w3id.org/citywise/rif#"
"""The namespace of the elements `Window` and `Revise`."""
_ANNOTATIONS = ("id", "meta")


class Elements:
    """Looks into elements; what is not as it should be raises `RequestError`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def unexpected(self, element: XmlElement, expected: str) -> RequestError:
        """The error that says what is found at an element, and what was expected."""
        message = f"found `{element.name}`, expected {expected}"
        return self._source.error(element.index, "syntax", message)

    def of_rif(self, element: XmlElement) -> None:
        """Raises `RequestError` for an element of another namespace than RIF's."""
        if element.namespace != RIF:
            name = element.namespace or "no namespace"
            message = f'`{element.name}` is of {name}, expected RIF\'s: declare `xmlns="{RIF}"`'
            raise self._source.error(element.index, "syntax", message)

    def children(self, element: XmlElement) -> Iterator[XmlElement]:
        """The elements in one, metadata aside; text between them is a fault."""
        if text := element.text.strip():
            message = f"found text `{text[:40]}` in `{element.name}`, expected elements"
            raise self._source.error(element.index, "syntax", message)
        for child in element.children:
            if child.namespace != OURS:
                self.of_rif(child)
            if child.name not in _ANNOTATIONS:
                yield child

    def only(self, element: XmlElement, expected: str) -> XmlElement:
        """The one element in an element."""
        found = list(self.children(element))
        if len(found) != 1:
            message = f"`{element.name}` holds {len(found)} elements, expected one: {expected}"
            raise self._source.error(element.index, "syntax", message)
        return found[0]

    def roles(self, element: XmlElement, *names: str) -> list[XmlElement]:
        """What stands in the roles of an element, in the order of `names`."""
        found: dict[str, XmlElement] = {}
        for child in self.children(element):
            if child.name not in names or child.name in found:
                raise self.unexpected(child, f"in `{element.name}` {_listed(names)}")
            found[child.name] = child
        for name in names:
            if name not in found:
                message = f"`{element.name}` has no `{name}`"
                raise self._source.error(element.index, "syntax", message)
        return [self.only(found[name], "a term or formula") for name in names]


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(f"one `{name}`" for name in names)


_OUTSIDE = {
    "Subclass": "subclass",
    "Naf": "negation",
    "INeg": "negation",
    "Neg": "negation",
    "Do": "action",
    "Expr": "function",
}
_FORMULAS = "`Atom`, `Frame`, `Member`, `Equal`, `External`, `And`, `Or` or `Exists`"
_TERMS = "`Const`, `Var`, `List` or `External`"


def document(source: Source, name: str) -> Written:
    """Read a document; raises `RequestError` at the first place where it cannot be read."""
    root = tree(source)
    parts = Parts(source)
    elements = Elements(source)
    elements.of_rif(root)
    if root.name != "Document":
        raise elements.unexpected(root, "`Document` as the root")
    parts.prefixes.update({p: uri for p, uri in root.namespaces.items() if uri not in (RIF, OURS)})
    parts.base = root.attributes.get("xml:base")
    reader = _Reader(parts)
    for child in elements.children(root):
        reader.part(child)
    return parts.written(name)


def formula(source: Source) -> RifFormula:
    """Read a text that holds one condition; raises `RequestError`."""
    return _Reader(Parts(source)).formula(tree(source))


class _Reader:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._elements = Elements(parts.source)
        self._depth = 0

    # Documents

    def part(self, element: XmlElement) -> None:
        """A directive or the payload of a document."""
        if element.name == "directive":
            self._directive(self._elements.only(element, "`Import` or `Window`"))
        elif element.name == "payload":
            self._sentence(self._elements.only(element, "`Group`"))
        elif element.namespace == OURS:
            self._directive(element)
        else:
            raise self._elements.unexpected(element, "`directive` or `payload` in `Document`")

    def _directive(self, element: XmlElement) -> None:
        if element.namespace == OURS and element.name == "Window":
            unit = element.attributes.get("unit", "s")
            self._parts.add_window(element.index, element.text.strip(), unit)
        elif element.namespace == OURS and element.name == "Revise":
            self._parts.add_horizon(element.index, element.text.strip())
        elif element.name == "Import":
            found = {child.name: child.text.strip() for child in self._elements.children(element)}
            if not found.get("location"):
                raise self._elements.unexpected(element, "a `location` in it")
            self._parts.add_import(element.index, found["location"], found.get("profile"))
        else:
            raise self._elements.unexpected(element, "`Import` or `Window` as a directive")

    # Rules

    def _sentence(self, element: XmlElement) -> None:
        self._parts.begin_rule()
        label = self._label(element)
        if element.name == "Group":
            self._nest(element)
            for child in self._elements.children(element):
                if child.name != "sentence":
                    raise self._elements.unexpected(child, "`sentence` in `Group`")
                self._sentence(self._elements.only(child, "a rule, fact or group"))
            self._depth -= 1
        elif element.name == "Forall":
            declared, inner = self._quantified(element)
            self._clause(inner, element, label or self._label(inner), declared)
        else:
            self._clause(element, element, label, ())

    def _label(self, element: XmlElement) -> str:
        """What a rule's `id` calls it."""
        for child in element.children:
            if child.name == "id" and child.children:
                return label_of(child.children[0].text.strip())
        return ""

    def _clause(
        self, element: XmlElement, outer: XmlElement, label: str, declared: tuple[RifVariable, ...]
    ) -> None:
        if element.name == "Implies":
            condition, conclusion = self._elements.roles(element, "if", "then")
            body = self.formula(condition)
            self._parts.add_rule(outer.index, label, declared, self.formula(conclusion), body)
        else:
            self._parts.add_rule(outer.index, label, declared, self.formula(element), None)

    def _quantified(self, element: XmlElement) -> tuple[tuple[RifVariable, ...], XmlElement]:
        """The variables that an element declares, and what it holds."""
        declared, held = list[RifVariable](), list[XmlElement]()
        for child in self._elements.children(element):
            inner = self._elements.only(child, "a variable or formula")
            if child.name == "declare" and inner.name == "Var":
                declared.append(RifVariable(self._name(inner)))
            elif child.name == "formula":
                held.append(inner)
            else:
                raise self._elements.unexpected(
                    child, f"`declare` or `formula` in `{element.name}`"
                )
        if not declared or len(held) != 1:
            message = f"`{element.name}` needs a `declare` with a `Var`, and one `formula`"
            raise self._parts.source.error(element.index, "syntax", message)
        return tuple(declared), held[0]

    # Formulas

    def formula(self, element: XmlElement) -> RifFormula:
        """The formula that an element is; raises `RequestError`."""
        self._nest(element)
        found = self._parts.at(element.index, self._formula(element))
        self._depth -= 1
        return found

    def _nest(self, element: XmlElement) -> None:
        self._elements.of_rif(element)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} formulas, terms and groups in each other; split it"
            raise self._parts.source.error(element.index, "size", message)

    def _formula(self, element: XmlElement) -> RifFormula:
        match element.name:
            case "And" | "Or":
                parts = tuple(self._parts_of(element))
                return And(parts) if element.name == "And" else Or(parts)
            case "Exists":
                declared, part = self._quantified(element)
                return Exists(declared, self.formula(part))
            case "Atom":
                return self._atom(element)
            case "Frame":
                return self._frame(element)
            case "Member":
                return Member(*map(self.term, self._elements.roles(element, "instance", "class")))
            case "Equal":
                return Equal(*map(self.term, self._elements.roles(element, "left", "right")))
            case "External":
                return self._parts.test(element.index, *self._external(element, "Atom"))
        if element.name in _OUTSIDE:
            raise self._parts.outside(element.index, _OUTSIDE[element.name])
        raise self._elements.unexpected(element, f"a formula: {_FORMULAS}")

    def _parts_of(self, element: XmlElement) -> Iterator[RifFormula]:
        for child in self._elements.children(element):
            if child.name != "formula":
                raise self._elements.unexpected(child, f"`formula` in `{element.name}`")
            yield self.formula(self._elements.only(child, _FORMULAS))

    def _atom(self, element: XmlElement) -> RifAtom:
        name, arguments = self._applied(element)
        if isinstance(name.value, Iri | Local):
            return RifAtom(name.value, arguments)
        message = "a literal is no predicate; write a `Const` of type rif:iri or rif:local"
        raise self._parts.source.error(element.index, "syntax", message)

    def _frame(self, element: XmlElement) -> Frame:
        found, slots = list[RifTerm](), list[tuple[RifTerm, RifTerm]]()
        for child in self._elements.children(element):
            if child.name == "object":
                found.append(self.term(self._elements.only(child, _TERMS)))
            elif child.name == "slot":
                pair = tuple(self.term(part) for part in self._elements.children(child))
                if len(pair) != 2:
                    raise self._elements.unexpected(child, "a slot of two terms, name and value")
                slots.append(pair)
            else:
                raise self._elements.unexpected(child, "`object` or `slot` in `Frame`")
        if len(found) != 1:
            raise self._elements.unexpected(element, "one `object` in it")
        return Frame(found[0], tuple(slots))

    # Terms

    def term(self, element: XmlElement) -> RifTerm:
        """The term that an element is; raises `RequestError`."""
        self._nest(element)
        found = self._term(element)
        self._depth -= 1
        return found

    def _term(self, element: XmlElement) -> RifTerm:
        match element.name:
            case "Const":
                return self._constant(element)
            case "Var":
                return self._parts.variable(element.index, self._name(element))
            case "List":
                return self._list(element)
            case "External":
                return self._parts.computed(element.index, *self._external(element, "Expr"))
        if element.name in _OUTSIDE:
            raise self._parts.outside(element.index, _OUTSIDE[element.name])
        raise self._elements.unexpected(element, f"a term: {_TERMS}")

    def _name(self, element: XmlElement) -> str:
        name = element.text.strip()
        if not name:
            raise self._elements.unexpected(element, "a name in it")
        return name

    def _constant(self, element: XmlElement) -> RifConstant:
        space = element.attributes.get("type")
        if space is None:
            raise self._elements.unexpected(element, f'a `type` on it, e.g. `type="{RIF}iri"`')
        if space.partition(":")[0] in KNOWN:
            message = f"the type `{space}` is an IRI in full in XML: write {XSD}integer for "
            raise self._parts.source.error(element.index, "iri", f"{message}xs:integer")
        text = element.text.strip() if space.startswith(RIF) else element.text
        found = self._parts.constant(element.index, text, space)
        language = element.attributes.get("xml:lang")
        if language and isinstance(found.value, Literal) and found.value.datatype is None:
            return RifConstant(Literal(found.value.lexical, None, language))
        return found

    def _list(self, element: XmlElement) -> Sequence:
        items = list[RifTerm]()
        for child in self._elements.children(element):
            if child.name == "rest":
                raise self._parts.outside(child.index, "tail")
            held = self._elements.children(child) if child.name == "items" else (child,)
            items += [self.term(item) for item in held]
        if any(True for item in items for _ in variables(item)):
            raise self._parts.outside(element.index, "variable list")
        return Sequence(tuple(items))

    def _external(self, element: XmlElement, kind: str) -> tuple[Iri, tuple[RifTerm, ...]]:
        """The built-in and its arguments in an `External`."""
        (content,) = self._elements.roles(element, "content")
        if content.name == "Frame" or content.name not in ("Atom", "Expr"):
            raise self._parts.outside(content.index, "external")
        if content.name != kind:
            raise self._elements.unexpected(content, f"`{kind}` in this `External`")
        name, arguments = self._applied(content)
        if not isinstance(name.value, Iri):
            raise self._parts.outside(content.index, "external")
        return name.value, arguments

    def _applied(self, element: XmlElement) -> tuple[RifConstant, tuple[RifTerm, ...]]:
        """The name and the arguments of an atom or of the call of a function."""
        name, arguments = list[RifTerm](), tuple[RifTerm, ...]()
        for child in self._elements.children(element):
            if child.name == "op":
                name.append(self.term(self._elements.only(child, "`Const`")))
            elif child.name == "args":
                arguments = tuple(self.term(part) for part in self._elements.children(child))
            elif child.name == "slot":
                raise self._parts.outside(child.index, "named")
            else:
                raise self._elements.unexpected(child, f"`op` or `args` in `{element.name}`")
        if len(name) != 1 or not isinstance(name[0], RifConstant):
            raise self._elements.unexpected(element, "one `op` with a `Const` in it")
        return name[0], arguments
