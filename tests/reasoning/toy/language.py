"""Conclusions about things, a line each, of `and`, `or` and `unless`."""

from __future__ import annotations

import re
from pathlib import Path

from citywise.reasoning.errors import Location, RequestError
from citywise.reasoning.model.request import Request, Signature, StreamSource, TimeWindow
from citywise.reasoning.run.language import Language
from citywise.reasoning.run.requests import RequestLanguage

_WORD = re.compile(r"[a-z]\w*")


class Toy(RequestLanguage):
    """`seconds 10` is the window; `C when A and B or D unless E` is a rule, `or` binding least."""

    def parse(self, path: Path) -> Request:
        """See `RequestLanguage`; each rule stands in the line it was written in."""
        width, lines = 1, []
        derived, used = set[Signature](), set[Signature]()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            words = line.split()
            rules = ""
            if words[:1] == ["seconds"] and words[1:] and words[1].isdigit():
                width = int(words[1])
            elif words:
                head, body = self._parts(path, number, line)
                derived.add(Signature(head, 1))
                for either in body.split(" or "):
                    found = self._literals(path, number, line, either)
                    literals = [f"not {word}(X)" if no else f"{word}(X)" for no, word in found]
                    used |= {
                        Signature(literal.removeprefix("not ")[:-3], 1) for literal in literals
                    }
                    rules += f"{head}(X) :- {', '.join(literals)}. "
            lines.append(rules)
        return Request(
            path.stem,
            "\n".join(lines),
            streams=(StreamSource("http://example.org/s", TimeWindow(width, 1)),),
            derived=frozenset(derived),
            used=frozenset(used),
        )

    def _parts(self, path: Path, number: int, line: str) -> tuple[str, str]:
        head, when, body = line.strip().partition(" when ")
        if not when or not _WORD.fullmatch(head):
            raise self._fault(path, number, 1, f"found `{line}`, expected `conclusion when …`")
        return head, body

    def _literals(self, path: Path, number: int, line: str, text: str) -> list[tuple[bool, str]]:
        positive, *negative = text.split(" unless ")
        found = [(False, word.strip()) for word in positive.split(" and ")]
        found += [(True, word.strip()) for word in negative]
        for _negated, word in found:
            if not _WORD.fullmatch(word):
                column = max(line.find(word), 0) + 1
                raise self._fault(path, number, column, f"found `{word}`, expected a word")
        return found

    def _fault(self, path: Path, line: int, column: int, message: str) -> RequestError:
        return RequestError(Location(str(path), line, column), "syntax", message)


LANGUAGE: Language = Toy()
