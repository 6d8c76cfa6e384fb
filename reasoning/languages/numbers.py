"""Numbers in rules: clingo computes with 32 bits and wraps around without a word."""

from __future__ import annotations

import re

from reasoning.languages.statements import Source

_LARGEST = 2**31 - 1
_NUMBER = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|(?<![\w\'])(0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+|[0-9]+)(?![\w\'])'
)


def check_numbers(source: Source, rules: str) -> None:
    """Note every number in the rules that 32 bits cannot hold."""
    for match in _NUMBER.finditer(rules):
        text = match.group(1)
        if text is None or len(text) < 9 or _fits(text, rules[: match.start()][-40:]):
            continue
        source.fault(
            match.start(),
            "number",
            f"`{_short(text)}` does not fit the 32-bit integers of ASP (at most {_LARGEST}); "
            "use a larger unit, or a string if nothing is computed with it",
        )


def _fits(text: str, before: str) -> bool:
    if len(text) > 40:
        return False
    value = int(text, 0) if text[:2] in ("0x", "0o", "0b") else int(text)
    return value <= _LARGEST + before.rstrip().endswith("-")


def _short(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"
