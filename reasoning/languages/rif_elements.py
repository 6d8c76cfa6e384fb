"""What the elements of a RIF document in XML hold, and what they should."""

from __future__ import annotations

from collections.abc import Iterator

from reasoning.errors import RequestError
from reasoning.languages.statements import Source
from reasoning.languages.xml_tree import Element
from reasoning.rif.document import RIF

OURS = "https://w3id.org/citywise/rif#"
"""The namespace of the element `Window`."""
_ANNOTATIONS = ("id", "meta")


class Elements:
    """Looks into elements; what is not as it should be raises `RequestError`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def unexpected(self, element: Element, expected: str) -> RequestError:
        """The error that says what is found at an element, and what was expected."""
        message = f"found `{element.name}`, expected {expected}"
        return self._source.error(element.index, "syntax", message)

    def of_rif(self, element: Element) -> None:
        """Raises `RequestError` for an element of another namespace than RIF's."""
        if element.namespace != RIF:
            name = element.namespace or "no namespace"
            message = f'`{element.name}` is of {name}, expected RIF\'s: declare `xmlns="{RIF}"`'
            raise self._source.error(element.index, "syntax", message)

    def children(self, element: Element) -> Iterator[Element]:
        """The elements in one, metadata aside; text between them is a fault."""
        if text := element.text.strip():
            message = f"found text `{text[:40]}` in `{element.name}`, expected elements"
            raise self._source.error(element.index, "syntax", message)
        for child in element.children:
            if child.namespace != OURS:
                self.of_rif(child)
            if child.name not in _ANNOTATIONS:
                yield child

    def only(self, element: Element, expected: str) -> Element:
        """The one element in an element."""
        found = list(self.children(element))
        if len(found) != 1:
            message = f"`{element.name}` holds {len(found)} elements, expected one: {expected}"
            raise self._source.error(element.index, "syntax", message)
        return found[0]

    def roles(self, element: Element, *names: str) -> list[Element]:
        """What stands in the roles of an element, in the order of `names`."""
        found: dict[str, Element] = {}
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
