"""Programs of plain LARS as text that reads back as the same program."""

from __future__ import annotations

from collections.abc import Iterator

from citywise.reasoning.languages.lars.program import LarsProgram, unparse
from citywise.reasoning.model.request import Request


def program_text(program: LarsProgram) -> str:
    """The directives and rules of a program, a statement a line; constants are resolved."""
    lines = [*_directives(program.request)]
    if program.shows is not None:
        lines += [f"#show {signature}." for signature in sorted(program.shows)] or ["#show."]
    lines += [f"#stream {signature}." for signature in sorted(program.streamed)]
    lines += map(unparse, program.rules)
    return "".join(f"{line}\n" for line in lines)


def _directives(request: Request) -> Iterator[str]:
    for name, iri in request.prefixes.items():
        yield f"#prefix {name} : <{iri}>."
    for stream in request.streams:
        if stream.iri:
            yield f"#from stream <{stream.iri}>."
    for source in request.knowledge:
        regime = f" [{source.entailment}]" if source.entailment else ""
        yield f"#from <{source.written or source.path}>{regime}."
    for signature in sorted(request.inputs):
        yield f"#input {signature}."
    for name, scale in request.scales.items():
        yield f"#scale {name} {scale}."
    if request.timezone is not None:
        yield f'#timezone "{request.timezone.key}".'
