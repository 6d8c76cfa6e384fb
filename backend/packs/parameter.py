"""What all parameters of templates have in common.

A value becomes arguments of a fact, never text of a rule: integers, or strings in which
quotes, backslashes and line ends are escaped, so that no value breaks out of its fact.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from citywise.backend.packs.values import BadValueError, show
from citywise.reasoning import Iri
from citywise.reasoning.rdf.mapping import quote

Terms = tuple[str, ...]
"""Arguments of one fact, as text of ASP."""
Term = Callable[[str], str]
"""From an IRI to its ASP term (docs/casp.md), by the prefixes of a template."""
Argument = int | str | Iri


class Parameter(BaseModel):
    """What a template asks of those who instantiate it.

    `optional`: may be left out, then it gives no facts. `repeated`: the value is a list of
    1 to `max_items` values, each of which gives facts. `default`: taken where none is given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    type: str
    title: str = Field(min_length=1)
    help: str = ""
    optional: bool = False
    repeated: bool = False
    max_items: int = Field(default=20, ge=1, le=1000)
    default: JsonValue = None
    needed_when: dict[str, JsonValue] = {}
    """Where other parameters have these values, an optional one must be given."""

    arity: ClassVar[int] = 1
    """Arguments of a fact after the instance; 0 where the parameter gives no fact itself."""

    @property
    def is_needed(self) -> bool:
        """Whether a value must be given."""
        return not self.optional and self.default is None

    def check(self, value: JsonValue, path: str) -> JsonValue:
        """The value in canonical form; raises `BadValueError`. Canonical values stay as they are.

        `path` names the value in messages.
        """
        if not self.repeated:
            return self.one(value, path)
        if not isinstance(value, list) or not 1 <= len(value) <= self.max_items:
            expected = f"a list of 1 to {self.max_items} values"
            raise BadValueError(path, show(value), expected, "write them in brackets: [ … ]")
        checked = [self.one(item, f"{path}[{index}]") for index, item in enumerate(value)]
        return [item for index, item in enumerate(checked) if item not in checked[:index]]

    @abstractmethod
    def one(self, value: JsonValue, path: str) -> JsonValue:
        """As `check`, of a value that stands alone."""

    def terms(self, value: JsonValue, term: Term) -> list[Terms]:
        """The arguments, after the instance, of the facts that a canonical value gives."""
        items = value if self.repeated and isinstance(value, list) else [value]
        if not self.arity:
            return []
        return [tuple(_text(a, term) for a in self.arguments(item)) for item in items]

    @abstractmethod
    def arguments(self, value: Any) -> tuple[Argument, ...]:
        """The arguments of the fact of one canonical value: integers, strings, IRIs."""

    def schema(self) -> dict[str, Any]:  # type: ignore[override]
        """JSON Schema of the values, for forms and clients of the API."""
        about = {"title": self.title}
        if self.help:
            about["description"] = self.help
        found: dict[str, Any] = self.item_schema()
        if self.repeated:
            found = {
                "type": "array",
                "items": found,
                "minItems": 1,
                "maxItems": self.max_items,
            }
        if self.default is not None:
            found["default"] = self.default
        if self.needed_when:
            found["x-needed-when"] = self.needed_when
        return {**about, **found, "x-type": self.type}

    @abstractmethod
    def item_schema(self) -> dict[str, Any]:
        """JSON Schema of a value that stands alone."""


def _text(argument: Argument, term: Term) -> str:
    if isinstance(argument, Iri):
        return term(argument.value)
    return str(argument) if isinstance(argument, int) else quote(argument)
