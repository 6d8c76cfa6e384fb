"""C-ASP: texts with directives and rules of clingo, read into a `model.request.Request`
(`parsing`, `directives`, `entailment`), and what `citywise check` finds in them.
The rules themselves are read in `asp`; what evaluates a request is chosen in `engines`."""

from citywise.reasoning.languages.casp.check import check_reading
from citywise.reasoning.languages.casp.entailment import inferring
from citywise.reasoning.languages.casp.growth import Ranges
from citywise.reasoning.languages.casp.parsing import Reading, parse, parse_file, read, read_file

__all__ = [
    "Ranges",
    "Reading",
    "check_reading",
    "inferring",
    "parse",
    "parse_file",
    "read",
    "read_file",
]
