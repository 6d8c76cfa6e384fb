"""Where the requests of a running system are found."""

from __future__ import annotations

from pathlib import Path

from citywise.backend.errors import CitywiseError
from citywise.backend.pipeline.prepared import prepared
from citywise.reasoning import Choice, Limits, engine_for

OWN = Path(__file__).resolve().parent.parent / "city" / "requests"


class UnknownRequestError(CitywiseError):
    """A configured request does not exist."""


def find(name: str) -> Path:
    """The file of a request: one of ours by name, or any by path."""
    own = OWN / f"{name}.casp"
    if own.exists():
        return own
    path = Path(name)
    if path.suffix == ".casp" and path.exists():
        return path.resolve()
    known = ", ".join(sorted(p.stem for p in OWN.glob("*.casp")))
    raise UnknownRequestError(
        f"pipeline.requests: no request `{name}`; give the path of a .casp file or one of {known}"
    )


def check(path: Path, limits: Limits, engine: Choice = "auto") -> None:
    """Read a request and see that the pipeline can run it.

    Raises `RequestError` for its text and its knowledge bases, `LimitError` for what takes too
    much to read, `UnsupportedError` if it has to be evaluated incrementally and cannot be.
    """
    found = prepared(path, limits, engine=engine)
    if engine == "incremental":
        engine_for(found.request, found.knowledge, choice=engine)
