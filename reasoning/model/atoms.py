"""Ground atoms as text: what may stand in a fact, in clingo's own spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import clingo

from citywise.reasoning.errors import ItemError
from citywise.reasoning.model.request import Signature

SMALLEST, LARGEST = -(2**31), 2**31 - 1
"""The integers of ASP; clingo wraps others silently."""
DEEPEST = 100
"""Brackets within brackets; clingo's parser recurses over them."""
_SHORTEST_LARGE = len("0x80000000")

# What these let through goes on unread, so it must be what clingo itself would print: answers of
# both engines are compared as text. Nine digits always fit 32 bits; strings with escapes, and
# functions, take the slow way.
_VALUE = r'(?:"[^"\\\n\x00]*"|0|-?[1-9][0-9]{0,8}|_*(?!not\b)[a-z][A-Za-z0-9_]*)'
_PLAIN = re.compile(rf"-?_*(?!not\b)[a-z][A-Za-z0-9_]*(?:\({_VALUE}(?:,{_VALUE})*\))?", re.ASCII)
_ARGUMENT = re.compile(_VALUE, re.ASCII)
STRING = re.compile(r'"(?:[^"\\\n]|\\[\\n"])*"')
_NUMBER = re.compile(r"(?<![A-Za-z0-9_'])(?:0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+|[0-9]+)")
_COMPUTES = re.compile(r"[+*/\\?&^~|]|\.\.|[A-Za-z0-9_')]\s*-|-\s*[-(]")
_VARIABLE = re.compile(r"(?<![A-Za-z0-9_'#])_*(?:[A-Z][\w']*|_(?![\w']))")
_NOT = re.compile(r"(?<![\w'])not(?![\w'])")
_FOREIGN = re.compile(r"[^\x00-\x7f]")


def call(name: str, arguments: Sequence[object]) -> str:
    """`name(a,b)`, or `name` without arguments, as text of ASP."""
    return f"{name}({','.join(map(str, arguments))})" if arguments else name


def ground(text: str) -> str:
    """A ground atom in clingo's spelling: no spaces, numbers in decimal.

    Raises `ItemError` when `text` is not one ground atom, computes (`p(1+1)`), or holds an
    integer outside 32 bits, a character no string can hold or more than `DEEPEST` brackets.
    """
    if is_plain(text):
        return text
    refuse_characters(text)
    # Strings may hold anything. `''` takes their place, not nothing: in `p("a"-1)` the minus must
    # still stand behind a value.
    bare = STRING.sub("''", text)
    try:
        refuse_broken_strings(bare)
        refuse_foreign_letters(bare)
        refuse_large_numbers(bare)
        refuse_deep_nesting(bare)
    except ItemError as error:
        raise ItemError(f"`{_short(text)}`: {error}") from None
    if match := _COMPUTES.search(bare):
        raise ItemError(
            f"`{_short(text)}` computes (`{match.group()}`); an item holds values, write the result"
        )
    if match := _VARIABLE.search(bare):
        raise ItemError(
            f"`{_short(text)}` is not ground: `{match.group()}` is a variable; write a constant "
            f"(`{match.group().lower()}`) or a string in quotes"
        )
    if _NOT.search(bare):
        raise ItemError(f"`{_short(text)}`: `not` is a word of the language; write a string")
    # Only now clingo: of what was refused above it would wrap numbers silently, or compute, or
    # run out of stack.
    return str(_atom(text))


def is_plain(text: str) -> bool:
    """Whether a text is plainly a ground atom in clingo's spelling; most are."""
    return _PLAIN.fullmatch(text) is not None and (text.isascii() or _encodes(text))


def refuse_characters(text: str) -> None:
    """Raise `ItemError` for text that clingo would cut off or cannot take."""
    if "\0" in text:
        raise ItemError(f"`{_short(text)}` holds the character NUL, which ASP has not")
    if not _encodes(text):
        raise ItemError(f"`{_short(text)}` holds half a surrogate pair, which is no character")


