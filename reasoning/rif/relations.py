"""What the relations of a program are called: `<p>` and `_p` have the frames of a property,
`<p>/2` and `_p/2` the atoms of a predicate of that many arguments."""

from __future__ import annotations


def named(predicate: object, arity: int) -> str:
    """The relation of a predicate, which is given by its value."""
    return f"{predicate}/{arity}"


def predicate(relation: str) -> tuple[str, int] | None:
    """The value of the predicate and the number of arguments; None of a property's relation."""
    name, slash, arity = relation.rpartition("/")
    return (name, int(arity)) if slash and name and arity.isdecimal() else None


def is_property(relation: str) -> bool:
    """Whether the facts of a relation are frames."""
    return predicate(relation) is None
