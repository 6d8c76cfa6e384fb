"""What Python's reader finds wrong with a TOML text, said to the person who wrote it."""

from __future__ import annotations

import re
import tomllib

from citywise.reasoning import Finding, Location

_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)")
_TWICE = re.compile(r"Cannot declare \((.*)\) twice")
_WORD = re.compile(r"'([^']*)'")
_ASSIGNMENT = re.compile(r"\s*([^=\s\[][^=]*?)\s*=\s*(.*?)\s*$")
_TABLE = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")


def finding(error: tomllib.TOMLDecodeError, file: str, text: str) -> Finding:
    """The error of a reader of `text`, where it stands."""
    match = _PLACE.match(str(error))
    words, line, column = match.groups() if match else (str(error), None, None)
    place = Location(file, int(line or text.count("\n") + 1), int(column or 1))
    said = _words(words, text.split("\n")[place.line - 1]) if line else words
    return Finding(place, "error", "syntax", said)


def _words(words: str, line: str) -> str:
    """`words` about a line, with the name that stands there and what to do."""
    assignment, table = _ASSIGNMENT.match(line), _TABLE.match(line)
    if twice := _TWICE.match(words):
        name = ".".join(_WORD.findall(twice[1]))
        return f"the table [{name}] stands twice; put the keys of both under one"
    if words == "Cannot overwrite a value" and (named := assignment or table):
        return f"`{named[1]}` has a value already; keep one of the two"
    if words in ("Invalid value", "Expected newline or end of document after a statement"):
        return _value(words, assignment) if assignment else words
    return words


def _value(words: str, assignment: re.Match[str]) -> str:
    name, value = assignment.groups()
    if not value:
        return f"`{name}` has no value; write one behind the `=`"
    if re.match(r"[^\W\d]", value) and not re.match(r"(true|false|inf|nan)\b", value):
        return f'`{name}`: {value} is no value; put text in quotes: `{name} = "{value}"`'
    return f"`{name}`: {value} is no value of TOML ({words[0].lower()}{words[1:]})"
