"""C-ASP as a language of programs: they are requests."""

from __future__ import annotations

from pathlib import Path

from citywise.reasoning.errors import Finding, RequestError
from citywise.reasoning.languages.casp import parsing
from citywise.reasoning.languages.casp.check import check_reading
from citywise.reasoning.model.request import Request
from citywise.reasoning.run.language import Language
from citywise.reasoning.run.requests import RequestLanguage


class Casp(RequestLanguage):
    """Requests (`.casp`), and answer set programs without streams (`.lp`)."""

    def parse(self, path: Path) -> Request:
        """See `RequestLanguage`."""
        return parsing.parse_file(path)

    def check(self, path: Path, *, partitioned: bool = False) -> list[Finding]:
        """See `Language`."""
        try:
            reading = parsing.read_file(path)
        except RequestError as error:
            return [Finding.of(error)]
        return check_reading(reading, partitioned=partitioned)


LANGUAGE: Language = Casp()