def refuse_broken_strings(bare: str) -> None:
    """Raise `ItemError` for a quote that is left in a text without the strings of `STRING`."""
    if '"' in bare:
        raise ItemError(
            "a string is not closed on its line, or holds an escape other than `\\\\`, `\\n` and "
            '`\\"`'
        )


def refuse_foreign_letters(bare: str) -> None:
    """Raise `ItemError` for a character beyond ASCII in a text without strings.

    clingo's message about it would end amid its bytes, and be no text."""
    if match := _FOREIGN.search(bare):
        raise ItemError(f"the character `{match.group()}` stands outside strings; write a string")


def refuse_large_numbers(bare: str) -> None:
    """Raise `ItemError` for an integer outside 32 bits in a text without strings."""
    for _index, number in large_numbers(bare):
        raise ItemError(
            f"{_short(number)} is outside the 32-bit integers of ASP; "
            "write it as a string, or in a larger unit"
        )


def large_numbers(bare: str) -> Iterator[tuple[int, str]]:
    """The integers outside 32 bits in a text without strings, and where they stand."""
    for match in _NUMBER.finditer(bare):
        number = match.group()
        # The sign may stand apart from its number. Looking back over the whole text would be
        # quadratic where there are many numbers.
        if len(number) >= _SHORTEST_LARGE and _is_too_large(
            number, negative=bare[max(0, match.start() - 40) : match.start()].rstrip().endswith("-")
        ):
            yield match.start(), number


def refuse_deep_nesting(bare: str) -> None:
    """Raise `ItemError` for more than `DEEPEST` brackets within one another."""
    depth = 0
    for bracket in re.findall(r"[()\[\]{}]", bare):
        depth += 1 if bracket in "([{" else -1
        if depth > DEEPEST:
            raise ItemError(f"more than {DEEPEST} brackets stand within one another")


def _atom(text: str) -> clingo.Symbol:
    try:
        symbol = clingo.parse_term(text, logger=lambda _code, _message: None)
    except RuntimeError as error:
        hint = "; an item's atom ends without `.`" if text.rstrip().endswith(".") else ""
        raise ItemError(
            f'`{_short(text)}` is no ground atom{hint}: expected e.g. `p(1,"a")` ({_reason(error)})'
        ) from None
    if symbol.type != clingo.SymbolType.Function or not symbol.name:
        raise ItemError(f'`{_short(text)}` is a term, no atom; expected e.g. `p(1,"a")`')
    return symbol


def _is_too_large(number: str, *, negative: bool) -> bool:
    # No number of 32 bits is as long, and Python refuses to read very long ones.
    if len(number) >= 40:
        return True
    value = int(number, 0) if number[1:2].isalpha() else int(number)
    return value > LARGEST + negative


def _reason(error: RuntimeError) -> str:
    return " ".join(str(error).partition("error: ")[2].split()) or "clingo cannot read it"


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(text: str) -> str:
    shown = text[:120].encode("utf-8", "backslashreplace").decode()
    return shown.replace("\0", "\\0") + ("…" if len(text) > 120 else "")


def signature(text: str) -> Signature:
    """The predicate of a ground atom; raises `ItemError` for a text that is none."""
    if _PLAIN.fullmatch(text) is not None:
        name, bracket, rest = text.partition("(")
        values = _ARGUMENT.findall(rest) if '"' in rest else rest.split(",")
        return Signature(name, len(values) if bracket else 0)
    try:
        found = signature_of(clingo.parse_term(text))
    except RuntimeError:
        found = None
    if found is None:
        raise ItemError(f"`{_short(text)}` is no ground atom")
    return found


def signature_of(symbol: clingo.Symbol) -> Signature | None:
    """Predicate of a ground atom, `-p/1` if classically negated; None for other terms."""
    if symbol.type != clingo.SymbolType.Function or not symbol.name:
        return None
    return Signature(("" if symbol.positive else "-") + symbol.name, len(symbol.arguments))
