"""As which type of the Smart Data Models the readings of a kind are told to context brokers.

Part of a kind's file (`[ngsi]`, docs/ngsi-ld.md).
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic import Field as Key

_TERM = r"^[A-Za-z][A-Za-z0-9_]{0,63}$"
Term = Annotated[str, Key(pattern=_TERM)]
_Field = Annotated[str, Key(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
TAKEN = frozenset(("id", "type", "location", "name"))
"""Attributes that every such entity has."""


class Attribute(BaseModel):
    """An attribute: the value of a field, in another unit, or less that of another field."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    field: _Field
    minus: _Field | None = None
    """The value of this field is taken away; what is below 0 is 0."""
    unit: str | None = Key(default=None, pattern=r"^[!-~]{1,32}$")
    """UCUM: what the model measures in, where that is not the field's unit."""


class DataModel(BaseModel):
    """A type, and where its attributes come from."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    type: Term
    context: str | None = Key(default=None, pattern=r"^https?://[^\s<>\"{}|\\^`]{1,300}$")
    """Address of the context that says what type and attributes mean."""
    time: Term = "dateObserved"
    """The attribute with the time of the reading."""
    since: Term | None = None
    """The attribute with the time at which what was measured began: `period_s` before."""
    attributes: Annotated[dict[Term, _Field | Attribute], Key(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _is_consistent(self) -> DataModel:
        own = {*TAKEN, self.time, *([self.since] if self.since else [])}
        if twice := own.intersection(self.attributes):
            raise ValueError(f"attributes.{min(twice)}: the entity has it already; remove it")
        return self

    @cached_property
    def sources(self) -> dict[str, Attribute]:
        """Attributes by name; where only a field was written, its value as it is."""
        return {
            name: about if isinstance(about, Attribute) else Attribute(field=about)
            for name, about in self.attributes.items()
        }
