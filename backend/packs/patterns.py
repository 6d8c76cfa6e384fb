"""Patterns of text parameters, matched in time that grows linearly with the text.

The matcher is the one pydantic brings (Rust's `regex`): it never goes back in the text, so that
no pattern of an app and no text of a user can stop the process that looks at it. It knows
neither look-around nor references back to groups.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

_MOST_WORK = 20_000_000
"""Characters of a text times places in a pattern: less than a second."""
_SAID = re.compile(r"\s*(?:SchemaError|error): ")
_PIECE = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<least>\d*)(?P<more>,?)(?P<most>\d*)\}|.", re.DOTALL
)


@lru_cache(maxsize=256)
def matcher(pattern: str, longest: int) -> SchemaValidator:
    """What tells whether texts of up to so many characters fit a pattern as a whole.

    Raises `ValueError` for what is no pattern, or too large a one.
    """
    try:
        SchemaValidator(core_schema.str_schema(pattern=pattern))  # it closes no group of ours
        found = SchemaValidator(core_schema.str_schema(pattern=rf"\A(?:{pattern})\z"))
    except SchemaError as error:
        said = _SAID.sub("", str(error).strip().rpartition("\n")[2])
        raise ValueError(f"pattern: `{pattern}` is no regular expression: {said}") from None
    if places(pattern) * longest > _MOST_WORK:
        raise ValueError(
            f"pattern: `{pattern}` repeats too much for texts of {longest:,} characters; write "
            "`+` or `*` for large numbers, or lower max_length"
        )
    return found


def fits(pattern: str, longest: int, text: str) -> bool:
    """Whether a text of up to `longest` characters fits a pattern as a whole."""
    try:
        matcher(pattern, longest).validate_python(text)
    except ValidationError:
        return False
    return True


def places(pattern: str) -> int:
    """How many places a pattern has when its counted repetitions are written out, at most."""
    groups, last = [0], 0
    for piece in _PIECE.finditer(pattern):
        text = piece[0]
        if text == "(":
            groups.append(0)
            last = 0
        elif text == ")" and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        elif piece["more"] is not None:
            times = int(piece["most"] or piece["least"] or 1)
            groups[-1] += last * (times - 1)
            last *= times
        else:
            last = 1
            groups[-1] += 1
    return sum(groups)
